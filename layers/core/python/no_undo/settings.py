"""What a deployment sets, read from environment variables; each names what it holds.

A variable is read when it is first needed, so a function needs only the ones it uses, and a missing
one fails with its own name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from no_undo.use_cases.gate import GateSettings

WRITE_BUDGET = timedelta(seconds=10)
"""What the writes and the read-back around one call may take."""


class ConfigurationError(Exception):
    """A deployment setting is missing or has no usable value; names the variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Typed access to the environment.

    Attributes:
        environment: Usually `os.environ`.
    """

    environment: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a variable that must be set and not be empty.

        Raises:
            ConfigurationError: It is missing or empty.
        """
        value = self.environment.get(name, "")
        if not value:
            raise ConfigurationError(f"the environment variable {name} is not set")
        return value

    def optional(self, name: str) -> str:
        """Return a variable, or empty text."""
        return self.environment.get(name, "")

    def seconds(self, name: str) -> timedelta:
        """Return a variable that holds a number of seconds over zero.

        Raises:
            ConfigurationError: It is missing or no such number.
        """
        try:
            seconds = float(self.text(name))
        except ValueError:
            seconds = 0
        if seconds <= 0:
            raise ConfigurationError(f"{name} must be a number of seconds over zero")
        return timedelta(seconds=seconds)

    def is_yes(self, name: str) -> bool:
        """Return whether a variable says `yes`."""
        return self.text(name) == "yes"

    def gate(self) -> GateSettings:
        """Return times and bounds of the gate.

        The lease is the sending function's timeout plus the client's (design 8.6). The call budget
        is what one begin, one call and one confirm may take: the client's timeout, and as much
        again for the writes and the read-back.

        Raises:
            ConfigurationError: A setting is missing, or the sending function's timeout leaves no
                time for one call: every send would be refused.
        """
        client = self.seconds("VENDOR_TIMEOUT_SECONDS")
        function = self.seconds("SEND_TIMEOUT_SECONDS")
        budget = client + WRITE_BUDGET
        if function < budget + WRITE_BUDGET:
            raise ConfigurationError(
                "SEND_TIMEOUT_SECONDS must be at least VENDOR_TIMEOUT_SECONDS plus "
                f"{2 * WRITE_BUDGET.total_seconds():.0f}"
            )
        return GateSettings(
            lease=function + client,
            call_budget=budget,
            settle_time=self.seconds("SETTLE_SECONDS"),
            max_attempts=int(self.seconds("MAX_ATTEMPTS").total_seconds()),
            retry_after_release=self.text("RETRY_AFTER_RELEASE") == "automatic",
            read_back_interval=timedelta(seconds=1),
            poll_interval=self.seconds("POLL_SECONDS"),
            driver_interval=self.seconds("DRIVER_CHECK_SECONDS"),
            look_budget=2 * client + WRITE_BUDGET,  # a look asks for status and activity
        )

    def config_digest(self) -> str:
        """Return a digest of the settings that govern decisions, written into every audit record.

        Of the approver policy and the thresholds it covers which parameter holds them, not what
        they say.
        """
        names = (
            "APPROVER_POLICY_PARAMETER",
            "APPROVER_SIGN_IN",
            "EXTRACTION_ACCOUNT",
            "MAX_ATTEMPTS",
            "POLL_SECONDS",
            "REDACTION_ACCOUNT",
            "RETRY_AFTER_RELEASE",
            "SECOND_READINGS",
            "SEND_TIMEOUT_SECONDS",
            "SETTLE_SECONDS",
            "SIGNATURE_TRUST_ROOTS",
            "THRESHOLDS_PARAMETER",
            "VENDOR_TIMEOUT_SECONDS",
        )
        text = "\n".join(f"{name}={self.optional(name)}" for name in names)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
