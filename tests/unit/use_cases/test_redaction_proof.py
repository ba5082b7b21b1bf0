"""What blocks, what is shown, what is kept: `domain/redaction.py` 11 and 12."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.redaction import (
    EVALUATION_NOTICE,
    ChannelResult,
    ChannelVerdict,
    OnResidual,
    alike,
)
from no_undo.ports import PageText, TextReading
from no_undo.use_cases.detection import Detection
from no_undo.use_cases.redaction_proof import (
    NOTICE_ACCEPTED,
    ONLY_OCR,
    OWN_VIN_RULE,
    Proof,
    Proving,
    Removal,
    prove,
    verdict_document,
)

IBAN = "GB33 BUKB 2020 1555 5555 55"
PAGE = f"Pay to {IBAN}. Passport no. X1234567."
GONE = ChannelVerdict("page_text", "eyes", ChannelResult.GONE, "nothing")
NOTICE = ChannelVerdict(EVALUATION_NOTICE, "eyes", ChannelResult.FOUND, "on one page", (1,))


@dataclass(frozen=True)
class Verifier:
    rows: tuple[ChannelVerdict, ...] = (GONE,)

    def verify(
        self, before: bytes, after: bytes, values: Mapping[str, str], *, signature_fields: int
    ) -> tuple[ChannelVerdict, ...]:
        del before, after, values, signature_fields
        return self.rows


@dataclass(frozen=True)
class Readers:
    readings: tuple[TextReading, ...]

    def read(self, document: bytes) -> tuple[TextReading, ...]:
        del document
        return self.readings


def proved(  # noqa: PLR0913 - one keyword per fact of the case
    text: str = PAGE,
    *,
    asked: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
    on_residual: OnResidual | None = None,
    readings: tuple[TextReading, ...] = (),
    rows: tuple[ChannelVerdict, ...] = (GONE,),
    accepted: bool = False,
    values: Mapping[str, str] | None = None,
) -> Proof:
    seen = readings or (TextReading("eyes", (PageText(0, text),)),)
    detection = Detection(Readers(seen), PatternPiiDetector())
    removal = Removal(
        values={"m@example.com": "email"} if values is None else values,
        asked=frozenset(asked),
        kept=frozenset(map(alike, kept)),
        on_residual=on_residual,
    )
    return prove(b"", b"", removal, Proving(Verifier(rows), detection, accepted))


def test_an_iban_and_a_passport_number_that_nobody_listed_are_shown_and_do_not_block() -> None:
    proof = proved(asked=("email",))

    assert proof.verdict.proven
    assert proof.left == {("iban", 1): 1, ("passport", 1): 1}


def test_what_is_left_of_a_kind_that_was_asked_for_blocks_by_default() -> None:
    proof = proved(asked=("iban",))

    (row,) = [one for one in proof.verdict.channels if one.result is ChannelResult.FOUND]
    assert (row.channel, row.detail, row.pages) == ("detector", "still found: iban", (1,))


@pytest.mark.parametrize(
    ("wish", "asked", "proven"),
    [
        (OnResidual.BLOCK, (), False),
        (OnResidual.SHOW, ("iban",), True),
        (None, ("iban",), False),
        (None, ("email",), True),
    ],
)
def test_a_request_may_block_always_or_only_show(
    wish: OnResidual | None, asked: tuple[str, ...], *, proven: bool
) -> None:
    assert proved(asked=asked, on_residual=wish).verdict.proven is proven


def test_what_only_shows_is_on_the_card_all_the_same() -> None:
    assert ("iban", 1) in proved(asked=("iban",), on_residual=OnResidual.SHOW).left


def test_what_the_request_keeps_neither_blocks_nor_counts_as_left() -> None:
    proof = proved(asked=("iban",), kept=("GB33BUKB20201555555555",))

    assert proof.verdict.proven
    assert proof.left == {("passport", 1): 1}
    assert proof.kept == {"iban": 1}


def test_a_value_that_two_readers_see_counts_once() -> None:
    pages = (PageText(0, PAGE),)

    proof = proved(readings=(TextReading("one", pages), TextReading("two", pages)))

    assert set(proof.left.values()) == {1}


def test_a_value_that_ocr_reads_with_a_look_alike_counts_once() -> None:
    misread = PAGE.replace("X1234567", "XI234567")
    readings = (
        TextReading("text", (PageText(0, PAGE),)),
        TextReading("ocr", (PageText(0, misread),), by_ocr=True),
    )

    assert proved(readings=readings).left == {("iban", 1): 1, ("passport", 1): 1}


@pytest.mark.parametrize(
    "reading",
    [
        TextReading("text", failure="the PDF reader ran out of memory"),
        TextReading("none", unread=(2,), by_ocr=True),
    ],
)
def test_a_reader_that_did_not_read_proves_nothing(reading: TextReading) -> None:
    proof = proved(readings=(TextReading("eyes", (PageText(0, "plain"),)), reading))

    assert not proof.verdict.proven


def test_an_evaluation_notice_stops_the_run_unless_the_deployment_accepts_it() -> None:
    assert not proved(rows=(GONE, NOTICE)).verdict.proven

    accepted = proved(rows=(GONE, NOTICE), accepted=True)
    assert accepted.verdict.proven
    assert NOTICE_ACCEPTED in accepted.warnings


def test_the_card_says_that_vins_were_not_left_to_the_services_own_rule() -> None:
    assert OWN_VIN_RULE in proved(values={"1HGCM82633A004352": "vin"}).warnings
    assert OWN_VIN_RULE not in proved().warnings


def test_the_card_says_where_only_ocr_looked() -> None:
    scanned = TextReading("ocr", (PageText(0, "paid in full"),), by_ocr=True)

    assert ONLY_OCR in proved(readings=(scanned,)).warnings
    assert ONLY_OCR not in proved().warnings


def test_the_evidence_names_channels_readers_pages_and_kinds_and_no_value() -> None:
    removal = Removal(values={"m@example.com": "email"}, asked=frozenset({"iban"}))

    told = verdict_document(proved(asked=("iban",)), removal)

    assert told["proven"] is False
    assert told["removed"] == {"email": 1}
    assert {"channel", "reader", "result", "detail", "pages", "warning"} == set(told["channels"][0])
    assert "GB33" not in str(told)
    assert "example.com" not in str(told)
