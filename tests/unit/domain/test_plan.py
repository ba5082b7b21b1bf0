"""What the plan digest covers, and which approvals count."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta, timezone

import pytest

from no_undo.domain.documents import DocumentRef
from no_undo.domain.plan import Plan, PlanState, Verdict, approvals_for, digest_of, plan_id_of
from no_undo.domain.recipients import Recipient
from tests.fakes.rows import DAVE, ERIN, NOON, a_decision, a_plan

AGREED: dict[str, object] = {
    "plan_id": "r2#1",
    "tenant": "other",
    "requester": "arn:aws:iam::123456789012:user/mallory",
    "action_kind": "esign.void",
    "title": "Another title",
    "instruction": "Sign twice.",
    "document": DocumentRef("requests/r1/final.pdf", "1", "e" * 64),
    "recipients": (Recipient("Alice Example", "mallory@example.com", 1),),
    "target": "1002",
    "fence_key": "0" * 64,
    "approvers": (DAVE,),
    "quorum": 1,
    "expires_at": NOON + timedelta(hours=5),
    "repeat_of": "r0#1",
}
"""Everything an approver agrees to, each with another value."""

NOT_AGREED = {
    "request_id",
    "requester_email",
    "round",
    "created_at",
    "digest",
    "state",
    "decisions",
    "links",
    "due_kind",
    "due_at",
    "escalate_at",
    "follow_up",
    "mail_at",
    "questions",
    "remind_at",
    "revision",
    "signer_mail",
    "stand_ins",
}
"""What moves while people decide, or follows from what is agreed."""


def test_every_field_of_a_plan_is_agreed_to_or_named_as_not() -> None:
    assert {one.name for one in fields(Plan)} == AGREED.keys() | NOT_AGREED


@pytest.mark.parametrize("field", sorted(AGREED))
def test_p7_the_digest_changes_with_everything_an_approver_agrees_to(field: str) -> None:
    changed = replace(a_plan(), **{field: AGREED[field]})  # type: ignore[arg-type]  # by name

    assert digest_of(changed) != digest_of(a_plan())


@pytest.mark.parametrize(
    ("name", "email", "order"), [("A", "a@b.example", 2), ("B", "b@b.example", 1)]
)
def test_p7_the_digest_covers_name_address_and_order_of_each_recipient(
    name: str, email: str, order: int
) -> None:
    base = replace(a_plan(), recipients=(Recipient("A", "a@b.example", 1),))
    changed = replace(a_plan(), recipients=(Recipient(name, email, order),))

    assert digest_of(changed) != digest_of(base)


def test_the_digest_stays_while_people_decide() -> None:
    plan = a_plan()
    moved = replace(
        plan, state=PlanState.APPROVED, decisions=(a_decision(plan),), due_at=NOON, revision=7
    )

    assert digest_of(moved) == plan.digest


def test_the_digest_does_not_depend_on_the_zone_a_deadline_is_written_in() -> None:
    plan = a_plan()
    elsewhere = plan.expires_at.astimezone(timezone(timedelta(hours=2)))

    assert digest_of(replace(plan, expires_at=elsewhere)) == plan.digest


def test_a_digest_is_64_lower_case_hex_digits_and_always_the_same() -> None:
    digest = digest_of(a_plan())

    assert len(digest) == 64
    assert set(digest) <= set("0123456789abcdef")
    assert digest == digest_of(a_plan())


def test_the_plan_id_follows_from_request_and_round() -> None:
    assert plan_id_of("r1", 2) == "r1#2"


def test_p5_one_approval_counts_for_each_person_and_the_first_one_stands() -> None:
    plan = a_plan()
    first, second = a_decision(plan, DAVE), a_decision(plan, DAVE, at=NOON + timedelta(hours=1))

    counted = approvals_for(replace(plan, decisions=(first, second, a_decision(plan, ERIN))))

    assert counted == (first, a_decision(plan, ERIN))


def test_p5_rejections_and_approvals_of_another_digest_do_not_count() -> None:
    plan = a_plan()
    rejection = a_decision(plan, DAVE, Verdict.REJECT)
    other = replace(a_decision(plan, ERIN), plan_digest="0" * 64)

    assert approvals_for(replace(plan, decisions=(rejection, other))) == ()
