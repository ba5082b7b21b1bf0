"""Export Audit: killed anywhere, or run twice at once, it loses nothing and doubles nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from no_undo.domain.audit_chain import AuditEvent, AuditRecord, ChainHead, next_record
from no_undo.domain.audit_export import checkpoint_name, manifest_name
from no_undo.domain.errors import StaleError, TamperedError
from no_undo.lab.fixed_clock import FixedClock
from no_undo.lab.pipeline import ProcessDiedError
from no_undo.lab.watched import watched
from no_undo.use_cases.export_audit import SECONDS_A_ROUND, Exporting, export_audit
from tests.fakes.audit_exports import NOON, ORIGIN, PROVENANCE, chain, verify
from tests.fakes.audit_outbox import InMemoryArchive, InMemoryOutbox, InMemorySigner

RECORDS = [*chain("r1", 3), *chain("r2", 2)]


@dataclass
class World:
    """An export's ports; whoever watches stands at every call of all of them."""

    outbox: InMemoryOutbox = field(default_factory=InMemoryOutbox)
    archive: InMemoryArchive = field(default_factory=InMemoryArchive)
    signer: InMemorySigner = field(default_factory=InMemorySigner)
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOON))

    def exporting(self, watcher: Watcher | None = None) -> Exporting:
        around = watcher or Watcher()
        return Exporting(
            outbox=watched(self.outbox, "outbox", around),
            archive=watched(self.archive, "archive", around),
            signer=watched(self.signer, "signer", around),
            clock=self.clock,
            origin=ORIGIN,
        )

    def run(self, watcher: Watcher | None = None, seconds: float = 1e9) -> None:
        export_audit(self.exporting(watcher), lambda: seconds)


@dataclass
class Watcher:
    """Counts port calls; dies, or does something else, before or after the n-th."""

    at: int = 0
    after: bool = False
    then: Callable[[], None] | None = None
    calls: int = 0

    def around(self, call: str, do: Callable[[], object]) -> object:  # noqa: ARG002
        self.calls += 1
        if self.calls != self.at:
            return do()
        done = do() if self.after else None
        if self.then is None:
            raise ProcessDiedError
        self.then()
        return done if self.after else do()


def a_world() -> World:
    world = World()
    world.outbox.add(RECORDS)
    return world


def calls_of_a_run() -> int:
    watcher = Watcher()
    a_world().run(watcher)
    return watcher.calls


CALLS = calls_of_a_run()


def assert_all_exported_once(world: World, records: list[AuditRecord]) -> None:
    done = verify(world.archive.files)
    assert done.failure is None
    assert done.records == len(records)
    assert world.outbox.waiting == {}
    numbers = {name.split("/")[1][:12] for name in world.archive.files}
    assert len(numbers) == done.checkpoints


def test_what_is_in_the_outbox_is_exported_and_forgotten() -> None:
    world = a_world()

    report = export_audit(world.exporting(), lambda: 1e9)

    assert (report.checkpoints, report.records, report.lag) == (1, 5, timedelta())
    assert_all_exported_once(world, RECORDS)


def test_a_checkpoint_is_written_also_when_nothing_happened() -> None:
    world = World()

    world.run()
    world.run()

    assert set(world.archive.files) == {
        *(checkpoint_name(one) for one in (1, 2)),
        *(manifest_name(one) for one in (1, 2)),
    }
    assert verify(world.archive.files).checkpoints == 2


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, CALLS + 1))
def test_killed_at_any_port_call_it_loses_nothing_and_writes_nothing_twice(
    at: int, *, after: bool
) -> None:
    world = a_world()

    with pytest.raises(ProcessDiedError):
        world.run(Watcher(at, after=after))
    world.clock.sleep(300)
    late = chain("r3", 2)
    world.outbox.add(late)
    world.run()

    assert_all_exported_once(world, [*RECORDS, *late])


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, CALLS + 1))
def test_a_second_run_in_the_middle_of_the_first_changes_nothing(at: int, *, after: bool) -> None:
    """The other run happens completely between two port calls, and one more record with it."""
    world = a_world()
    late = chain("r3", 1)

    def other() -> None:
        world.outbox.add(late)
        world.run()

    world.run(Watcher(at, after=after, then=other))

    assert_all_exported_once(world, [*RECORDS, *late])


def test_a_run_that_is_always_slower_ends_and_says_so() -> None:
    world = a_world()

    class Faster:
        def around(self, call: str, do: Callable[[], object]) -> object:
            if call == "outbox.claim":
                world.run()
                world.outbox.add(chain(f"more{len(world.archive.files)}", 1))
            return do()

    exporting = replace(world.exporting(), outbox=watched(world.outbox, "outbox", Faster()))
    with pytest.raises(StaleError, match="other runs"):
        export_audit(exporting, lambda: 1e9)


def test_a_run_without_time_leaves_the_rest_and_tells_how_old_it_is() -> None:
    world = World()
    world.outbox.add([one for n in range(1_200) for one in chain(f"r{n:04d}", 1)])
    world.clock.sleep(90)

    report = export_audit(world.exporting(), lambda: SECONDS_A_ROUND - 1)

    assert (report.checkpoints, report.records) == (1, 1_000)
    assert report.lag == timedelta(seconds=90)
    world.run()
    assert verify(world.archive.files).records == 1_200


def test_a_file_in_the_archive_that_is_not_the_claimed_one_stops_the_export() -> None:
    for name in (manifest_name(1), checkpoint_name(1), "segments/000000000001-0001.jsonl.gz"):
        world = a_world()
        world.archive.files[name] = b"something else"
        with pytest.raises(TamperedError, match=name):
            world.run()


def test_the_ending_of_a_request_is_anchored_with_its_checkpoint() -> None:
    world = World()
    records = chain("r1", 2)
    head = ChainHead("r1", 2, records[-1].hash)
    ending = AuditEvent("request.closed", "close_request", NOON, {"state": "COMPLETED"})
    records.append(next_record(head, ending, PROVENANCE))
    world.outbox.add([*chain("r0", 4), *records, *chain("r2", 3)])

    world.run()

    anchor = world.outbox.anchor("r1")
    assert anchor is not None
    assert (anchor.seq, anchor.index) == (3, 6)
    assert anchor.note == world.archive.files[checkpoint_name(1)]
    assert world.outbox.anchor("r0") is None
