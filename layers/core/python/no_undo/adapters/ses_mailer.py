"""Mail by Amazon SES, API version 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, translated
from no_undo.domain.errors import VendorRefusedError
from no_undo.domain.mail import LINK_TAG, REQUEST_TAG, MailMessage

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client

_REFUSED: Final = frozenset(
    {
        "AccountSuspendedException",
        "BadRequestException",
        "MailFromDomainNotVerifiedException",
        "MessageRejected",
        "NotFoundException",
    }
)
"""SendEmail errors that repeating does not change (SES API v2 reference, SendEmail, Errors)."""


class SesMailer:
    """Implements `ports.Mailer`."""

    def __init__(self, client: SESV2Client, *, sender: str, configuration_set: str = "") -> None:
        """Take what every mail has in common.

        Args:
            client: SES v2.
            sender: From address, verified; may have a display name.
            configuration_set: Publishes delivery events, or empty.
        """
        self._client = client
        self._sender = sender
        self._options: dict[str, Any] = (
            {"ConfigurationSetName": configuration_set} if configuration_set else {}
        )

    def send(self, to: str, message: MailMessage, *, tag: str, link: str = "") -> None:
        """Hand a message to SES.

        Args:
            to: One address.
            message: Subject, text and HTML.
            tag: Request id: ASCII letters, digits, `-` and `_`.
            link: SHA-256 (hex) of the approval token inside, or empty.

        Raises:
            TransientError: Not accepted this time, or the answer was lost: a second copy of a mail
                is harmless.
            VendorRefusedError: SES will not take it (bad address, sender not verified).
        """
        try:
            self._client.send_email(
                FromEmailAddress=self._sender,
                Destination={"ToAddresses": [to]},
                Content={"Simple": _content(message)},
                EmailTags=[
                    {"Name": name, "Value": value}
                    for name, value in ((REQUEST_TAG, tag), (LINK_TAG, link))
                    if value
                ],
                **self._options,
            )
        except AWS_ERRORS as error:
            if error_code(error) in _REFUSED:
                raise VendorRefusedError(
                    f"the mail service refused a message ({error_code(error)}); check the sender's "
                    "verification, the recipient's address and the configuration set"
                ) from error
            raise translated(error, "sending a mail", repeatable=True) from error


def _content(message: MailMessage) -> Any:  # noqa: ANN401 - SDK shape
    def part(data: str) -> dict[str, str]:
        return {"Data": data, "Charset": "UTF-8"}

    return {
        "Subject": part(message.subject),
        "Body": {"Text": part(message.text), "Html": part(message.html)},
    }
