"""What the redaction service is told to remove: asked for or detected, minus what stays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from no_undo.adapters.pii_validators import PatternPiiDetector
from no_undo.domain.documents import DocumentRef
from no_undo.domain.recipients import Recipient
from no_undo.domain.redaction import RedactionTarget, TargetType
from no_undo.domain.request import Request, Source
from no_undo.ports import PageText, TextReading
from no_undo.use_cases.detection import Detection
from no_undo.use_cases.redact_document import Redaction, values_to_remove

TEXT = "Call (201) 555-0142 or (718) 555-0197, write to ap@lindstrom-transport.example"
PHONES = RedactionTarget(TargetType.KIND, "phone", "phone")


@dataclass(frozen=True)
class Readers:
    text: str = TEXT

    def read(self, document: bytes) -> tuple[TextReading, ...]:
        del document
        return (TextReading("eyes", (PageText(0, self.text),)),)


REDACTION = Redaction(None, Detection(Readers(), PatternPiiDetector()))


def asking(*targets: RedactionTarget, keep: tuple[str, ...] = ()) -> Request:
    return Request(
        request_id="r1",
        tenant="acme",
        caller="carol",
        caller_email="",
        prompt="Redact and send.",
        source=Source.UPLOAD,
        source_document=DocumentRef("", "", ""),
        created_at=datetime(2026, 9, 1, tzinfo=UTC),
        recipients=(Recipient("Alice Smith", "alice@example.com", 1),),
        redaction=targets,
        redact_keep=keep,
    )


def removed(request: Request) -> list[str]:
    return sorted(values_to_remove(request, b"", REDACTION))


def test_detected_values_of_the_kinds_asked_for_are_removed_and_others_are_not() -> None:
    assert removed(asking(PHONES)) == ["(201) 555-0142", "(718) 555-0197"]


def test_what_the_request_keeps_is_not_removed_however_it_is_written() -> None:
    assert removed(asking(PHONES, keep=("201-555-0142",))) == ["(718) 555-0197"]


def test_a_recipients_own_name_stays_also_when_it_is_listed() -> None:
    named = RedactionTarget(TargetType.LITERAL, "ALICE SMITH", "literal")
    other = RedactionTarget(TargetType.LITERAL, "Marcus Webb", "literal")

    assert removed(asking(named, other)) == ["Marcus Webb"]
