"""Mail by SES: what is handed over, and what a refusal means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.sesv2.models import sesv2_backends

from no_undo.adapters.ses_mailer import SesMailer
from no_undo.domain.errors import TransientError, VendorRefusedError
from no_undo.domain.mail import MailMessage
from no_undo.lab.memory_mailer import MemoryMailer, SentMail
from tests.integration.aws.clients import client_of
from tests.integration.aws.scripted_client import service_error

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client

SENDER = "No Undo <no-undo@example.com>"
MESSAGE = MailMessage("Please decide: Frachtbrief", "Plain words.", "<p>Words.</p>")


class RecordingSes:
    """Keeps what it was called with, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[dict[str, Any]] = []
        self._error = error

    def send_email(self, **parameters: object) -> dict[str, str]:
        self.calls.append(parameters)
        if self._error is not None:
            raise self._error
        return {"MessageId": "m1"}

    def as_client(self) -> SESV2Client:
        return cast("SESV2Client", self)


def test_a_mail_goes_to_one_person_with_both_parts_and_its_tag() -> None:
    ses = RecordingSes()
    mailer = SesMailer(ses.as_client(), sender=SENDER, configuration_set="events")

    mailer.send("dave@example.com", MESSAGE, tag="r1")

    assert ses.calls == [
        {
            "FromEmailAddress": SENDER,
            "Destination": {"ToAddresses": ["dave@example.com"]},
            "Content": {
                "Simple": {
                    "Subject": {"Data": MESSAGE.subject, "Charset": "UTF-8"},
                    "Body": {
                        "Text": {"Data": MESSAGE.text, "Charset": "UTF-8"},
                        "Html": {"Data": MESSAGE.html, "Charset": "UTF-8"},
                    },
                }
            },
            "EmailTags": [{"Name": "request_id", "Value": "r1"}],
            "ConfigurationSetName": "events",
        }
    ]


def test_without_a_configuration_set_none_is_named() -> None:
    ses = RecordingSes()

    SesMailer(ses.as_client(), sender=SENDER).send("dave@example.com", MESSAGE, tag="r1")

    assert "ConfigurationSetName" not in ses.calls[0]


def test_the_service_accepts_what_is_handed_over(aws: None) -> None:
    client: SESV2Client = client_of("sesv2")
    client.create_email_identity(EmailIdentity="no-undo@example.com")

    SesMailer(client, sender="no-undo@example.com").send("dave@example.com", MESSAGE, tag="r1")

    accepted = sesv2_backends[DEFAULT_ACCOUNT_ID]["us-east-1"].core_backend.sent_messages
    assert [one.subject for one in accepted] == [MESSAGE.subject]


@pytest.mark.parametrize(
    "code", ["MessageRejected", "MailFromDomainNotVerifiedException", "BadRequestException"]
)
def test_a_mail_that_will_never_be_taken_is_refused(code: str) -> None:
    mailer = SesMailer(RecordingSes(service_error(code)).as_client(), sender=SENDER)

    with pytest.raises(VendorRefusedError, match=code) as caught:
        mailer.send("dave@example.com", MESSAGE, tag="r1")

    assert "dave" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "status"), [("TooManyRequestsException", 429), ("InternalFailure", 500)]
)
def test_a_busy_mail_service_is_a_passing_trouble(code: str, status: int) -> None:
    mailer = SesMailer(RecordingSes(service_error(code, status)).as_client(), sender=SENDER)

    with pytest.raises(TransientError, match=code):
        mailer.send("dave@example.com", MESSAGE, tag="r1")


def test_the_mailer_in_memory_keeps_what_it_was_given() -> None:
    mailer = MemoryMailer()

    mailer.send("dave@example.com", MESSAGE, tag="r1")

    assert mailer.sent == [SentMail("dave@example.com", MESSAGE, "r1")]
