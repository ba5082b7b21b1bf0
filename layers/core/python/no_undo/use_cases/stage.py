"""What the document stages share: load a request, commit a stage's result.

A stage that runs again finds its artefact and returns it; a request that was taken back stops every
stage at its next commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.canonical_json import Json
from no_undo.domain.documents import DocumentRef
from no_undo.domain.errors import ConflictError, NotFoundError, StaleError, WithdrawnError
from no_undo.domain.request import ENDED, Request, Stage
from no_undo.ports import Change, Clock, DocumentStore, Save, StateStore
from no_undo.use_cases.gate import MAX_ROUNDS

PDF = "application/pdf"
PNG = "image/png"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Stages:
    """The ports that every document stage works with."""

    store: StateStore
    documents: DocumentStore
    clock: Clock


def load(request_id: str, store: StateStore) -> Request:
    """Return an open request.

    Raises:
        NotFoundError: There is no such request.
        WithdrawnError: The caller took it back.
        ConflictError: It has ended.
    """
    request = store.request(request_id)
    if request is None:
        raise NotFoundError("there is no such request; check the request id")
    if request.withdrawn:
        raise WithdrawnError("the caller took the request back")
    if request.state in ENDED:
        raise ConflictError(f"the request has ended ({request.state})")
    return request


def commit(  # noqa: PLR0913, PLR0917 - what changes, and who says what about it
    request_id: str,
    stages: Stages,
    change: Callable[[Request], Request],
    actor: str,
    kind: str,
    details: Mapping[str, Json],
    *,
    expected: Stage | None = None,
    round_number: int | None = None,
) -> Request:
    """Store a stage's result with its audit record, unless the request was taken back.

    A slow run of a stage that was repeated meanwhile must not replace the result that later stages
    already work with, nor become part of a later round: it finds another stage or round and stores
    nothing.

    Args:
        request_id: The request.
        stages: Store and clock.
        change: From the request as it is to the request with the result.
        actor: The stage's function.
        kind: Audit kind, for example `document.assembled`.
        details: For the audit; digests and counts, no values.
        expected: The stage that the request must still be in; another one wins over this result.
        round_number: The round that the request must still be in, likewise.

    Raises:
        WithdrawnError: The caller took it back meanwhile; nothing was written.
        StaleError: The row kept moving; nothing was written.
    """
    for _ in range(MAX_ROUNDS):
        current = load(request_id, stages.store)
        if expected is not None and current.stage is not expected:
            return current
        if round_number is not None and current.round != round_number:
            return current
        changed = change(current)
        event = AuditEvent(kind=kind, actor=actor, at=stages.clock.now(), details=details)
        try:
            stages.store.commit(Change(request_id, event, (Save(changed),)))
        except StaleError:
            continue
        return replace(changed, revision=changed.revision + 1)
    raise StaleError("the request kept changing while a stage's result was being stored")


def key_of(request: Request, name: str) -> str:
    """Return the object key of an artefact in this round."""
    return f"requests/{request.request_id}/round-{request.round}/{name}"


def with_artefact(request: Request, name: str, ref: DocumentRef) -> Request:
    """Return the request with one more stage result."""
    return replace(request, artefacts={**request.artefacts, name: ref})


def artefact(request: Request, name: str) -> DocumentRef:
    """Return a stage result that an earlier stage has stored.

    Raises:
        ConflictError: The earlier stage has not run.
    """
    ref = request.artefacts.get(name)
    if ref is None:
        raise ConflictError(f"the stage result {name} does not exist yet")
    return ref


def final_document(request: Request) -> DocumentRef:
    """Return the bytes that will be sent: the redacted copy where there is one."""
    return request.artefacts.get("redacted") or artefact(request, "assembled")


def put_json(documents: DocumentStore, key: str, value: Mapping[str, Any]) -> DocumentRef:
    """Store a JSON artefact."""
    content = json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8")
    return documents.put(key, content, JSON)


def get_json(documents: DocumentStore, ref: DocumentRef) -> dict[str, Any]:
    """Read a JSON artefact."""
    return cast("dict[str, Any]", json.loads(documents.get(ref)))
