"""No request, however spelled, gets past the policy."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from no_undo.domain.addresses import person_key
from no_undo.domain.approver_policy import ApproverPolicy, choose_approvers, still_eligible
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.recipients import Recipient

# A busy machine is no finding.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
people = st.sampled_from(["alice", "Alice", "al.ice", "alice+x", "bob", "BOB+y", "carol", "dave"])
addresses = st.builds(
    "{}@{}".format, people, st.sampled_from(["example.com", "gmail.com", "evil.example"])
)
policies = st.builds(
    ApproverPolicy,
    eligible=st.just(("@example.com", "@gmail.com")),
    smallest_quorum=st.integers(1, 3),
    recipients_may_approve=st.booleans(),
    escalation=st.just(()),
    default_approvers=st.just(("alice@example.com", "bob@gmail.com", "carol@example.com")),
    deadline_hours=st.just(72),
    callers=st.fixed_dictionaries({"caller": addresses}),
)


@unhurried
@given(
    policies,
    st.lists(addresses, max_size=4),
    st.none() | st.integers(-1, 5),
    st.lists(st.builds(Recipient, st.just("Signer"), addresses, st.integers(1, 3)), max_size=3),
)
def test_every_choice_is_a_quorum_of_distinct_eligible_people_without_the_requester(
    policy: ApproverPolicy, requested: list[str], quorum: int | None, recipients: list[Recipient]
) -> None:
    try:
        choice = choose_approvers(
            policy, caller="caller", requested=requested, quorum=quorum, recipients=recipients
        )
    except InvalidRequestError:
        return

    keys = [person_key(approver) for approver in choice.approvers]
    assert len(keys) == len(set(keys)) >= choice.quorum >= policy.smallest_quorum
    assert person_key(policy.callers["caller"]) not in keys
    assert not any(key.endswith("@evil.example") for key in keys)
    assert policy.recipients_may_approve or not set(keys) & {
        person_key(r.email) for r in recipients
    }
    assert all(
        still_eligible(policy, approver, requester=choice.requester, recipients=recipients)
        for approver in choice.approvers
    )
