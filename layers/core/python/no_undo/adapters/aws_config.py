"""How every AWS client is configured: explicit timeouts, bounded retries, our name in the agent."""

from __future__ import annotations

from typing import Final

from botocore.config import Config

CONNECT_TIMEOUT_SECONDS: Final = 2.0
READ_TIMEOUT_SECONDS: Final = 10.0
STATE_READ_TIMEOUT_SECONDS: Final = 4.0
"""DynamoDB answers in milliseconds; a longer silence is a lost answer."""


def client_config(version: str) -> Config:
    """Return the configuration of clients whose calls may be repeated without harm.

    Args:
        version: Version of No Undo, named in the user agent.
    """
    return Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 3},
        user_agent_extra=f"no-undo/{version}",
    )


def documents_client_config(version: str) -> Config:
    """Return the configuration of the S3 client: as `client_config`, and fit for signed URLs.

    Uploads carry the SHA-256 that the store computes. A checksum of the SDK's own choice would end
    up in signed URLs, where the caller could not know it.
    """
    return client_config(version).merge(
        Config(signature_version="s3v4", request_checksum_calculation="when_required")
    )


def state_client_config(version: str) -> Config:
    """Return the configuration of the state store's client: the SDK itself repeats nothing.

    The last of several hidden SDK attempts cannot tell whether an earlier one took effect, so the
    state store repeats by itself and remembers every lost answer.
    """
    return Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=STATE_READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 1},
        user_agent_extra=f"no-undo/{version}",
    )
