"""Asynchronous builds: a job for each idempotency key, and its result.

Rules (vendor documentation; nobody has recorded them):
1. The same key with the same work finds the first job; nothing runs or is charged again.
2. The same key with other work is a conflict.
3. A key is 1 to 255 bytes of visible ASCII, given once.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from local.sandbox.nutrient.errors import SandboxError

MAX_KEY_BYTES = 255


class InvalidKeyError(SandboxError):
    """The idempotency key is empty, repeated, too long, or not visible ASCII. HTTP 400."""

    status = 400
    code = "invalid_idempotency_key"


class KeyConflictError(SandboxError):
    """The key was used for other work. HTTP 409."""

    status = 409
    code = "idempotency_key_conflict"


class AdmissionInProgressError(SandboxError):
    """The first request with this key is still being admitted. HTTP 409."""

    status = 409
    code = "idempotency_admission_in_progress"


class NoSuchJobError(SandboxError):
    """There is no such job, or it has no result (yet). HTTP 404."""

    status = 404
    code = "not_found"


@dataclass(slots=True)
class Job:
    """One piece of work.

    Attributes:
        job_id: Fresh and unguessable.
        access_token: Handed out once with the job; a second way in, not needed with the key.
        status: `running`, then `completed` or `failed`.
        result: The PDF, once completed.
    """

    job_id: str
    access_token: str
    status: str = "running"
    result: bytes = b""

    def body(self) -> dict[str, Any]:
        """Return the job as the vendor shows it."""
        return {
            "job_id": self.job_id,
            "status": self.status,
            "status_url": f"/async/jobs/{self.job_id}",
            "result_url": f"/async/jobs/{self.job_id}/result",
        }


@dataclass(slots=True)
class Jobs:
    """All jobs of one sandbox, kept in memory."""

    _by_id: dict[str, Job] = field(default_factory=dict[str, Job])
    _by_key: dict[str, tuple[str, Job]] = field(default_factory=dict[str, tuple[str, Job]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, keys: list[str], work: str, run: Callable[[], bytes]) -> Job:
        """Return the job of a key, started if it is new.

        Args:
            keys: The values of every `Idempotency-Key` header.
            work: Digest of document and instructions.
            run: Does the work; any `SandboxError` makes the job fail.

        Raises:
            InvalidKeyError: See rule 3.
            KeyConflictError: See rule 2.
        """
        key = _checked(keys)
        with self._lock:
            if key in self._by_key:
                known_work, job = self._by_key[key]
                if known_work != work:
                    raise KeyConflictError("this idempotency key was used for other work")
                return job
            job = Job(secrets.token_urlsafe(12), secrets.token_urlsafe(24))
            self._by_key[key] = work, job
            self._by_id[job.job_id] = job
        threading.Thread(target=_finish, args=(job, run), daemon=True).start()
        return job

    def get(self, job_id: str) -> Job:
        """Return a job.

        Raises:
            NoSuchJobError: There is none.
        """
        job = self._by_id.get(job_id)
        if job is None:
            raise NoSuchJobError("no such job")
        return job

    def result(self, job_id: str) -> bytes:
        """Return a completed job's PDF.

        Raises:
            NoSuchJobError: No such job, or no result.
        """
        job = self.get(job_id)
        if job.status != "completed":
            raise NoSuchJobError("the job has no result")
        return job.result

    def clear(self) -> None:
        """Forget all jobs."""
        with self._lock:
            self._by_id.clear()
            self._by_key.clear()


def digest_of(instructions: object, pdf: bytes) -> str:
    """Return the digest that says whether two requests ask for the same work."""
    canonical = json.dumps(instructions, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(pdf + b"\0" + canonical).hexdigest()


def _checked(keys: list[str]) -> str:
    if len(keys) != 1:
        raise InvalidKeyError("Idempotency-Key must be given once")
    key = keys[0]
    if not 0 < len(key.encode()) <= MAX_KEY_BYTES or not (key.isascii() and key.isprintable()):
        raise InvalidKeyError(f"Idempotency-Key must be 1 to {MAX_KEY_BYTES} visible characters")
    return key


def _finish(job: Job, run: Callable[[], bytes]) -> None:
    try:
        job.result = run()
    except SandboxError:
        job.status = "failed"
    else:
        job.status = "completed"
