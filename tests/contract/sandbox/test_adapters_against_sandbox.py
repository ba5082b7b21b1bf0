"""The product's adapters over real sockets, against the sandbox, honest and lying."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, timedelta

import pytest

from local.sandbox.state import Credentials
from no_undo.adapters.foxit_esign import FoxitESignGateway
from no_undo.adapters.foxit_pdf_services import FoxitPdfServices
from no_undo.domain.envelope import ActivityHistory, EnvelopeRecipient, EnvelopeStatus, SendAnswer
from no_undo.domain.errors import (
    InDoubtError,
    NothingSentError,
    NoUndoError,
    TransientError,
    VendorContractError,
    VendorRefusedError,
)
from no_undo.domain.recipients import Recipient
from no_undo.ports import EnvelopeDraft
from tests.contract.replay import SteppingClock
from tests.contract.sandbox.running import RunningSandbox, tagged_html, two_party_pdf

ALICE = Recipient("Alice Smith", "alice@example.com", 1)
BOB = Recipient("Bob Łuk", "bob@example.com", 2)
DRAFT = EnvelopeDraft("Freight Invoice [plan 1]", "Freight Invoice.pdf", (ALICE, BOB))


class LeapingClock(SteppingClock):
    """A clock that moves the sandbox's time on instead of waiting."""

    def __init__(self, sandbox: RunningSandbox) -> None:
        super().__init__()
        self._sandbox = sandbox

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._sandbox.clock.advance(seconds)


def gateway(sandbox: RunningSandbox, *, timeout_seconds: float = 10.0) -> FoxitESignGateway:
    credentials = Credentials()
    return FoxitESignGateway(
        sandbox.url,
        credentials.client_id,
        credentials.client_secret,
        timeout_seconds=timeout_seconds,
    )


def pdf_services(sandbox: RunningSandbox) -> FoxitPdfServices:
    credentials = Credentials()
    return FoxitPdfServices(
        sandbox.url,
        credentials.client_id,
        credentials.client_secret,
        clock=LeapingClock(sandbox),
        timeout_seconds=10.0,
    )


def drafted(sandbox: RunningSandbox) -> str:
    return gateway(sandbox).create_draft(DRAFT, two_party_pdf())


def today(sandbox: RunningSandbox) -> date:
    return datetime.fromtimestamp(sandbox.clock(), UTC).date()


# eSign


def test_a_draft_is_read_back_as_it_was_made(sandbox: RunningSandbox) -> None:
    envelope_id = drafted(sandbox)

    envelope = gateway(sandbox).read_envelope(envelope_id)

    assert envelope.status is EnvelopeStatus.DRAFT
    assert envelope.name == DRAFT.name
    assert envelope.sent_at is None
    assert envelope.document_count == 1
    assert envelope.recipients == (
        EnvelopeRecipient("Alice Smith", "alice@example.com", 1),
        EnvelopeRecipient("Bob Łuk", "bob@example.com", 2),
    )
    assert gateway(sandbox).activity_history(envelope_id) is ActivityHistory.NOT_SHARED
    assert sandbox.sends(int(envelope_id)) == 0


def test_a_draft_is_found_by_its_day_and_status(sandbox: RunningSandbox) -> None:
    envelope_id = drafted(sandbox)
    day, around = today(sandbox), timedelta(days=1)

    found = gateway(sandbox).find_envelopes(day - around, day + around, "DRAFT")

    assert envelope_id in found
    assert envelope_id not in gateway(sandbox).find_envelopes(day - around, day + around, "SENT")


def test_a_send_is_accepted_and_seen_by_both_oracles(sandbox: RunningSandbox) -> None:
    envelope_id = drafted(sandbox)

    answer = gateway(sandbox).send_draft(envelope_id)

    envelope = gateway(sandbox).read_envelope(envelope_id)
    assert answer is SendAnswer.ACCEPTED
    assert envelope.status is EnvelopeStatus.SENT
    assert envelope.sent_at is not None
    assert gateway(sandbox).activity_history(envelope_id) is ActivityHistory.SHARED
    assert sandbox.sends(int(envelope_id)) == 1


@pytest.mark.parametrize(
    ("behaviour", "error", "sends"),
    [
        ("accept_and_drop", InDoubtError, 1),
        ("drop_without_effect", InDoubtError, 0),
        ("accept_and_502", InDoubtError, 1),
        ("502_without_effect", InDoubtError, 0),
        ("html_200", InDoubtError, 0),
        ("html_200_with_effect", InDoubtError, 1),
        ("wrong_shape", InDoubtError, 0),
        ("wrong_shape_with_effect", InDoubtError, 1),
        ("edge_refusal", NothingSentError, 0),
    ],
)
def test_a_lying_send_is_one_request_and_never_taken_for_an_answer(
    sandbox: RunningSandbox, behaviour: str, error: type[NoUndoError], sends: int
) -> None:
    envelope_id = drafted(sandbox)
    sandbox.arm("sendDraftFolder", behaviour, times=None)

    with pytest.raises(error):
        gateway(sandbox).send_draft(envelope_id)

    assert sandbox.sends(int(envelope_id)) == sends


@pytest.mark.parametrize(
    ("behaviour", "answer", "sends"),
    [
        ("error_result_with_effect", SendAnswer.REFUSED, 1),
        ("success_without_effect", SendAnswer.ACCEPTED, 0),
        ("throttled", SendAnswer.REFUSED, 0),
    ],
)
def test_the_answer_to_a_send_is_evidence_and_no_proof(
    sandbox: RunningSandbox, behaviour: str, answer: SendAnswer, sends: int
) -> None:
    envelope_id = drafted(sandbox)
    sandbox.arm("sendDraftFolder", behaviour)

    assert gateway(sandbox).send_draft(envelope_id) is answer
    assert sandbox.sends(int(envelope_id)) == sends


def test_a_send_that_is_never_answered_is_in_doubt(sandbox: RunningSandbox) -> None:
    envelope_id = drafted(sandbox)
    sandbox.arm("sendDraftFolder", "late_effect_silent", seconds=30)

    with pytest.raises(InDoubtError, match="ReadTimeout"):
        gateway(sandbox, timeout_seconds=0.3).send_draft(envelope_id)


def test_a_send_to_nobody_listening_did_not_leave(sandbox: RunningSandbox) -> None:
    nobody = FoxitESignGateway("http://127.0.0.1:1", "client", "secret")

    with pytest.raises(NothingSentError, match="ConnectError"):
        nobody.send_draft(drafted(sandbox))


def test_a_send_without_a_signature_field_is_refused(sandbox: RunningSandbox) -> None:
    draft = EnvelopeDraft("one tag", "a.pdf", (ALICE, BOB, Recipient("Carol", "c@example.com", 3)))
    envelope_id = gateway(sandbox).create_draft(draft, two_party_pdf())

    assert gateway(sandbox).send_draft(envelope_id) is SendAnswer.REFUSED
    assert gateway(sandbox).read_envelope(envelope_id).status is EnvelopeStatus.DRAFT


def test_an_unknown_status_is_unknown(sandbox: RunningSandbox) -> None:
    envelope_id = drafted(sandbox)
    sandbox.arm("myfolder", "unknown_status", status_text="IN_PROGRESS")

    envelope = gateway(sandbox).read_envelope(envelope_id)

    assert (envelope.status, envelope.vendor_status) == (EnvelopeStatus.UNKNOWN, "IN_PROGRESS")


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("drop_without_effect", TransientError),
        ("502_without_effect", TransientError),
        ("throttled", TransientError),
        ("edge_refusal", TransientError),
        ("html_200", VendorContractError),
        ("wrong_shape", VendorContractError),
    ],
)
def test_a_lying_read_is_never_a_draft(
    sandbox: RunningSandbox, behaviour: str, error: type[NoUndoError]
) -> None:
    envelope_id = drafted(sandbox)
    sandbox.arm("myfolder", behaviour)

    with pytest.raises(error):
        gateway(sandbox).read_envelope(envelope_id)


def test_a_signed_envelope_is_downloaded_with_its_certificate(sandbox: RunningSandbox) -> None:
    envelope_id = drafted(sandbox)
    gateway(sandbox).send_draft(envelope_id)
    with pytest.raises(TransientError, match="not executed"):
        gateway(sandbox).download_signed(envelope_id)
    sandbox.sign(int(envelope_id))

    signed = gateway(sandbox).download_signed(envelope_id)

    assert gateway(sandbox).read_envelope(envelope_id).status is EnvelopeStatus.SIGNED
    assert signed.pdf.startswith(b"%PDF")
    assert signed.certificate is not None
    assert signed.certificate.startswith(b"%PDF")
    assert signed.certificate != signed.pdf


def test_a_sent_envelope_can_be_voided_and_a_draft_cannot(sandbox: RunningSandbox) -> None:
    draft_id, sent_id = drafted(sandbox), drafted(sandbox)
    gateway(sandbox).send_draft(sent_id)

    gateway(sandbox).cancel(sent_id, "wrong address")

    assert gateway(sandbox).read_envelope(sent_id).status is EnvelopeStatus.CANCELLED
    with pytest.raises(VendorRefusedError):
        gateway(sandbox).cancel(draft_id, "wrong address")


def test_wrong_credentials_are_refused(sandbox: RunningSandbox) -> None:
    stranger = FoxitESignGateway(sandbox.url, "stranger", "wrong-secret")

    with pytest.raises(VendorRefusedError, match="key"):
        stranger.create_draft(DRAFT, two_party_pdf())


# PDF Services


def test_a_page_is_rendered_and_nothing_stays_stored(sandbox: RunningSandbox) -> None:
    pdf = pdf_services(sandbox).render_html(tagged_html(1, 2), name="Freight Invoice")

    assert pdf.startswith(b"%PDF")
    documents = sandbox.control("GET", "/documents")
    assert (documents["stored"], documents["deleted"]) == (0, 2)


@pytest.mark.parametrize("behaviour", ["502_without_effect", "throttled"])
def test_a_throttled_download_succeeds_later(sandbox: RunningSandbox, behaviour: str) -> None:
    sandbox.arm("pdf/download", behaviour, times=2)

    assert pdf_services(sandbox).render_html(tagged_html(1), name="a").startswith(b"%PDF")


@pytest.mark.parametrize(
    ("route", "behaviour", "error"),
    [
        ("pdf/task", "task_fails", VendorRefusedError),
        ("pdf/task", "task_never_ends", TransientError),
        ("pdf/task", "no_result_document", VendorContractError),
        ("pdf/download", "html_200", VendorContractError),
        ("pdf/upload", "502_without_effect", TransientError),
    ],
)
def test_a_failing_conversion_says_what_to_do_and_leaves_no_upload(
    sandbox: RunningSandbox, route: str, behaviour: str, error: type[NoUndoError]
) -> None:
    sandbox.arm(route, behaviour, times=None)

    with pytest.raises(error):
        pdf_services(sandbox).render_html(tagged_html(1), name="a")

    kept = sandbox.control("GET", "/documents")["documents"]
    assert all(item["deleted"] for item in kept if item["kind"] == "uploaded")


def test_a_deletion_that_fails_is_only_reported(
    sandbox: RunningSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    sandbox.arm("pdf/delete", "502_without_effect", times=1)

    with caplog.at_level(logging.WARNING):
        pdf = pdf_services(sandbox).render_html(tagged_html(1), name="a")

    assert pdf.startswith(b"%PDF")
    assert "stays stored" in caplog.text
