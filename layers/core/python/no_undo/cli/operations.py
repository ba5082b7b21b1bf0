"""Commands of an operator: each decision needs a reason, and each is in the audit."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from no_undo.cli.output import Exit, show

_DRAFT = ("request_id", "request_state", "envelope_id", "sent", "next_look_at")
_ROW = ("plan_id", "state", "attempts", "began_at", "refused", "last_evidence")


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the operators' commands."""
    in_doubt = commands.add_parser("in-doubt", help="what is in doubt, released or paused")
    in_doubt.set_defaults(run=run_in_doubt)
    drafts = commands.add_parser("drafts", help="drafts that will not be sent; 1: one was sent")
    drafts.set_defaults(run=run_drafts)
    resume = commands.add_parser("resume", help="drive a request on that nothing drives")
    resume.add_argument("request_id")
    resume.add_argument("--reason", default="resumed by hand", help="kept in the audit")
    resume.set_defaults(run=run_resume)
    resolve = commands.add_parser("resolve", help="settle a plan that stays in doubt")
    resolve.add_argument("plan_id")
    resolve.add_argument("--outcome", choices=("done", "not-done"), required=True)
    resolve.add_argument("--evidence", required=True, help="what the outcome rests on")
    _with_reason(resolve, run_resolve)
    retry = commands.add_parser("retry", help="let a released plan begin once more")
    retry.add_argument("plan_id")
    _with_reason(retry, run_retry)
    void = commands.add_parser("void", help="recall what was sent; the mails are out")
    void.add_argument("plan_id")
    _with_reason(void, run_void)
    _with_reason(commands.add_parser("pause", help="stop every begin"), run_pause)
    _with_reason(commands.add_parser("unpause", help="let begins go on"), run_unpause)


def _with_reason(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], Exit]
) -> None:
    parser.add_argument("--reason", required=True, help="kept in the audit")
    parser.set_defaults(run=run)


def run_in_doubt(options: argparse.Namespace) -> Exit:
    """Show the plans that are in doubt or wait for an operator, and whether begins are paused."""
    show(options.connect().get("/operations/in-doubt"), {"plans": _ROW})
    return Exit.YES


def run_drafts(options: argparse.Namespace) -> Exit:
    """Show the abandoned drafts; one that was sent is an incident."""
    found = options.connect().get("/operations/drafts")
    show(found, {"drafts": _DRAFT})
    return Exit.NO if any(one["sent"] for one in found["drafts"]) else Exit.YES


def run_resume(options: argparse.Namespace) -> Exit:
    """Start a recovery execution for a request."""
    path = f"/operations/requests/{quote(options.request_id, safe='')}/resume"
    return _decide(options, path, {"reason": options.reason})


def run_resolve(options: argparse.Namespace) -> Exit:
    """Settle a plan by an operator's word."""
    body = {"outcome": options.outcome, "reason": options.reason, "evidence": options.evidence}
    return _decide(options, _path(options, "settle"), body)


def run_retry(options: argparse.Namespace) -> Exit:
    """Allow one more attempt."""
    return _decide(options, _path(options, "retry"), {"reason": options.reason})


def run_void(options: argparse.Namespace) -> Exit:
    """Recall a sent envelope."""
    return _decide(options, _path(options, "void"), {"reason": options.reason})


def run_pause(options: argparse.Namespace) -> Exit:
    """Stop every begin."""
    return _decide(options, "/operations/pause", {"reason": options.reason})


def run_unpause(options: argparse.Namespace) -> Exit:
    """Let begins go on."""
    return _decide(options, "/operations/unpause", {"reason": options.reason})


def _path(options: argparse.Namespace, decision: str) -> str:
    return f"/operations/plans/{quote(options.plan_id, safe='')}/{decision}"


def _decide(options: argparse.Namespace, path: str, body: dict[str, str]) -> Exit:
    show(options.connect().post(path, body))
    return Exit.YES
