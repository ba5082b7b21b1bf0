"""Rules of `domain/approver_policy.py`."""

from __future__ import annotations

from typing import Any

import pytest

from no_undo.domain.approver_policy import (
    ApproverChoice,
    ApproverPolicy,
    choose_approvers,
    policy_for,
    still_eligible,
)
from no_undo.domain.errors import InvalidRequestError, RefusedError
from no_undo.domain.recipients import Recipient

RECIPIENTS = (
    Recipient("Alice", "alice@example.com", 1),
    Recipient("Bob", "bob@example.com", 2),
)
CALLER = "role/back-office"


def tenant(**changes: object) -> dict[str, Any]:
    return {
        "eligible": ["dora@example.com", "@approvers.example", "rita@example.com"],
        "smallest_quorum": 1,
        "default_approvers": ["dora@example.com", "erik@approvers.example"],
        "callers": {CALLER: "rita@example.com"},
        **changes,
    }


def policy(**changes: object) -> ApproverPolicy:
    read = policy_for({"tenants": {"acme": tenant(**changes)}}, "acme")
    assert read is not None
    return read


def choose(
    subject: ApproverPolicy,
    *requested: str,
    quorum: int | None = None,
    caller: str = CALLER,
    recipients: tuple[Recipient, ...] = RECIPIENTS,
) -> ApproverChoice:
    return choose_approvers(
        subject, caller=caller, requested=requested, quorum=quorum, recipients=recipients
    )


def refused_field(*requested: str, quorum: int | None = None, **changes: object) -> str:
    with pytest.raises(InvalidRequestError) as refusal:
        choose(policy(**changes), *requested, quorum=quorum)
    return refusal.value.field


def test_a_small_policy_has_careful_defaults() -> None:
    small = policy_for({"tenants": {"acme": {"eligible": ["@approvers.example"]}}}, "acme")

    assert small == ApproverPolicy(
        eligible=("@approvers.example",),
        smallest_quorum=1,
        recipients_may_approve=False,
        escalation=(),
        default_approvers=(),
        deadline_hours=72,
        callers={},
    )


def test_without_a_policy_for_the_tenant_nothing_may_be_asked_for() -> None:
    absent = policy_for({"tenants": {"other": tenant()}}, "acme")

    assert absent is None
    with pytest.raises(RefusedError, match="no approver policy"):
        choose_approvers(absent, caller=CALLER, requested=(), quorum=None, recipients=RECIPIENTS)


@pytest.mark.parametrize("document", [None, [], {"tenants": []}, {"tenant": {}}])
def test_a_document_of_another_shape_is_refused(document: object) -> None:
    with pytest.raises(RefusedError, match="cannot be used"):
        policy_for(document, "acme")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"eligible": []}, "eligible"),
        ({"eligible": ["dora"]}, "eligible[0]"),
        ({"eligible": ["@"]}, "eligible[0]"),
        ({"eligible": ["@*.example"]}, "eligible[0]"),
        ({"eligible": [7]}, "eligible[0]"),
        ({"smallest_quorum": 0}, "smallest_quorum"),
        ({"smallest_quorum": True}, "smallest_quorum"),
        ({"recipients_may_approve": "no"}, "recipients_may_approve"),
        ({"escalation": ["ops"]}, "escalation[0]"),
        ({"default_approvers": ["eve@evil.example"]}, "default_approvers[0]"),
        ({"default_approvers": ["dora@example.com", "Dora@example.com"]}, "default_approvers[1]"),
        ({"deadline_hours": 7201}, "deadline_hours"),
        ({"callers": ["role"]}, "callers"),
        ({"callers": {"role": "nobody"}}, "callers.*"),
        ({"smalest_quorum": 2}, "has a key"),
    ],
)
def test_a_policy_with_a_mistake_is_refused_and_the_place_named(
    changes: dict[str, object], path: str
) -> None:
    with pytest.raises(RefusedError, match="cannot be used") as refusal:
        policy(**changes)

    assert path in str(refusal.value)


def test_a_request_without_names_takes_the_default_approvers_and_the_smallest_quorum() -> None:
    assert choose(policy()) == ApproverChoice(
        ("dora@example.com", "erik@approvers.example"), 1, "rita@example.com"
    )


def test_a_request_may_choose_from_the_eligible_and_raise_the_quorum() -> None:
    chosen = choose(policy(), "Dora@Example.com", "new@approvers.example", quorum=2)

    assert chosen.approvers == ("Dora@Example.com", "new@approvers.example")
    assert chosen.quorum == 2


@pytest.mark.parametrize(
    "stranger",
    [
        "eve@evil.example",
        "dora@evil.example",
        "eve@sub.approvers.example",
        "eve@approvers.example.evil.example",
        "dora+eve@example.com",
        "not an address",
        "d\u043era@example.com",
        "dora@example.com\r\nBcc: eve@evil.example",
    ],
)
def test_a_request_never_adds_a_person(stranger: str) -> None:
    assert refused_field("dora@example.com", stranger) == "approvers[1]"


@pytest.mark.parametrize("quorum", [1, 0, -1])
def test_a_request_never_lowers_the_quorum(quorum: int) -> None:
    field = refused_field(
        "dora@example.com", "erik@approvers.example", quorum=quorum, smallest_quorum=2
    )

    assert field == "quorum"


def test_a_quorum_nobody_could_meet_is_refused() -> None:
    assert refused_field("dora@example.com", quorum=2) == "quorum"
    assert refused_field("dora@example.com", smallest_quorum=2) == "approvers"
    assert refused_field(default_approvers=[]) == "approvers"


@pytest.mark.parametrize(
    "spelling", ["rita@example.com", "RITA@example.com", "rita+boss@approvers.example"]
)
def test_the_requester_never_approves_under_any_spelling(spelling: str) -> None:
    mail = "rita@approvers.example" if "approvers" in spelling else "rita@example.com"

    assert refused_field(spelling, callers={CALLER: mail}) == "approvers[0]"


def test_the_requester_is_left_out_of_the_default_approvers() -> None:
    subject = policy(callers={CALLER: "Dora+work@example.com"})

    assert choose(subject).approvers == ("erik@approvers.example",)


def test_a_recipient_approves_only_if_the_policy_says_so() -> None:
    eligible = ["dora@example.com", "@approvers.example"]
    signer = (Recipient("Dora", "dora+sign@example.com", 1),)
    strict = policy(eligible=eligible)
    lenient = policy(eligible=eligible, recipients_may_approve=True)

    with pytest.raises(InvalidRequestError, match="recipient"):
        choose(strict, "dora@example.com", recipients=signer)

    assert choose(lenient, "dora@example.com", recipients=signer).approvers == ("dora@example.com",)
    assert choose(strict, recipients=signer).approvers == ("erik@approvers.example",)


@pytest.mark.parametrize(
    "second", ["Erik@approvers.example", "erik+2@approvers.example", "ERIK+x@APPROVERS.example"]
)
def test_one_person_twice_is_no_quorum(second: str) -> None:
    assert refused_field("erik@approvers.example", second, quorum=2) == "approvers[1]"


def test_rule_6_a_machine_may_submit_but_not_name_approvers() -> None:
    subject = policy(callers={"role/agent": None})

    assert choose(subject, caller="role/agent").requester == ""
    with pytest.raises(InvalidRequestError) as refusal:
        choose(subject, "dora@example.com", caller="role/agent")
    assert refusal.value.field == "approvers"


def test_rule_6_a_caller_that_the_policy_does_not_list_is_refused() -> None:
    for named in ((), ("dora@example.com",)):
        with pytest.raises(RefusedError, match="does not list this caller"):
            choose(policy(), *named, caller="role/agent")


ROLE = "arn:aws:sts::123456789012:assumed-role/BackOffice"


def test_rule_6_the_name_of_a_session_does_not_hide_the_person_behind_a_mapped_role() -> None:
    subject = policy(callers={f"{ROLE}/*": "dora@example.com", f"{ROLE}/erik": "rita@example.com"})

    for session in ("dora", "any-other-name", "erik.", "ERIK"):
        assert choose(subject, caller=f"{ROLE}/{session}").approvers == ("erik@approvers.example",)
    assert choose(subject, caller=f"{ROLE}/erik").requester == "rita@example.com"


@pytest.mark.parametrize(
    "caller",
    [
        f"{ROLE}2/dora",
        f"{ROLE}/a/b",
        f"{ROLE}/",
        ROLE,
        f"{ROLE.replace('sts', 'iam')}/dora",
        f"{ROLE.replace('123456789012', '210987654321')}/dora",
    ],
)
def test_rule_6_a_mapped_role_stands_for_its_own_sessions_and_for_nothing_else(caller: str) -> None:
    with pytest.raises(RefusedError, match="does not list this caller"):
        choose(policy(callers={f"{ROLE}/*": "rita@example.com"}), caller=caller)


@pytest.mark.parametrize("identity", ["*", "role/*", f"{ROLE}*", f"{ROLE}/d*", f"{ROLE}/*/*"])
def test_rule_6_a_star_stands_for_the_sessions_of_one_role_only(identity: str) -> None:
    with pytest.raises(RefusedError, match=r"callers\.\*"):
        policy(callers={identity: "rita@example.com"})


def test_more_approvers_than_anybody_reads_are_refused() -> None:
    many = [f"a{n}@approvers.example" for n in range(21)]

    assert refused_field(*many) == "approvers"


def test_eligibility_is_asked_again_of_the_policy_as_it_is_now() -> None:
    narrowed = policy(eligible=["@approvers.example"], default_approvers=[])

    def eligible(subject: ApproverPolicy, address: str) -> bool:
        return still_eligible(
            subject, address, requester="rita@approvers.example", recipients=RECIPIENTS
        )

    assert eligible(policy(), "dora@example.com")
    assert not eligible(narrowed, "dora@example.com")
    assert eligible(narrowed, "erik@approvers.example")
    assert not eligible(narrowed, "Rita+x@approvers.example")
    assert not eligible(policy(eligible=["@example.com"], default_approvers=[]), "bob@example.com")


def test_a_refusal_never_repeats_an_address() -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        choose(policy(), "secret@evil.example")

    assert "secret" not in str(refusal.value)
