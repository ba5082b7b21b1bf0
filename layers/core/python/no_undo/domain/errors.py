"""Every error No Undo raises on purpose, split by what the caller may do next.

NoUndoError                       every error we raise on purpose
├── InvalidRequestError           the caller's fault; HTTP 4xx; never retried
│   ├── NotFoundError             there is no such thing, or it is not the caller's; HTTP 404
│   └── ConflictError             it clashes with the state of the thing; HTTP 409
├── RefusedError                  a rule said no; final for this attempt
│   ├── PlanUnknownError          begin: there is no such plan
│   ├── PlanClosedError           begin: rejected, withdrawn, superseded or abandoned
│   ├── AlreadyExecutedError      begin: the effect has happened
│   ├── AlreadyExecutingError     begin: another attempt holds the lease
│   ├── PausedError               begin: an operator paused all begins
│   ├── ApprovalExpiredError      begin, decide: the deadline has passed
│   ├── PlanChangedError          begin, decide: the plan digest differs
│   ├── DocumentChangedError      begin: the stored bytes are not the approved bytes
│   ├── ReadBackDiffersError      begin: the vendor's draft is not what was approved
│   ├── QuorumNotMetError         begin: too few eligible approvals
│   ├── FenceHeldError            draft, begin: another plan holds the same intended effect
│   ├── AttemptsExhaustedError    begin: the bound on attempts is reached; a person decides
│   ├── TooLittleTimeError        begin: the invocation could not finish the call
│   ├── SentOutsideGateError      begin: the effect happened and no attempt of ours made it
│   ├── RedactionUnprovenError    verify: a value survived, or could not be measured
│   ├── UnresolvedRecipientError  parse: a name has no address; carries the question
│   ├── WithdrawnError            any stage: the caller took the request back
│   └── NotEligibleError          decide: this person may not approve this plan
├── TransientError                nothing happened; safe to retry
│   └── NothingSentError          a send that certainly never left
├── InDoubtError                  it may have happened; only reconciled, never retried
├── VendorContractError           a reversible call's answer has the wrong shape
│   └── VendorRefusedError        the vendor said no to a reversible call
├── TamperedError                 a digest or a chain does not verify
└── StaleError                    a row changed since it was read; read again and decide again

Messages name ids, fields and rules; never a value, a token or a key (P10).
Class names are what the state machine's `Catch` lists; a test compares both sets.
"""

from __future__ import annotations

from typing import ClassVar


class NoUndoError(Exception):
    """Base of every deliberate error; `code` is stable and appears in answers and audit records."""

    code: ClassVar[str] = "error"


class InvalidRequestError(NoUndoError):
    """The caller's input was wrong.

    Attributes:
        field: Path of the field at fault, for example `recipients[0].email`; empty when none is.
    """

    code: ClassVar[str] = "invalid_request"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class NotFoundError(InvalidRequestError):
    """There is no such thing, or it belongs to somebody else; both look the same."""

    code: ClassVar[str] = "not_found"


class ConflictError(InvalidRequestError):
    """The input is well formed and clashes with the state of the thing."""

    code: ClassVar[str] = "conflict"


class RefusedError(NoUndoError):
    """A rule said no. Repeating the same call changes nothing."""

    code: ClassVar[str] = "refused"


class PlanUnknownError(RefusedError):
    """There is no plan of this id."""

    code: ClassVar[str] = "plan_unknown"


class PlanClosedError(RefusedError):
    """The plan was rejected, withdrawn, superseded or abandoned."""

    code: ClassVar[str] = "plan_closed"


class AlreadyExecutedError(RefusedError):
    """The effect has happened; the system of record said so."""

    code: ClassVar[str] = "already_executed"


class AlreadyExecutingError(RefusedError):
    """An attempt is under way or in doubt; whoever finds it does not call."""

    code: ClassVar[str] = "already_executing"


class PausedError(RefusedError):
    """An operator paused all begins."""

    code: ClassVar[str] = "paused"


class ApprovalExpiredError(RefusedError):
    """The deadline for deciding, or for using an approval, has passed."""

    code: ClassVar[str] = "approval_expired"


class PlanChangedError(RefusedError):
    """The digest of the plan is not the digest that was approved."""

    code: ClassVar[str] = "plan_changed"


class DocumentChangedError(RefusedError):
    """The stored document is not, byte for byte, the approved one."""

    code: ClassVar[str] = "document_changed"


class ReadBackDiffersError(RefusedError):
    """What the outside holds differs from the plan; the message names the facts, not the values."""

    code: ClassVar[str] = "read_back_differs"


class QuorumNotMetError(RefusedError):
    """Too few distinct, eligible approvals are bound to this digest."""

    code: ClassVar[str] = "quorum_not_met"


class FenceHeldError(RefusedError):
    """Another plan holds the same intended effect, or has executed it.

    Attributes:
        holder_plan_id: The plan that holds the fence or executed the effect last.
    """

    code: ClassVar[str] = "fence_held"

    def __init__(self, message: str, *, holder_plan_id: str) -> None:
        super().__init__(message)
        self.holder_plan_id = holder_plan_id


class AttemptsExhaustedError(RefusedError):
    """The bound on attempts is reached; a person decides what happens next."""

    code: ClassVar[str] = "attempts_exhausted"


class TooLittleTimeError(RefusedError):
    """The invocation has too little time left for one call; nothing was written."""

    code: ClassVar[str] = "too_little_time"


class SentOutsideGateError(RefusedError):
    """The effect is there and no attempt of ours made it; an incident, never a success."""

    code: ClassVar[str] = "sent_outside_gate"


class RedactionUnprovenError(RefusedError):
    """A value survived redaction, or whether it did could not be measured (P8)."""

    code: ClassVar[str] = "redaction_unproven"


class UnresolvedRecipientError(RefusedError):
    """A named recipient has no address, or more than one; the message is the question to answer."""

    code: ClassVar[str] = "unresolved_recipient"


class WithdrawnError(RefusedError):
    """The caller took the request back before this step committed."""

    code: ClassVar[str] = "withdrawn"


class NotEligibleError(RefusedError):
    """This person may not approve this plan."""

    code: ClassVar[str] = "not_eligible"


class TransientError(NoUndoError):
    """Nothing happened; the same call may be repeated."""

    code: ClassVar[str] = "transient"


class NothingSentError(TransientError):
    """A send that certainly never left: no connection, no time. The sender may release at once."""

    code: ClassVar[str] = "nothing_sent"


class InDoubtError(NoUndoError):
    """The effect may have happened. Only the system of record or an operator settles it (P4)."""

    code: ClassVar[str] = "in_doubt"


class VendorContractError(NoUndoError):
    """A reversible call's answer has the wrong shape, HTTP 200 with an error body included."""

    code: ClassVar[str] = "vendor_contract"


class VendorRefusedError(VendorContractError):
    """The vendor refused a reversible call: bad key, no credits, unprocessable document."""

    code: ClassVar[str] = "vendor_refused"


class TamperedError(NoUndoError):
    """A digest or a chain does not verify."""

    code: ClassVar[str] = "tampered"


class StaleError(NoUndoError):
    """A row changed between reading and writing; nothing was written."""

    code: ClassVar[str] = "stale"
