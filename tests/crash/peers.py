"""Common ways to send once, in the same crash lab: what each does to the recipients and says of it.

Each program sends one approved envelope. It runs as the only state of a Standard workflow with a
plain retry block, against the vendor of the crash lab with each of its behaviours, and dies at
every write and at every send call, as No Undo does beside it. Nothing here is shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from multiprocessing import get_context
from time import time
from typing import Any, Final

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from no_undo.domain.audit_chain import Provenance
from no_undo.domain.envelope import SendAnswer
from no_undo.domain.errors import StaleError, VendorRefusedError
from no_undo.domain.ledger import LedgerEntry, LedgerState
from no_undo.domain.plan import CLOSED_UNSENT, Plan
from no_undo.lab.crash_lab import (
    Death,
    Killer,
    Recorder,
    Setting,
    Takes,
    be_quiet,
    deaths,
    live_through,
)
from no_undo.lab.fake_esign import Behaviour, FakeESign, SecondSend
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.invariants import CONFIRMS
from no_undo.lab.life import NeverQuietError
from no_undo.lab.memory_store import MemoryStateStore
from no_undo.lab.pipeline import ExecutionStatus, JsonMap, Pipeline
from no_undo.lab.watched import watched
from no_undo.lab.world import INVOCATION, RECIPIENTS, SETTINGS, World
from no_undo.ports import EnvelopeDraft

ENVELOPE: Final = "1001"
RETRY: Final = {
    "ErrorEquals": ["States.ALL"],
    "IntervalSeconds": 60,
    "BackoffRate": 2,
    "MaxAttempts": 3,
    "MaxDelaySeconds": 3600,
}
"""The stock retry block; its second retry comes after any lock of a dead invocation is over."""
DEFINITION: Final[JsonMap] = {
    "StartAt": "Send",
    "States": {
        "Send": {
            "Type": "Task",
            "Resource": "${SendFunctionArn}",
            "Retry": [RETRY],
            "ResultPath": "$.sent",
            "Next": "Done",
        },
        "Done": {"Type": "Succeed"},
    },
}


class Word(StrEnum):
    """The last word of a program about the send."""

    SENT = "sent"
    NOT_SENT = "not sent"
    OPEN = "in doubt"


@dataclass(frozen=True, slots=True)
class End:
    """How one life ended.

    Attributes:
        effects: When the recipients got mail, each time.
        word: What the program said last.
        said_at: When it said "sent"; None for the other words.
        asked: Whether a person was shown it and had to find out, or to allow another attempt.
    """

    effects: tuple[datetime, ...]
    word: Word
    said_at: datetime | None = None
    asked: bool = False

    @property
    def duplicate(self) -> bool:
        """The recipients were mailed more than once."""
        return len(self.effects) > 1

    @property
    def lost(self) -> bool:
        """Nothing was sent, and the program says that it was: nobody will ever look."""
        return not self.effects and self.word is Word.SENT

    @property
    def false_claim(self) -> bool:
        """It said "sent" when nothing had been sent yet, or "not sent" although it was."""
        match self.word:
            case Word.SENT:
                return self.said_at is None or not any(at <= self.said_at for at in self.effects)
            case Word.NOT_SENT:
                return bool(self.effects)
            case Word.OPEN:
                return False


# The programs


class KeptRows:
    """Rows of a program, written under a condition, as on DynamoDB."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}

    def read(self, key: str) -> dict[str, Any] | None:
        """Return a row, or None."""
        return self._rows.get(key)

    def commit(
        self,
        key: str,
        row: dict[str, Any] | None,
        allowed: Callable[[dict[str, Any] | None], bool] = lambda _: True,
    ) -> None:
        """Write a row, or delete it with None.

        Raises:
            StaleError: The stored row does not meet the condition; nothing was written.
        """
        if not allowed(self._rows.get(key)):
            raise StaleError("the row is not as expected")
        if row is None:
            self._rows.pop(key, None)
        else:
            self._rows[key] = row


class Site:
    """One program's store, vendor, clock and workflow.

    Attributes:
        function: Which function runs; named as ours, so that the same deaths apply.
        effects: The vendor's truth.
    """

    function = "send_envelope"

    def __init__(self, program: Program, setting: Setting, watcher: Recorder) -> None:
        """Make a site where one draft waits to be sent.

        Args:
            program: What one invocation does.
            setting: How the vendor behaves.
            watcher: Stands around every call.
        """
        self.clock = FixedClock()
        self.vendor = FakeESign(self.clock, setting.behaviour, setting.second_send)
        self.vendor.add_draft(ENVELOPE, EnvelopeDraft("invoice", "invoice.pdf", RECIPIENTS))
        self.rows = watched(KeptRows(), "store", watcher)
        self.esign = watched(self.vendor, "esign", watcher)
        unused = MemoryStateStore(Provenance("peer", "0" * 16))
        run = program(self)
        self.pipeline = Pipeline(DEFINITION, {"SendFunctionArn": run}, unused, self.clock)

    def send(self) -> JsonMap:
        """Call the vendor once.

        Raises:
            VendorRefusedError: It said no.
            InDoubtError: No usable answer.
            NothingSentError: No request left.
        """
        if self.esign.send_draft(ENVELOPE) is SendAnswer.REFUSED:
            raise VendorRefusedError("the vendor refused")
        return {"sent": True}


Program = Callable[[Site], Callable[[JsonMap], JsonMap]]
"""Makes the function of a site."""


def retry_block(site: Site) -> Callable[[JsonMap], JsonMap]:
    """Nothing but the workflow's retries."""
    return lambda _: site.send()


def mark_then_call(site: Site) -> Callable[[JsonMap], JsonMap]:
    """A conditional mark before the call; whoever finds it is done."""

    def run(_: JsonMap) -> JsonMap:
        if site.rows.read(ENVELOPE) is None:
            site.rows.commit(ENVELOPE, {"marked": True}, lambda row: row is None)
            site.send()
        return {"sent": True}

    return run


def call_then_mark(site: Site) -> Callable[[JsonMap], JsonMap]:
    """A mark after the call; whoever finds it is done."""

    def run(_: JsonMap) -> JsonMap:
        if site.rows.read(ENVELOPE) is None:
            site.send()
            site.rows.commit(ENVELOPE, {"marked": True})
        return {"sent": True}

    return run


class Invocation:
    """What Powertools asks the Lambda context for."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        """Return the whole time of a fresh invocation."""
        return int(INVOCATION.total_seconds() * 1000)


class RowsPersistence(BasePersistenceLayer):
    """Powertools' persistence over a site's rows, with the condition of its DynamoDB layer.

    The library stamps records with the computer's clock. Rows are stamped with the lab's instead,
    and a record on its way back to the library is shifted to the computer's.
    """

    def __init__(self, site: Site) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library's
        self._site = site

    def _put_record(self, data_record: DataRecord) -> None:
        now = self._now()
        row = {
            "status": data_record.status,
            "expires": now + self.expires_after_seconds,
            "locked_until": now + INVOCATION.total_seconds(),
            "result": "",
        }

        def free(found: dict[str, Any] | None) -> bool:
            return (
                found is None
                or found["expires"] < now
                or (found["status"] == "INPROGRESS" and found["locked_until"] < now)
            )

        try:
            self._site.rows.commit(data_record.idempotency_key, row, free)
        except StaleError as error:
            raise IdempotencyItemAlreadyExistsError(
                old_data_record=self._get_record(data_record.idempotency_key)
            ) from error

    def _get_record(self, idempotency_key: str) -> DataRecord:
        row = self._site.rows.read(idempotency_key)
        if row is None:
            raise IdempotencyItemNotFoundError
        shift = time() - self._now()
        return DataRecord(
            idempotency_key=idempotency_key,
            status=row["status"],
            expiry_timestamp=int(row["expires"] + shift),
            in_progress_expiry_timestamp=int((row["locked_until"] + shift) * 1000),
            response_data=row["result"],
        )

    def _update_record(self, data_record: DataRecord) -> None:
        row = {
            "status": data_record.status,
            "expires": self._now() + self.expires_after_seconds,
            "locked_until": 0.0,
            "result": data_record.response_data,
        }
        self._site.rows.commit(data_record.idempotency_key, row)

    def _delete_record(self, data_record: DataRecord) -> None:
        self._site.rows.commit(data_record.idempotency_key, None)

    def _now(self) -> float:
        return self._site.clock.now().timestamp()


def powertools_idempotent(site: Site) -> Callable[[JsonMap], JsonMap]:
    """The `@idempotent` decorator of Powertools for AWS Lambda, with its default settings."""
    config = IdempotencyConfig(event_key_jmespath="requestId", raise_on_no_idempotency_key=True)

    @idempotent(persistence_store=RowsPersistence(site), config=config)
    def handler(_event: JsonMap, _context: Any) -> JsonMap:  # noqa: ANN401 - the library's type
        return site.send()

    return lambda event: handler(event, Invocation())


PEERS: Final[Mapping[str, Program]] = {
    "Powertools `@idempotent`": powertools_idempotent,
    "mark, then call": mark_then_call,
    "call, then mark": call_then_mark,
    "plain retry block": retry_block,
}


# Their lives


def peer_end(program: Program, setting: Setting, watcher: Recorder, death: Death | None) -> End:
    """Let one program live once, and until everything late has landed."""
    site = Site(program, setting, watcher)
    watcher.world = site
    site.pipeline.death_stops = death is not None and death.takes is Takes.EXECUTION
    site.pipeline.start("e1", "r1")
    while (moment := site.pipeline.next_ready()) is not None:
        site.clock.set(max(moment, site.clock.now()))
        site.pipeline.step("e1")
    done = site.pipeline.executions["e1"].status is ExecutionStatus.SUCCEEDED
    said_at = site.clock.now()
    site.vendor.land(everything=True)
    effects = tuple(one.at for one in site.vendor.effects)
    return End(effects, Word.SENT, said_at) if done else End(effects, Word.NOT_SENT)


def no_undo_end(setting: Setting, watcher: Recorder, death: Death | None) -> End:
    """Let one request of ours live, and until everything late has landed."""
    world = World(
        behaviour=setting.behaviour,
        second_send=setting.second_send,
        settings=replace(SETTINGS, retry_after_release=setting.automatic),
        watcher=watcher,
    )
    watcher.world = world
    world.pipeline.death_stops = death is not None and death.takes is Takes.EXECUTION
    with suppress(NeverQuietError):  # then its plan is open, and counted as such
        live_through(world, setting)
    (plan,) = world.store.rows(Plan)
    effects = tuple(one.at for one in world.esign.effects)
    entry = world.store.entry(plan.plan_id)
    shown = _was_shown(entry)
    if entry is not None and entry.state is LedgerState.EXECUTED:
        return End(effects, Word.SENT, _said_at(entry), asked=shown)
    if plan.state in CLOSED_UNSENT:
        return End(effects, Word.NOT_SENT, asked=shown)
    return End(effects, Word.OPEN, asked=True)


def _said_at(entry: LedgerEntry) -> datetime | None:
    """Return when the effect was confirmed: the newest evidence of a source that can."""
    return max((one.at for one in entry.evidence if one.source in CONFIRMS), default=None)


def _was_shown(entry: LedgerEntry | None) -> bool:
    """Return whether an operator settled it, or it ended released: shown, and nobody retried."""
    if entry is None:
        return False
    settled = any(one.source == "operator" for one in entry.evidence)
    return settled or entry.state is LedgerState.RELEASED


# Counting


@dataclass
class Tally:
    """What came of many lives; the bad counts may overlap, the good ones do not.

    Attributes:
        lives: How many.
        once: Sent once, and said so.
        unsent: Not sent, and said so.
        asked: Of all lives: shown to a person, who finds out or allows another attempt.
        duplicates: Sent more than once.
        lost: Not sent, and nobody will look.
        false_claims: Said what was not so; every lost send is one.
    """

    lives: int = 0
    once: int = 0
    unsent: int = 0
    asked: int = 0
    duplicates: int = 0
    lost: int = 0
    false_claims: int = 0

    def count(self, end: End) -> None:
        """Count one life."""
        self.lives += 1
        self.duplicates += end.duplicate
        self.lost += end.lost
        self.false_claims += end.false_claim
        self.asked += end.asked
        if not (end.duplicate or end.false_claim):
            self.once += end.word is Word.SENT
            self.unsent += end.word is Word.NOT_SENT

    def __add__(self, other: Tally) -> Tally:
        mine, theirs = asdict(self), asdict(other)
        return Tally(**{name: mine[name] + theirs[name] for name in mine})


Live = Callable[[Setting, Recorder, Death | None], End]
OURS: Final = {
    "No Undo, `RetryAfterRelease=operator`": False,
    "No Undo, `RetryAfterRelease=automatic`": True,
}
WAYS: Final = (*PEERS, *OURS)
COLUMNS: Final = (
    "lives",
    "sent once, and said so",
    "not sent, and said so",
    "shown to a person",
    "sent more than once",
    "lost",
    "false claims",
)
"""What the fields of a tally are called, in order."""


def tally(way: str, behaviour: Behaviour) -> Tally:
    """Count what one way does under one behaviour, at both vendors, dying at every point."""
    found = Tally()
    for second_send in SecondSend:
        setting = Setting(behaviour, second_send, automatic=OURS.get(way, True))
        recorder = Recorder()
        found.count(_live(way, setting, recorder, None))
        for death in deaths(recorder.calls):
            if _matters(death):
                killer = Killer(death)
                found.count(_live(way, setting, killer, death))
                if not killer.reached:
                    raise LookupError(f"{way} never came to {death.point}")
    return found


def _live(way: str, setting: Setting, watcher: Recorder, death: Death | None) -> End:
    if way in PEERS:
        return peer_end(PEERS[way], setting, watcher, death)
    return no_undo_end(setting, watcher, death)


def _matters(death: Death) -> bool:
    """The sender's writes and sends; to die around one of its reads is to die before these."""
    writes = ("store.commit", "esign.send_draft")
    return death.function == Site.function and death.call.startswith(writes)


def tallies(workers: int = 2) -> dict[str, dict[Behaviour, Tally]]:
    """Count everything, by way and behaviour."""
    asked = [(way, behaviour) for way in WAYS for behaviour in Behaviour]
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=be_quiet) as pool:
        counted = list(pool.map(tally, *zip(*asked, strict=True)))
    found: dict[str, dict[Behaviour, Tally]] = {way: {} for way in WAYS}
    for (way, behaviour), one in zip(asked, counted, strict=True):
        found[way][behaviour] = one
    return found


def tables(found: Mapping[str, Mapping[Behaviour, Tally]]) -> str:
    """Return the two tables of the document: all lives by way, and the bad ones by behaviour."""
    lines = [
        "| | " + " | ".join(COLUMNS) + " |",
        "| --- |" + " ---: |" * len(COLUMNS),
    ]
    for way, by_behaviour in found.items():
        counts = asdict(sum(by_behaviour.values(), Tally()))
        lines.append(f"| {way} | " + " | ".join(f"{one:,}" for one in counts.values()) + " |")
    lines += [
        "",
        "| sent more than once / lost / false claims | " + " | ".join(found) + " |",
        "| --- |" + " --- |" * len(found),
    ]
    for behaviour in Behaviour:
        cells = [_cell(by_behaviour[behaviour]) for by_behaviour in found.values()]
        lines.append(f"| {behaviour.value} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(one: Tally) -> str:
    bad = (one.duplicates, one.lost, one.false_claims)
    return " / ".join(map(str, bad)) if any(bad) else "none"
