"""One sandbox's standing state of this vendor: switches, credits, jobs, the record of calls."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from local.sandbox.nutrient.errors import SandboxError
from local.sandbox.nutrient.jobs import Jobs
from local.sandbox.nutrient.switches import HONEST, Switches
from local.sandbox.nutrient.worker import WorkerPool

_NO_LIMIT_CREDITS = 5000.0
_KEPT_CALLS = 1000


class NoCreditsError(SandboxError):
    """The bucket is too empty for the call. HTTP 402."""

    status = 402
    code = "insufficient_credits"


@dataclass(frozen=True, slots=True)
class Call:
    """One answered call: route, HTTP status, credits taken; no document, no key."""

    route: str
    status: int
    cost: float


@dataclass(slots=True)
class Nutrient:
    """Switches, credits, jobs and the record of calls of one sandbox."""

    file: Path
    pool: WorkerPool
    switches: Switches = HONEST
    failures_left: int = 0
    spent: dict[str, float] = field(default_factory=dict[str, float])
    jobs: Jobs = field(default_factory=Jobs)
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=_KEPT_CALLS))

    def load(self) -> None:
        """Read the switches kept from before a restart."""
        if self.file.is_file():
            self.change(Switches.model_validate_json(self.file.read_text("utf-8")))

    def change(self, switches: Switches) -> None:
        """Replace all switches and start counting failures and credits anew."""
        self.switches = switches
        self.failures_left = switches.fail_times
        self.spent = {}
        self.file.write_text(switches.model_dump_json(), "utf-8")

    def reset(self) -> None:
        """Behave again, and forget the jobs and calls."""
        self.change(HONEST)
        self.jobs.clear()
        self.calls.clear()

    def remaining(self, product: str) -> float:
        """Return the credits left in one product's bucket."""
        limit = self.switches.remaining_credits
        return (_NO_LIMIT_CREDITS if limit is None else limit) - self.spent.get(product, 0.0)

    def check_credits(self, product: str, cost: float) -> None:
        """Refuse a call that the product's bucket cannot pay; no limit set means enough.

        Raises:
            NoCreditsError: Too few credits.
        """
        limited = self.switches.remaining_credits is not None
        if self.switches.out_of_credits or (limited and self.remaining(product) < cost):
            raise NoCreditsError(
                f"operation failed because {cost:g} required credits aren't available"
            )

    def charge(self, product: str, cost: float) -> None:
        """Take credits out of one product's bucket; only successful calls cost."""
        self.spent[product] = self.spent.get(product, 0.0) + cost

    def take_failure(self) -> bool:
        """Return True while answers are to fail, counting down."""
        if self.failures_left <= 0:
            return False
        self.failures_left -= 1
        return True
