"""boto3 clients for the emulator's root key."""

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

REGION = "us-east-1"
_ROOT_KEY = "test"


def error_code(error: ClientError) -> str:
    """Return the code of an AWS error, such as ``ValidationError``; empty when it has none."""
    return error.response.get("Error", {}).get("Code", "")


class Aws:
    """Hands out boto3 clients that talk to one emulator.

    Args:
        endpoint_url: Where the emulator listens.
        access_key_id: The caller's key; the emulator's root key when omitted.
        secret_access_key: The caller's secret.
    """

    def __init__(
        self,
        endpoint_url: str,
        access_key_id: str = _ROOT_KEY,
        secret_access_key: str = _ROOT_KEY,
    ) -> None:
        self.endpoint_url = endpoint_url
        session: Any = boto3.Session(
            aws_access_key_id=access_key_id,
            aws_secret_access_key=secret_access_key,
            region_name=REGION,
        )
        self._session = session  # its stubs know a fixed list of services
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:  # noqa: ANN401 boto3 builds clients at run time
        """Return the client of a service; the same one each time."""
        if service not in self._clients:
            config = Config(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 2})
            self._clients[service] = self._session.client(
                service, endpoint_url=self.endpoint_url, config=config
            )
        return self._clients[service]
