"""What every state store promises; the test modules run it against each of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from no_undo.domain.audit_chain import verify_chain
from no_undo.domain.errors import StaleError
from no_undo.domain.fence import Fence, take
from no_undo.domain.ledger import LedgerEntry, Pause
from no_undo.domain.plan import DueKind, Plan, PlanState, digest_of
from no_undo.domain.request import Request
from no_undo.ports import NotWithdrawn, Row, Save, StateStore, Unchanged
from tests.integration.aws.examples import (
    NOON,
    a_change,
    a_link,
    a_pause,
    a_plan,
    a_request,
    an_entry,
)

FENCE = Fence("f" * 64)


def stored(row: Row) -> Row:
    """Return a row as it reads back after its first save."""
    return replace(row, revision=1)


class StateStoreContract:
    """Run with a `store` fixture that yields an empty store."""

    def test_what_was_never_stored_reads_as_none(self, store: StateStore) -> None:
        assert store.request("r1") is None
        assert store.plan("r1#1") is None
        assert store.entry("r1#1") is None
        assert store.link("0" * 64) is None
        assert store.pause() is None
        assert store.chain("r1") == ()

    def test_a_fence_that_nobody_took_reads_as_a_fresh_one(self, store: StateStore) -> None:
        assert store.fence(FENCE.fence_key) == FENCE

    def test_every_kind_of_row_reads_back_with_every_field(self, store: StateStore) -> None:
        fence = take(FENCE, "r1#1")
        rows = (a_request(), a_plan(), an_entry(), a_link(), fence, a_pause())

        store.commit(a_change(*(Save(row) for row in rows)))

        assert store.request("r1") == stored(a_request())
        assert store.plan("r1#1") == stored(a_plan())
        assert store.entry("r1#1") == stored(an_entry())
        assert store.link(a_link().token_sha256) == stored(a_link())
        assert store.fence(FENCE.fence_key) == stored(fence)
        assert store.pause() == stored(a_pause())

    def test_a_row_with_only_its_defaults_reads_back_the_same(self, store: StateStore) -> None:
        bare = replace(
            a_plan(due_at=None), decisions=(), links=(), instruction="", requester_email=""
        )

        store.commit(a_change(Save(bare)))

        assert store.plan("r1#1") == stored(bare)

    def test_a_plan_has_its_digest_after_a_round_trip(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_plan())))

        read = store.plan("r1#1")

        assert read is not None
        assert digest_of(read) == read.digest == a_plan().digest

    def test_each_save_raises_the_revision_by_one(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_request())))
        read = store.request("r1")
        assert read is not None

        store.commit(a_change(Save(replace(read, title="Other"))))

        assert store.request("r1") == replace(read, title="Other", revision=2)

    def test_a_row_that_exists_cannot_be_created_again(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_request())))

        with pytest.raises(StaleError, match="Request row r1 "):
            store.commit(a_change(Save(replace(a_request(), title="Other"))))

        assert store.request("r1") == stored(a_request())

    def test_a_row_that_moved_on_cannot_be_saved(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_plan())))
        read = store.plan("r1#1")
        assert read is not None
        store.commit(a_change(Save(replace(read, title="First"))))

        with pytest.raises(StaleError, match="Plan row r1#1 "):
            store.commit(a_change(Save(replace(read, title="Second"))))

        assert store.plan("r1#1") == replace(read, title="First", revision=2)

    def test_a_row_that_does_not_exist_cannot_be_updated(self, store: StateStore) -> None:
        with pytest.raises(StaleError):
            store.commit(a_change(Save(replace(a_plan(), revision=3))))

        assert store.plan("r1#1") is None

    def test_one_stale_row_stops_the_whole_change_and_its_record(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_request())))

        with pytest.raises(StaleError):
            store.commit(a_change(Save(a_plan()), Save(a_request()), Save(an_entry())))

        assert store.plan("r1#1") is None
        assert store.entry("r1#1") is None
        assert len(store.chain("r1")) == 1

    @pytest.mark.parametrize(
        ("row", "key"),
        [
            (a_request(), "r1"),
            (a_plan(), "r1#1"),
            (an_entry(), "r1#1"),
            (FENCE, FENCE.fence_key),
            (a_pause(), ""),
        ],
    )
    def test_an_unchanged_row_lets_a_change_through_and_a_changed_one_does_not(
        self, store: StateStore, row: Request | Plan | LedgerEntry | Fence | Pause, key: str
    ) -> None:
        kind = type(row)
        store.commit(a_change(Unchanged(kind, key, 0), chain_id="absent"))
        store.commit(a_change(Save(row)))

        store.commit(a_change(Unchanged(kind, key, 1), chain_id="present"))
        with pytest.raises(StaleError, match=kind.__name__):
            store.commit(a_change(Unchanged(kind, key, 0), chain_id="present"))
        with pytest.raises(StaleError, match=kind.__name__):
            store.commit(a_change(Unchanged(kind, key, 2), chain_id="present"))

        assert len(store.chain("present")) == 1

    def test_a_withdrawn_request_stops_a_change(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_request())))
        store.commit(a_change(NotWithdrawn("r1"), Save(a_plan())))
        read = store.request("r1")
        assert read is not None
        store.commit(a_change(Save(replace(read, withdrawn=True))))

        with pytest.raises(StaleError, match="Request row r1 "):
            store.commit(a_change(NotWithdrawn("r1"), Save(an_entry())))

        assert store.entry("r1#1") is None

    def test_a_request_that_does_not_exist_counts_as_withdrawn(self, store: StateStore) -> None:
        with pytest.raises(StaleError):
            store.commit(a_change(NotWithdrawn("r1")))

    def test_conditions_on_a_row_that_is_also_saved_are_joined(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_request())))
        read = store.request("r1")
        assert read is not None

        store.commit(
            a_change(NotWithdrawn("r1"), Save(replace(read, title="Other")), kind="a.titled")
        )
        with pytest.raises(StaleError):
            store.commit(a_change(Save(replace(read, revision=2)), Unchanged(Request, "r1", 1)))

        assert store.request("r1") == replace(read, title="Other", revision=2)

    def test_saving_a_withdrawn_row_under_not_withdrawn_is_judged_by_what_is_stored(
        self, store: StateStore
    ) -> None:
        store.commit(a_change(Save(replace(a_request(), withdrawn=True))))
        read = store.request("r1")
        assert read is not None

        with pytest.raises(StaleError):
            store.commit(a_change(NotWithdrawn("r1"), Save(replace(read, withdrawn=False))))

    def test_saving_one_row_twice_in_a_change_is_a_programming_mistake(
        self, store: StateStore
    ) -> None:
        with pytest.raises(ValueError, match="twice"):
            store.commit(a_change(Save(a_plan()), Save(replace(a_plan(), title="Other"))))

    def test_records_form_one_chain_that_verifies(self, store: StateStore) -> None:
        committed = [
            store.commit(a_change(kind=f"step.{word}")) for word in ("one", "two", "three")
        ]

        chain = store.chain("r1")

        assert list(chain) == committed
        assert [record.seq for record in chain] == [1, 2, 3]
        assert verify_chain("r1", chain).hash == committed[-1].hash

    def test_chains_do_not_mix(self, store: StateStore) -> None:
        store.commit(a_change(chain_id="r1"))
        store.commit(a_change(chain_id="r1#opens"))
        store.commit(a_change(chain_id="r10"))

        assert [len(store.chain(one)) for one in ("r1", "r1#opens", "r10")] == [1, 1, 1]

    def test_a_refused_change_can_be_recorded_by_itself(self, store: StateStore) -> None:
        record = store.commit(a_change(kind="send.refused"))

        assert store.chain("r1") == (record,)

    def test_due_plans_are_named_soonest_first_up_to_now(self, store: StateStore) -> None:
        hour = timedelta(hours=1)
        moments = {"a#1": hour, "b#1": -hour, "c#1": -2 * hour, "d#1": timedelta(0)}
        for plan_id, offset in moments.items():
            store.commit(a_change(Save(a_plan(plan_id, due_at=NOON + offset))))
        store.commit(a_change(Save(a_plan("e#1", due_at=None))))

        assert store.due_plans(NOON, limit=10) == ("c#1", "b#1", "d#1")
        assert store.due_plans(NOON, limit=2) == ("c#1", "b#1")

    def test_an_instant_with_microseconds_sorts_after_the_whole_second(
        self, store: StateStore
    ) -> None:
        store.commit(a_change(Save(a_plan("a#1", due_at=NOON + timedelta(microseconds=1)))))
        store.commit(a_change(Save(a_plan("b#1", due_at=NOON))))

        assert store.due_plans(NOON, limit=10) == ("b#1",)
        assert store.due_plans(NOON + timedelta(seconds=1), limit=10) == ("b#1", "a#1")

    def test_a_plan_that_is_no_longer_due_leaves_the_due_index(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_plan())))
        read = store.plan("r1#1")
        assert read is not None

        store.commit(a_change(Save(replace(read, due_kind=None, due_at=None))))

        assert store.due_plans(NOON, limit=10) == ()

    def test_rescheduling_moves_a_plan_in_the_index_and_nothing_else(
        self, store: StateStore
    ) -> None:
        store.commit(a_change(Save(a_plan())))
        read = store.plan("r1#1")
        assert read is not None
        later = NOON + timedelta(hours=1)

        store.reschedule(replace(read, due_kind=DueKind.SETTLE, due_at=later, title="Other"))

        assert store.plan("r1#1") == replace(read, due_kind=DueKind.SETTLE, due_at=later)
        assert store.due_plans(NOON, limit=10) == ()
        assert store.due_plans(later, limit=10) == ("r1#1",)
        assert len(store.chain("r1")) == 1

    def test_plans_to_mail_are_those_that_wait_soonest_first(self, store: StateStore) -> None:
        hour = timedelta(hours=1)
        for plan_id, offset in {"a#1": hour, "b#1": -hour, "c#1": -2 * hour}.items():
            store.commit(a_change(Save(replace(a_plan(plan_id), mail_at=NOON + offset))))
        store.commit(a_change(Save(a_plan("d#1"))))
        ended = replace(a_plan("e#1"), mail_at=NOON - hour, state=PlanState.REJECTED)
        store.commit(a_change(Save(ended)))

        assert store.plans_to_mail(NOON, limit=10) == ("c#1", "b#1")
        assert store.plans_to_mail(NOON, limit=1) == ("c#1",)

    def test_rescheduling_mail_moves_the_mail_and_nothing_else(self, store: StateStore) -> None:
        store.commit(a_change(Save(replace(a_plan(), mail_at=NOON))))
        read = store.plan("r1#1")
        assert read is not None
        later = NOON + timedelta(hours=1)

        store.reschedule_mail(replace(read, mail_at=later, due_at=later, title="Other"))
        store.reschedule_mail(replace(read, mail_at=NOON, revision=read.revision + 1))

        assert store.plan("r1#1") == replace(read, mail_at=later)
        assert store.plans_to_mail(NOON, limit=10) == ()
        assert store.plans_to_mail(later, limit=10) == ("r1#1",)
        store.reschedule_mail(replace(read, mail_at=None))
        assert store.plans_to_mail(later, limit=10) == ()

    def test_rescheduling_to_never_takes_a_row_out_of_its_index(self, store: StateStore) -> None:
        store.commit(a_change(Save(a_plan()), Save(a_request())))
        plan, request = store.plan("r1#1"), store.request("r1")
        assert plan is not None
        assert request is not None
        much_later = NOON + timedelta(days=9)

        store.reschedule(replace(plan, due_kind=None, due_at=None))
        store.reschedule(replace(request, check_at=None))

        assert store.due_plans(much_later, limit=10) == ()
        assert store.open_requests(much_later, limit=10) == ()
        assert store.request("r1") == replace(request, check_at=None)

    def test_rescheduling_a_row_that_moved_on_or_never_was_changes_nothing(
        self, store: StateStore
    ) -> None:
        store.commit(a_change(Save(a_plan())))
        read = store.plan("r1#1")
        assert read is not None
        store.commit(a_change(Save(replace(read, title="Other"))))

        store.reschedule(replace(read, due_at=NOON + timedelta(hours=1)))
        store.reschedule(a_request("never-stored"))

        assert store.plan("r1#1") == replace(read, title="Other", revision=2)
        assert store.request("never-stored") is None

    def test_requests_to_check_are_named_until_nobody_has_to_look(self, store: StateStore) -> None:
        for name, minutes in (("r2", 2), ("r1", 1), ("r9", 9)):
            store.commit(a_change(Save(a_request(name, at=NOON + timedelta(minutes=minutes)))))
        assert store.open_requests(NOON + timedelta(minutes=8), limit=10) == ("r1", "r2")
        read = store.request("r1")
        assert read is not None

        store.commit(a_change(Save(replace(read, check_at=None))))

        assert store.open_requests(NOON + timedelta(minutes=8), limit=10) == ("r2",)

    def test_abandoned_drafts_are_named_when_they_are_due_and_listed_for_good(
        self, store: StateStore
    ) -> None:
        watched = replace(a_request("r1"), drafts_check_at=NOON + timedelta(hours=1))
        over = replace(a_request("r2"), drafts_since=NOON)
        sent = replace(over, request_id="r3", sent_drafts=("41",))
        fresh = a_request("r4", at=NOON + timedelta(minutes=2))
        none = replace(a_request("r5"), abandoned_drafts=())
        for row in (watched, over, sent, fresh, none):
            store.commit(a_change(Save(row)))

        assert store.due_drafts(NOON + timedelta(hours=1), limit=10) == ("r4", "r1")
        assert store.due_drafts(NOON + timedelta(hours=1), limit=1) == ("r4",)
        assert store.due_drafts(NOON + timedelta(minutes=59), limit=10) == ("r4",)
        listed = store.requests_with_drafts(limit=10)
        assert listed[0] == "r3"
        assert set(listed) == {"r1", "r2", "r3", "r4"}
        assert len(store.requests_with_drafts(limit=3)) == 3

    def test_the_next_look_at_drafts_is_stored_without_a_new_revision(
        self, store: StateStore
    ) -> None:
        store.commit(a_change(Save(a_request())))
        read = store.request("r1")
        assert read is not None
        later = replace(read, drafts_since=NOON, drafts_check_at=NOON + timedelta(hours=1))

        store.reschedule(later)
        assert store.due_drafts(NOON, limit=10) == ()
        store.reschedule(replace(later, drafts_check_at=None))

        assert store.request("r1") == replace(later, drafts_check_at=None)
        assert store.due_drafts(NOON + timedelta(days=999), limit=10) == ()
        assert store.requests_with_drafts(limit=10) == ("r1",)

    def test_a_caller_sees_only_its_own_requests_newest_first(self, store: StateStore) -> None:
        for name, minutes in (("r1", 1), ("r3", 3), ("r2", 2)):
            store.commit(a_change(Save(a_request(name, at=NOON + timedelta(minutes=minutes)))))
        for name, tenant, caller in (("x1", "a#b", "c"), ("x2", "a", "b#c")):
            store.commit(a_change(Save(replace(a_request(name), tenant=tenant, caller=caller))))

        mine = store.requests_of("acme", a_request().caller, limit=2)

        assert [one.request_id for one in mine] == ["r3", "r2"]
        assert mine[0] == stored(a_request("r3", at=NOON + timedelta(minutes=3)))
        assert [one.request_id for one in store.requests_of("a#b", "c", limit=9)] == ["x1"]
        assert store.requests_of("acme", "nobody", limit=9) == ()

    def test_opens_are_recorded_on_their_own_chain_up_to_twenty_an_approver(
        self, store: StateStore
    ) -> None:
        for minute in range(25):
            store.record_open("r1", "dave@example.com", NOON + timedelta(minutes=minute))
        store.record_open("r1", "erin@example.com", NOON)

        chain = store.chain("r1#opens")

        assert len(chain) == 21
        assert verify_chain("r1#opens", chain).seq == 21
        assert '"actor":"erin@example.com"' in chain[-1].line
        assert store.chain("r1") == ()
