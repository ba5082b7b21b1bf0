"""Command that turns labelled answers into floors with evidence: calibrate.

A folder holds, for each labelled document NAME::

    NAME.truth.json          what the document says, in the shape of the answer's data
    NAME.response.json       an answer of the extraction service, as received
    NAME.MORE.response.json  further answers about the same document; it is still one document
    NAME.pdf, NAME.parse.json, NAME.compare.json      what lets witnesses speak; optional

and schema.json, the schema that the answers were asked with.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from no_undo.cli.extraction import Beside, member, mode_of, witnesses
from no_undo.cli.files import read_bytes, read_json, read_object, write_bytes
from no_undo.cli.output import Exit, show, tell
from no_undo.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from no_undo.domain.calibration import Trial
    from no_undo.domain.field_routing import ExtractedField, WitnessResult
    from no_undo.domain.floors import Floors

_TRUTH = ".truth.json"
_RESPONSE = ".response.json"
_AGREEMENT = 1e-6


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the command about calibration."""
    calibrate = commands.add_parser(
        "calibrate",
        help="error bound from labelled answers, and floors with their evidence; 1: the evidence "
        "does not carry automatic acceptance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    calibrate.add_argument("folder", type=Path, help="labelled answers")
    calibrate.add_argument("--document-type", default="invoice", help="which floors to calibrate")
    calibrate.add_argument(
        "--error-limit", type=float, default=0.05, help="largest accepted rate of wrong documents"
    )
    calibrate.add_argument("--provenance", default="", help="who labelled the documents, and how")
    what = calibrate.add_mutually_exclusive_group()
    what.add_argument(
        "--output", type=Path, help="thresholds document to write (default FOLDER/thresholds.json)"
    )
    what.add_argument(
        "--check", type=Path, help="write nothing; 0: this document follows from the labels"
    )
    calibrate.set_defaults(run=run_calibrate)


def run_calibrate(options: argparse.Namespace) -> Exit:
    """Count wrong documents along the sequence and write what they carry, no more.

    Raises:
        InvalidRequestError: There is nothing labelled, or the labels do not fit together.
    """
    from no_undo.domain.calibration import tried  # noqa: PLC0415 - only this command
    from no_undo.domain.floors import LARGEST_ERROR_LIMIT, floors_for  # noqa: PLC0415

    if not 0 < options.error_limit <= LARGEST_ERROR_LIMIT:
        raise InvalidRequestError(f"--error-limit must be over 0, at most {LARGEST_ERROR_LIMIT:g}")
    labelled = _Labelled.read(options.folder)
    built_in = floors_for(options.document_type)
    floors = replace(built_in, document_type=options.document_type, error_limit=options.error_limit)
    looked, supported = tried(labelled.trials(floors), options.error_limit)
    row = _row(floors, supported or looked[0], labelled, options)
    show(_report(row, looked, labelled) | {"supported": supported is not None})
    if options.check:
        return _check(row, read_json(options.check))
    _write(options.output or options.folder / "thresholds.json", row)
    return Exit.YES if supported and supported.automatic_documents else Exit.NO


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer, walked, with everything its witnesses say; floors can still change."""

    fingerprint: str
    fields: tuple[ExtractedField, ...]
    says: Mapping[str, tuple[WitnessResult, ...]]

    def automatic(self, floors: Floors) -> Iterator[ExtractedField]:
        from no_undo.domain.field_routing import FieldRoute, route_field  # noqa: PLC0415

        for field in self.fields:
            if route_field(field, floors, self.says[field.path]).route is FieldRoute.AUTO:
                yield field


@dataclass(frozen=True)
class _Document:
    """One labelled document: what is true, and every answer about it."""

    truth: Mapping[str, ExtractedField]
    answers: tuple[_Answer, ...]

    def is_automatic(self, floors: Floors) -> bool:
        return any(True for answer in self.answers for _ in answer.automatic(floors))

    def is_wrong(self, floors: Floors) -> bool:
        """Say whether any answer has an automatic value that is not the truth."""
        return any(
            not self._is_true(field)
            for answer in self.answers
            for field in answer.automatic(floors)
        )

    def _is_true(self, field: ExtractedField) -> bool:
        from no_undo.domain.field_witnesses import same_value  # noqa: PLC0415

        known = self.truth.get(field.path)
        return known is not None and same_value(known.value, field.value)


@dataclass(frozen=True)
class _Labelled:
    """Every labelled document of a folder, and the digest of all files that were read."""

    documents: tuple[_Document, ...]
    evidence: str

    @classmethod
    def read(cls, folder: Path) -> _Labelled:
        """Read a folder.

        Raises:
            InvalidRequestError: Nothing labelled, an answer without truth or the other way round.
        """
        files = _Files(folder)
        truths = sorted(path for path in folder.glob(f"*{_TRUTH}"))
        if not truths:
            raise InvalidRequestError(
                f"{folder} holds no NAME{_TRUTH}; without labelled documents nothing is claimed"
            )
        names = [path.name.removesuffix(_TRUTH) for path in truths]
        unlabelled = [
            path.name
            for path in sorted(folder.glob(f"*{_RESPONSE}"))
            if not any(path.name.startswith(f"{name}.") for name in names)
        ]
        if unlabelled:
            raise InvalidRequestError(f"{unlabelled[0]} has no NAME{_TRUTH}")
        documents = tuple(_document(files, name) for name in names)
        return cls(documents, files.digest())

    @cached_property
    def fingerprint(self) -> str:
        """The engine of all answers.

        Raises:
            InvalidRequestError: They are of several engines.
        """
        from no_undo.domain.calibration import joined  # noqa: PLC0415

        seen = [answer.fingerprint for one in self.documents for answer in one.answers]
        fingerprint = joined(seen)
        if fingerprint is None:
            raise InvalidRequestError(
                f"the answers are of {len(set(seen))} engines or modes; calibrate one at a time"
            )
        return fingerprint

    def trials(self, floors: Floors) -> list[Trial]:
        """Count along the sequence."""
        from no_undo.domain.calibration import SEQUENCE, Trial  # noqa: PLC0415

        candidates = [(floor, replace(floors, recognition=floor)) for floor in SEQUENCE]
        return [
            Trial(
                recognition=floor,
                automatic_documents=sum(one.is_automatic(row) for one in self.documents),
                wrong_documents=sum(one.is_wrong(row) for one in self.documents),
                documents=len(self.documents),
            )
            for floor, row in candidates
        ]


class _Files:
    """Reads files of one folder and remembers what was in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests: dict[str, str] = {}

    def path(self, name: str) -> Path:
        """Return a file's path and remember its content."""
        path = self.folder / name
        self._digests[name] = hashlib.sha256(read_bytes(path)).hexdigest()
        return path

    def optional(self, name: str) -> Path | None:
        """Return a file's path, None where there is no such file."""
        return self.path(name) if (self.folder / name).is_file() else None

    def digest(self) -> str:
        """Return one SHA-256 over the names and contents of everything read."""
        lines = [f"{name}\0{digest}\n" for name, digest in sorted(self._digests.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def _document(files: _Files, name: str) -> _Document:
    from no_undo.domain.field_routing import extracted_fields  # noqa: PLC0415

    schema = read_object(files.path("schema.json"))
    truth = extracted_fields(read_object(files.path(f"{name}{_TRUTH}")), {}, schema)
    first = [f"{name}{_RESPONSE}"] if (files.folder / f"{name}{_RESPONSE}").is_file() else []
    more = [path.name for path in sorted(files.folder.glob(f"{name}.*{_RESPONSE}"))]
    if not first + more:
        raise InvalidRequestError(f"{name}{_TRUTH} has no {name}{_RESPONSE}")
    beside = Beside(
        document=files.optional(f"{name}.pdf"),
        parse=files.optional(f"{name}.parse.json"),
        compare=files.optional(f"{name}.compare.json"),
    )
    answers = tuple(_answer(files.path(one), beside, schema) for one in first + more)
    return _Document({field.path: field for field in truth}, answers)


def _answer(path: Path, beside: Beside, schema: Mapping[str, object]) -> _Answer:
    from no_undo.adapters.nutrient_fingerprint import response_fingerprint  # noqa: PLC0415
    from no_undo.domain.field_routing import extracted_fields, heard  # noqa: PLC0415
    from no_undo.domain.floors import floors_for  # noqa: PLC0415

    body = read_object(path)
    output = member(body, "output")
    fields = extracted_fields(member(output, "data"), member(output, "metadata"), schema)
    mode = mode_of(body)
    floors = floors_for("default")  # witnesses use its own-words floor alone, the same in all rows
    return _Answer(
        response_fingerprint(body, mode=mode),
        fields,
        heard(fields, list(witnesses(mode, beside, floors))),
    )


def _row(floors: Floors, trial: Trial, labelled: _Labelled, options: argparse.Namespace) -> Floors:
    from no_undo.domain.calibration import Calibration  # noqa: PLC0415

    today = datetime.now(UTC).date()
    documents = len(labelled.documents)
    return replace(
        floors,
        recognition=trial.recognition,
        provenance=options.provenance or f"{documents} labelled documents, {today.isoformat()}.",
        calibration=Calibration(
            fingerprint=labelled.fingerprint,
            on=today,
            documents=documents,
            wrong_documents=trial.wrong_documents,
            evidence=labelled.evidence,
        ),
    )


def _report(row: Floors, looked: Sequence[Trial], labelled: _Labelled) -> dict[str, Any]:
    return {
        "document_type": row.document_type,
        "fingerprint": labelled.fingerprint,
        "documents": len(labelled.documents),
        "error_limit": row.error_limit,
        "sequence": [
            {
                "recognition": trial.recognition,
                "automatic_documents": trial.automatic_documents,
                "wrong_documents": trial.wrong_documents,
                "bound": round(_bound(trial.wrong_documents, trial.documents), 6),
            }
            for trial in looked
        ],
        "recognition": row.recognition,
        "sentence": row.calibration.sentence() if row.calibration else "",
        "evidence": labelled.evidence,
    }


def _bound(wrong: int, documents: int) -> float:
    """Return the Clopper-Pearson bound as SciPy works it out, once it is the product's own.

    The functions of a deployment have no SciPy and decide with `calibration.upper_bound`; the two
    must say the same before anything is written for them.
    """
    from scipy.stats import beta  # noqa: PLC0415 - an extra of the command line

    from no_undo.domain.calibration import upper_bound  # noqa: PLC0415

    bound = 1.0 if wrong == documents else float(beta.ppf(0.95, wrong + 1, documents - wrong))
    if abs(bound - upper_bound(wrong, documents)) > _AGREEMENT:
        raise InvalidRequestError("two computations of the error bound differ; nothing is claimed")
    return bound


def _check(row: Floors, document: object) -> Exit:
    """Compare a thresholds document with what the labels say; the day may differ."""
    from no_undo.domain.floors import parse_thresholds  # noqa: PLC0415

    deployed = parse_thresholds(document).get(row.document_type)
    same = deployed is not None and _facts(deployed) == _facts(row)
    tell("the document follows from the labels" if same else "the document says something else")
    return Exit.YES if same else Exit.NO


def _facts(row: Floors) -> Floors:
    evidence = row.calibration and replace(row.calibration, on=date.min)
    return replace(row, provenance="", calibration=evidence)


def _write(path: Path, row: Floors) -> None:
    from no_undo.domain.floors import NONE_DEPLOYED, as_document, parse_thresholds  # noqa: PLC0415

    others = parse_thresholds(read_json(path) if path.is_file() else NONE_DEPLOYED)
    write_bytes(path, as_document({**others, row.document_type: row}).encode())
    tell(f"wrote {path}")
