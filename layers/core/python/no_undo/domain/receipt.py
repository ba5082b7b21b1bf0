"""A receipt: everything about one request, in one file that verifies from its own contents.

Rules:
1. A receipt holds every line of the request's chain up to an ending, exactly as stored. The lines
   prove each other by their hashes, so one inclusion proof for the last one covers all of them.
2. The proof leads from the last line to the root of a checkpoint, whose signed note is in the file.
3. What the receipt says in words is computed from the lines. Whoever verifies it computes it again;
   a statement that the lines do not carry does not verify.
4. A receipt has one byte form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from no_undo.domain.audit_chain import ChainHead, follow, record_of
from no_undo.domain.audit_export import leaf_of
from no_undo.domain.canonical_json import Json, canonical_bytes
from no_undo.domain.checkpoint import Checkpoint
from no_undo.domain.errors import TamperedError
from no_undo.domain.merkle import root_of_inclusion

RECEIPT_VERSION: Final = 1
ENDING: Final = "request.closed"
"""The kind of record that a receipt ends with."""

_SAID_BY_THE_VENDOR: Final = {
    "attempt.answered": "answer",
    "plan.executed": "because",
    "plan.released": "because",
    "plan.followed_up": "became",
}
"""Kinds of records with a word of the vendor in them, and the detail that holds it."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a request's ending lies in the Merkle tree, and the proof.

    Attributes:
        request_id: The request, and the id of its chain.
        seq: Number of the ending on the chain.
        index: Place of its leaf, from 0.
        proof: Audit path to the root of the checkpoint (RFC 9162 2.1.3), from the leaf up.
        note: The checkpoint's signed note.
    """

    request_id: str
    seq: int
    index: int
    proof: tuple[bytes, ...]
    note: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """One request, told and proven.

    Attributes:
        records: The chain's lines up to the ending, in order.
        anchor: The proof for the last of them.
    """

    records: tuple[str, ...]
    anchor: Anchor

    def to_bytes(self) -> bytes:
        """Return the receipt's one byte form (rule 4)."""
        return canonical_bytes(self.to_json())

    def to_json(self) -> dict[str, Json]:
        """Return the receipt as the members of its file."""
        anchor = self.anchor
        return {
            "v": RECEIPT_VERSION,
            "says": summary_of(self.records),
            "records": list(self.records),
            "anchor": {
                "request": anchor.request_id,
                "seq": anchor.seq,
                "index": anchor.index,
                "proof": [one.hex() for one in anchor.proof],
                "note": anchor.note.decode(),
            },
        }


def parse_receipt(content: bytes) -> Receipt:
    """Return the receipt that a file holds.

    Raises:
        TamperedError: It holds none, not in its one byte form, or says what its lines do not carry.
    """
    try:
        receipt = _receipt(json.loads(content))
        same = receipt.to_bytes() == content
    except (KeyError, TypeError, AttributeError, RecursionError, ValueError):
        raise TamperedError("the file is not a receipt of this version") from None
    if not same:
        raise TamperedError(
            "the receipt is not in its one byte form, or says what its records do not carry"
        )
    return receipt


def _receipt(body: Mapping[str, Any]) -> Receipt:
    anchor = cast("Mapping[str, Any]", body["anchor"])
    return Receipt(
        records=tuple(body["records"]),
        anchor=Anchor(
            request_id=anchor["request"],
            seq=_count(anchor["seq"]),
            index=_count(anchor["index"]),
            proof=tuple(bytes.fromhex(one) for one in anchor["proof"]),
            note=anchor["note"].encode(),
        ),
    )


def _count(value: Any) -> int:  # noqa: ANN401 - whatever a file holds
    if type(value) is not int:
        raise TypeError("a number is expected")
    return value


def check_receipt(receipt: Receipt, checkpoint: Checkpoint) -> None:
    """Check a receipt against the checkpoint in its note (rules 1, 2); its signature was verified.

    Raises:
        TamperedError: Names the first record that does not verify, or says what else does not.
    """
    head = ChainHead(receipt.anchor.request_id)
    for line in receipt.records:
        head = follow(head, line.encode())
    if head.seq != receipt.anchor.seq or not head.seq:
        raise TamperedError("the records do not end at the record that is proven")
    last = receipt.records[-1].encode()
    if record_of(last)["kind"] != ENDING:
        raise TamperedError("the last record is not an ending")
    index, proof = receipt.anchor.index, receipt.anchor.proof
    root = root_of_inclusion(index, checkpoint.size, leaf_of(last), proof)
    if root != checkpoint.root:
        raise TamperedError("the inclusion proof does not lead to the root that was signed")


def summary_of(lines: Sequence[str]) -> dict[str, Json]:
    """Return what the lines of a request say, in the words of a reader (rule 3).

    Returns:
        `state`; `documents` (SHA-256 of source, approved and signed document); `plan` (digest,
        envelope, quorum); `decisions` (who, what, when, digest of the card that was seen);
        `redaction` (verdict); `vendor` (what the vendor answered or its record said, and when);
        `transitions` (kind, when and who of every record).
    """
    records = [cast("dict[str, Any]", json.loads(line)) for line in lines]
    return {
        "state": _last(records, ENDING, "state"),
        "documents": {
            "source": _last(records, "request.submitted", "source"),
            "approved": _last(records, "plan.proposed", "document"),
            "signed": _last(records, "signed_document.archived", "sha256"),
        },
        "plan": {
            "id": str(_of(records, "plan.proposed").get("plan", "")),
            "digest": _last(records, "plan.proposed", "digest"),
            "envelope": _last(records, "plan.proposed", "envelope"),
            "quorum": _last(records, "plan.proposed", "quorum"),
        },
        "decisions": [
            {
                "by": one["actor"],
                "at": one["at"],
                "verdict": one["details"].get("verdict", ""),
                "plan_digest": one["details"].get("digest", ""),
                "card_digest": one["details"].get("card", ""),
            }
            for one in records
            if "verdict" in one["details"]
        ],
        "redaction": {
            "proven": _last(records, "redaction.verified", "proven"),
            "verdict_sha256": _last(records, "redaction.verified", "verdictSha256"),
        },
        "vendor": [
            {
                "at": one["at"],
                "kind": one["kind"],
                "says": one["details"].get(_SAID_BY_THE_VENDOR[one["kind"]], ""),
            }
            for one in records
            if one["kind"] in _SAID_BY_THE_VENDOR
        ],
        "transitions": [
            {"at": one["at"], "kind": one["kind"], "by": one["actor"]} for one in records
        ],
    }


def _of(records: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [one for one in records if one["kind"] == kind]
    return found[-1] if found else {}


def _last(records: Sequence[dict[str, Any]], kind: str, member: str) -> Json:
    """Return a detail of the newest record of a kind; empty when there is none."""
    found: Json = _of(records, kind).get("details", {}).get(member, "")
    return found
