"""Commands of an operator: each needs a reason, and each is in the audit."""

from __future__ import annotations

import argparse
from typing import Any
from urllib.parse import quote

from no_undo.cli.api import ApiClient
from no_undo.cli.output import Exit, show, show_rows


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the operators' commands."""
    in_doubt = commands.add_parser("in-doubt", help="plans whose outcome is not known yet")
    in_doubt.set_defaults(run=run_in_doubt)
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


def _with_reason(parser: argparse.ArgumentParser, run: Any) -> None:  # noqa: ANN401 - a command
    parser.add_argument("--reason", required=True, help="kept in the audit")
    parser.set_defaults(run=run)


def run_in_doubt(_options: argparse.Namespace) -> Exit:
    """Show the plans that are in doubt."""
    found = ApiClient.from_environment().get("/operations/in-doubt")["plans"]
    show_rows("plans", found, ("plan_id", "state", "attempts", "began_at", "last_evidence"))
    return Exit.YES


def run_resolve(options: argparse.Namespace) -> Exit:
    """Settle a plan by an operator's word."""
    body = {"outcome": options.outcome, "reason": options.reason, "evidence": options.evidence}
    return _post(f"/operations/plans/{quote(options.plan_id, safe='')}/settle", body)


def run_retry(options: argparse.Namespace) -> Exit:
    """Allow one more attempt."""
    path = f"/operations/plans/{quote(options.plan_id, safe='')}/retry"
    return _post(path, {"reason": options.reason})


def run_void(options: argparse.Namespace) -> Exit:
    """Recall a sent envelope."""
    path = f"/operations/plans/{quote(options.plan_id, safe='')}/void"
    return _post(path, {"reason": options.reason})


def run_pause(options: argparse.Namespace) -> Exit:
    """Stop every begin."""
    return _post("/operations/pause", {"reason": options.reason})


def run_unpause(options: argparse.Namespace) -> Exit:
    """Let begins go on."""
    return _post("/operations/unpause", {"reason": options.reason})


def _post(path: str, body: dict[str, Any]) -> Exit:
    show(ApiClient.from_environment().post(path, body))
    return Exit.YES
