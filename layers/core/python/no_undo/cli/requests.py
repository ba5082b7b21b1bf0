"""Commands of a caller: submit, status, list, withdraw, document."""

from __future__ import annotations

import argparse
import json
import time
import uuid
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import quote

from no_undo.cli.api import ApiClient
from no_undo.cli.output import Exit, progress, show, show_rows
from no_undo.domain.errors import InvalidRequestError

POLL_SECONDS = 2.0
GOOD_ENDINGS = frozenset({"COMPLETED"})


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the callers' commands."""
    submit = commands.add_parser("submit", help="hand in a sentence and a document")
    submit.add_argument("--prompt", required=True, help="the sentence")
    submit.add_argument(
        "--document", type=Path, required=True, help="a PDF, or invoice data (.json)"
    )
    submit.add_argument("--recipient", action="append", default=[], help='"Name <mail>", repeated')
    submit.add_argument("--approver", action="append", default=[], help="an address, repeated")
    submit.add_argument("--quorum", type=int, help="how many approvals are needed")
    submit.add_argument("--redact", action="append", default=[], help="a kind, repeated")
    submit.add_argument("--redact-value", action="append", default=[], help="a literal, repeated")
    submit.add_argument("--extraction", choices=("auto", "none"), default="auto")
    submit.add_argument("--repeat-of", default="", help="plan id that is knowingly repeated")
    submit.add_argument("--idempotency-key", help="default: a fresh one")
    submit.add_argument("--wait", action="store_true", help="tell progress until the end")
    submit.set_defaults(run=run_submit)
    status = commands.add_parser("status", help="where a request stands")
    status.add_argument("request_id")
    status.set_defaults(run=run_status)
    listed = commands.add_parser("list", help="your newest requests")
    listed.set_defaults(run=run_list)
    withdraw = commands.add_parser("withdraw", help="take a request back before it is sent")
    withdraw.add_argument("request_id")
    withdraw.set_defaults(run=run_withdraw)
    document = commands.add_parser("document", help="download the signed, or the proven, document")
    document.add_argument("request_id")
    document.add_argument("--output", type=Path, required=True)
    document.set_defaults(run=run_document)


def run_submit(options: argparse.Namespace) -> Exit:
    """Hand in a request; with --wait follow it to its end."""
    api = ApiClient.from_environment()
    body = submission_body(options, api)
    key = options.idempotency_key or uuid.uuid4().hex
    answer = api.post("/requests", body, {"idempotency-key": key})
    if not options.wait:
        show(answer)
        return Exit.YES
    view = _follow(api, answer["request_id"])
    show(view)
    return Exit.YES if view["state"] in GOOD_ENDINGS else Exit.NO


def submission_body(options: argparse.Namespace, api: ApiClient) -> dict[str, Any]:
    """Return the body of `POST /requests`; uploads the document when it is a PDF.

    Raises:
        InvalidRequestError: The document cannot be read, or a recipient is not `Name <mail>`.
    """
    body: dict[str, Any] = {
        "prompt": options.prompt,
        "document": _document(options.document, api),
        "recipients": [_recipient(one) for one in options.recipient],
        "approvers": options.approver,
        "redact": options.redact,
        "redact_values": options.redact_value,
        "extraction": options.extraction,
        "repeat_of": options.repeat_of,
    }
    return body if options.quorum is None else {**body, "quorum": options.quorum}


def _document(path: Path, api: ApiClient) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRequestError(
            f"{path} cannot be read: {error.strerror}", field="document"
        ) from error
    if path.suffix.lower() != ".json":
        return {"upload_id": api.upload(content)}
    try:
        return {"invoice": json.loads(content)}
    except ValueError:
        raise InvalidRequestError(f"{path} is not JSON", field="document") from None


def _recipient(text: str) -> dict[str, str]:
    name, email = parseaddr(text)
    if not name or "@" not in email:
        raise InvalidRequestError(
            'write each recipient as "Name <mail@example.com>"', field="recipients"
        )
    return {"name": name, "email": email}


def _follow(api: ApiClient, request_id: str) -> dict[str, Any]:
    progress(f"request {request_id}")
    told = ""
    while True:
        view = api.get(f"/requests/{quote(request_id)}")
        done: list[str] = view["stages_done"][-1:] if view["state"] == "PREPARING" else []
        now = " ".join([view["state"].lower().replace("_", " "), *done])
        if now != told:
            progress(now + (" (in doubt)" if view["in_doubt"] else ""))
            told = now
        if view["ending"]:
            return view
        time.sleep(POLL_SECONDS)


def run_status(options: argparse.Namespace) -> Exit:
    """Show one request."""
    show(ApiClient.from_environment().get(f"/requests/{quote(options.request_id)}"))
    return Exit.YES


def run_list(_options: argparse.Namespace) -> Exit:
    """Show the caller's newest requests."""
    found = ApiClient.from_environment().get("/requests")["requests"]
    show_rows("requests", found, ("request_id", "state", "title", "created_at"))
    return Exit.YES


def run_withdraw(options: argparse.Namespace) -> Exit:
    """Take a request back."""
    show(ApiClient.from_environment().post(f"/requests/{quote(options.request_id)}/withdraw", {}))
    return Exit.YES


def run_document(options: argparse.Namespace) -> Exit:
    """Download the document of a request."""
    content = ApiClient.from_environment().download(
        f"/requests/{quote(options.request_id)}/document"
    )
    options.output.write_bytes(content)
    show({"path": str(options.output), "bytes": len(content)})
    return Exit.YES
