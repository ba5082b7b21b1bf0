"""An e-sign vendor in memory that can lie in every way known of real ones.

One fact about it is changed (its behaviour), then the whole system runs against it. Whatever it
answers, `effects` says what really happened: one entry for each time the recipients got mail.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from no_undo.domain.envelope import (
    ActivityHistory,
    Envelope,
    EnvelopeRecipient,
    EnvelopeStatus,
    SendAnswer,
    SignedDocument,
)
from no_undo.domain.errors import (
    InDoubtError,
    NothingSentError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.ports import Clock, EnvelopeDraft

LANDS_WITHIN: Final = timedelta(minutes=29)
"""When a late request lands, after the call: just within a settle time of 30 minutes."""
LANDS_BEYOND: Final = timedelta(minutes=100)
"""When a very late request lands: far beyond a settle time of 30 minutes."""
STATUS_LAG: Final = timedelta(minutes=10)
"""For how long a lagging status still shows a draft."""
UNKNOWN_FOR: Final = timedelta(hours=6)
"""For how long an unknown status text is shown: longer than anybody waits before asking."""
PAGE_TIME: Final = timedelta(minutes=5)
"""For how long every read answers with an HTML page."""


class Behaviour(StrEnum):
    """How the vendor treats a send."""

    NORMAL = "normal"
    REPLY_LOST = "effect, reply lost"
    REQUEST_LOST = "request lost"
    ALWAYS_LOST = "request lost, each time"
    NOT_SENT = "no connection"
    REFUSED = "refused as 200"
    CLAIMED = "claims success, stays draft"
    LAGS = "status lags"
    LANDS_WITHIN = "lands within the settle time"
    LANDS_BEYOND = "lands far beyond it"
    BAD_GATEWAY = "502 that sent"
    UNKNOWN_STATUS = "unknown status text"
    HTML = "HTML with 200"


class SecondSend(StrEnum):
    """What the vendor does with a second send of a sent envelope (vendor fact F1)."""

    REFUSES = "refuses a second send"
    MAILS_AGAIN = "mails again"


_EVERY_SEND = frozenset({Behaviour.ALWAYS_LOST, Behaviour.LAGS, Behaviour.UNKNOWN_STATUS})
"""Behaviours of every send; the others are of the first one, so that a second can do harm."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The recipients got mail: the thing that must happen at most once.

    Attributes:
        envelope_id: Of which envelope.
        at: When.
        call: Which send call caused it, 1-based.
    """

    envelope_id: str
    at: datetime
    call: int


@dataclass(frozen=True, slots=True)
class _Held:
    """An envelope as the vendor really holds it."""

    envelope: Envelope
    created_at: datetime


@dataclass(frozen=True, slots=True)
class _InFlight:
    lands_at: datetime
    envelope_id: str
    call: int


class FakeESign:
    """Implements `ports.ESignGateway`.

    Attributes:
        effects: What really happened, in the order in which it happened.
        sends: Envelope id of every send call, whatever became of it.
        lost_create_replies: How many of the next drafts are created without an answer.
        signs_after: How long after the effect the recipients have signed; None: never.
        ends_as: What the vendor shows instead of signed, for example DECLINED.
        odd_reads: Until when every read is answered with an HTML page.
        history: What the activity log says, or None to say what is true.
    """

    def __init__(
        self,
        clock: Clock,
        behaviour: Behaviour = Behaviour.NORMAL,
        second_send: SecondSend = SecondSend.REFUSES,
    ) -> None:
        """Start with no envelopes.

        Args:
            clock: Decides when late requests land and when people have signed.
            behaviour: How sends are treated.
            second_send: What a second send of a sent envelope does.
        """
        self.behaviour = behaviour
        self.second_send = second_send
        self.effects: list[Effect] = []
        self.sends: list[str] = []
        self.lost_create_replies = 0
        self.signs_after: timedelta | None = timedelta(minutes=5)
        self.ends_as = EnvelopeStatus.SIGNED
        self.odd_reads: datetime | None = None
        self.history: ActivityHistory | None = None
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._in_flight: list[_InFlight] = []

    def create_draft(self, draft: EnvelopeDraft, document: bytes) -> str:  # noqa: ARG002
        """Create a draft; nobody is contacted.

        Raises:
            InDoubtError: It was created and the answer was lost.
        """
        envelope_id = str(1001 + len(self._held))
        self.add_draft(envelope_id, draft)
        if self.lost_create_replies:
            self.lost_create_replies -= 1
            raise InDoubtError("the draft may exist")
        return envelope_id

    def add_draft(self, envelope_id: str, draft: EnvelopeDraft) -> None:
        """Hold a draft under an id, as one that somebody else made or that came late."""
        parties = tuple(
            EnvelopeRecipient(one.name, one.email, one.order) for one in draft.recipients
        )
        envelope = Envelope(envelope_id, draft.name, EnvelopeStatus.DRAFT, "", None, parties, 1)
        self._held[envelope_id] = _Held(envelope, self._clock.now())

    def find_envelopes(self, first: date, last: date, status: str | None = None) -> tuple[str, ...]:
        """Return envelope ids created in these days, lowest first."""
        return tuple(
            envelope_id
            for envelope_id, held in sorted(self._held.items())
            if first <= held.created_at.date() <= last
            and (status is None or self.truth(envelope_id).status == status)
        )

    def send_draft(self, envelope_id: str) -> SendAnswer:
        """Send the draft, or do what the behaviour says.

        Raises:
            InDoubtError: It may have taken effect.
            NothingSentError: No request left.
        """
        self.land()
        self.sends.append(envelope_id)
        call = len(self.sends)
        first = call == 1 or self.behaviour in _EVERY_SEND
        match self.behaviour if first else Behaviour.NORMAL:
            case Behaviour.NORMAL | Behaviour.LAGS | Behaviour.UNKNOWN_STATUS:
                return self._effect(envelope_id, call)
            case Behaviour.REPLY_LOST | Behaviour.BAD_GATEWAY:
                self._effect(envelope_id, call)
            case Behaviour.REFUSED:
                return SendAnswer.REFUSED
            case Behaviour.CLAIMED:
                return SendAnswer.ACCEPTED
            case Behaviour.NOT_SENT:
                raise NothingSentError("the connection was refused")
            case Behaviour.LANDS_WITHIN:
                self._fly(envelope_id, call, LANDS_WITHIN)
            case Behaviour.LANDS_BEYOND:
                self._fly(envelope_id, call, LANDS_BEYOND)
            case Behaviour.HTML:
                self.odd_reads = self._clock.now() + PAGE_TIME
            case Behaviour.REQUEST_LOST | Behaviour.ALWAYS_LOST:
                pass
        raise InDoubtError("the send has no usable answer")

    def read_envelope(self, envelope_id: str) -> Envelope:
        """Show an envelope as the behaviour has it.

        Raises:
            TransientError: There is no such envelope, or no answer.
            VendorContractError: The answer is an HTML page.
        """
        self.land()
        now = self._clock.now()
        if self.odd_reads is not None and now < self.odd_reads:
            raise VendorContractError("an HTML page came back")
        envelope = self.truth(envelope_id)
        if envelope.sent_at is None:
            return envelope
        if self.behaviour is Behaviour.LAGS and now < envelope.sent_at + STATUS_LAG:
            return self._held[envelope_id].envelope
        if self.behaviour is Behaviour.UNKNOWN_STATUS and now < envelope.sent_at + UNKNOWN_FOR:
            return replace(envelope, status=EnvelopeStatus.UNKNOWN, sent_at=None)
        return envelope

    def activity_history(self, envelope_id: str) -> ActivityHistory:
        """Say whether the envelope was shared; as late as the status where that one lags."""
        if self.history is not None:
            return self.history
        if self.behaviour is Behaviour.UNKNOWN_STATUS:
            return ActivityHistory.UNKNOWN
        shown = self.read_envelope(envelope_id)
        return ActivityHistory.NOT_SHARED if shown.sent_at is None else ActivityHistory.SHARED

    def download_signed(self, envelope_id: str) -> SignedDocument:
        """Return the signed document.

        Raises:
            TransientError: It is not signed yet.
        """
        if self.truth(envelope_id).status is not EnvelopeStatus.SIGNED:
            raise TransientError("the envelope is not executed yet")
        return SignedDocument(b"%PDF-1.7 signed " + envelope_id.encode("ascii"), None)

    def cancel(self, envelope_id: str, reason: str) -> None:  # noqa: ARG002
        """Void a sent envelope.

        Raises:
            VendorRefusedError: It was never sent.
        """
        if self.truth(envelope_id).sent_at is None:
            raise VendorRefusedError("only a sent envelope can be cancelled")
        self.ends_as, self.signs_after = EnvelopeStatus.CANCELLED, timedelta(0)

    def truth(self, envelope_id: str) -> Envelope:
        """Return what is really so, whatever the vendor would show.

        Raises:
            TransientError: There is no such envelope.
        """
        self.land()
        held = self._held.get(envelope_id)
        if held is None:
            raise TransientError("there is no such envelope")
        sent_at = next((one.at for one in self.effects if one.envelope_id == envelope_id), None)
        if sent_at is None:
            return held.envelope
        ended = self.signs_after is not None and self._clock.now() >= sent_at + self.signs_after
        status = self.ends_as if ended else EnvelopeStatus.SENT
        return replace(held.envelope, status=status, sent_at=sent_at)

    def land(self, *, everything: bool = False) -> None:
        """Let late requests take effect whose time has come.

        Args:
            everything: Also those whose time has not come, as after a very long wait.
        """
        now = self._clock.now()
        landed = [one for one in self._in_flight if everything or one.lands_at <= now]
        self._in_flight = [one for one in self._in_flight if one not in landed]
        for one in sorted(landed, key=lambda flying: flying.lands_at):
            self._effect(one.envelope_id, one.call, at=one.lands_at)

    def send_by_hand(self, envelope_id: str) -> None:
        """Send an envelope at the vendor's own website, past the gate."""
        self._effect(envelope_id, 0)

    def change(self, envelope_id: str, **facts: object) -> None:
        """Change what the vendor holds of an envelope, as somebody with its password could."""
        held = self._held[envelope_id]
        changed = replace(held.envelope, **facts)  # type: ignore[arg-type]  # any field of it
        self._held[envelope_id] = replace(held, envelope=changed)

    def _fly(self, envelope_id: str, call: int, after: timedelta) -> None:
        self._in_flight.append(_InFlight(self._clock.now() + after, envelope_id, call))

    def _effect(self, envelope_id: str, call: int, *, at: datetime | None = None) -> SendAnswer:
        sent = any(one.envelope_id == envelope_id for one in self.effects)
        if sent and self.second_send is SecondSend.REFUSES:
            return SendAnswer.REFUSED
        self.effects.append(Effect(envelope_id, at or self._clock.now(), call))
        return SendAnswer.ACCEPTED
