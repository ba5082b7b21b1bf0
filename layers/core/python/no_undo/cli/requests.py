"""Commands of a caller: submit, status, list, withdraw, reassign, document."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import quote

from no_undo.cli.api import ApiClient, ApiError, NoAnswerError
from no_undo.cli.files import read_bytes, read_json, write_bytes
from no_undo.cli.output import Exit, progress, show, tell
from no_undo.domain.errors import InvalidRequestError

POLL_SECONDS = 2.0
PEOPLE_POLL_SECONDS = 5.0
"""Between two looks while the next step is a person's."""
PATIENCE = 60
"""How many looks in a row may fail before --wait gives up; the request goes on."""

GOOD_ENDINGS = frozenset({"COMPLETED"})
OPEN_ENDINGS = frozenset({"SIGNED_NOT_ARCHIVED", "SENT_UNSIGNED"})
_PEOPLE = frozenset({"AWAITING_APPROVAL", "AWAITING_SIGNATURE"})
_ROW = ("request_id", "state", "title", "created_at")


def add_commands(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    """Add the callers' commands."""
    _add_submit(commands)
    listed = commands.add_parser("list", help="your newest requests")
    listed.set_defaults(run=run_list)
    status = commands.add_parser("status", help="where a request stands")
    status.add_argument("request_id")
    status.set_defaults(run=run_status)
    withdraw = commands.add_parser("withdraw", help="take a request back; 1: it is too late")
    withdraw.add_argument("request_id")
    withdraw.set_defaults(run=run_withdraw)
    reassign = commands.add_parser(
        "reassign", help="another eligible person for one approver; 1: it is too late"
    )
    reassign.add_argument("request_id")
    reassign.add_argument("--approver", required=True, help="whose place it is")
    reassign.add_argument("--to", required=True, help="address of who takes it")
    reassign.add_argument("--reason", required=True, help="why; recorded")
    reassign.set_defaults(run=run_reassign)
    document = commands.add_parser("document", help="download the signed, or the proven, document")
    document.add_argument("request_id")
    document.add_argument("--output", type=Path, required=True, help="where to put the PDF")
    document.set_defaults(run=run_document)


def _add_submit(commands: Any) -> None:  # noqa: ANN401 - argparse keeps its class private
    submit = commands.add_parser(
        "submit", help="hand in a sentence and a document; with --wait 0: completed, 1: not"
    )
    submit.add_argument("--prompt", required=True, help="the sentence")
    submit.add_argument(
        "--document", type=Path, required=True, help="a PDF, or invoice data (.json)"
    )
    submit.add_argument(
        "--recipient", action="append", default=[], help='"Name <mail>", in signing order'
    )
    submit.add_argument("--approver", action="append", default=[], help="an address, repeated")
    submit.add_argument("--quorum", type=int, help="how many approvals are needed")
    submit.add_argument("--redact", action="append", default=[], help="a kind, repeated")
    submit.add_argument("--redact-value", action="append", default=[], help="a text, repeated")
    submit.add_argument("--redact-keep", action="append", default=[], help="a text that stays")
    submit.add_argument(
        "--on-residual",
        choices=("block", "show"),
        help="what becomes of personal data that is left; default: block the kinds asked for",
    )
    submit.add_argument("--extraction", choices=("auto", "none"), default="auto")
    submit.add_argument("--repeat-of", default="", help="plan id that is knowingly repeated")
    submit.add_argument(
        "--idempotency-key", default="", help="of this one submission; default: a fresh one"
    )
    submit.add_argument("--wait", action="store_true", help="stay until it has ended")
    submit.set_defaults(run=run_submit)


def run_submit(options: argparse.Namespace) -> Exit:
    """Hand in a request; with --wait follow it to its end."""
    api: ApiClient = options.connect()
    body = submission_body(options, api)
    request_id = _submitted(api, body, options.idempotency_key)
    if not options.wait:
        show({"request_id": request_id})
        return Exit.YES
    tell(f"request {request_id}")
    try:
        view = _follow(api, request_id)
    except KeyboardInterrupt:
        tell(f"the request goes on; look with: no-undo status {request_id}")
        raise
    show(view)
    if view["state"] in GOOD_ENDINGS:
        return Exit.YES
    return Exit.COULD_NOT_TELL if view["state"] in OPEN_ENDINGS else Exit.NO


def submission_body(options: argparse.Namespace, api: ApiClient) -> dict[str, Any]:
    """Return the body of `POST /requests`; uploads the document when it is a PDF.

    Raises:
        InvalidRequestError: The document cannot be read, or a recipient is not `Name <mail>`.
    """
    body: dict[str, Any] = {
        "prompt": options.prompt,
        "recipients": [_recipient(one) for one in options.recipient],
        "approvers": options.approver,
        "redact": options.redact,
        "redact_values": options.redact_value,
        "redact_keep": options.redact_keep,
        "on_residual": options.on_residual,
        "extraction": options.extraction,
        "repeat_of": options.repeat_of,
        "document": _document(options.document, api),
    }
    return body if options.quorum is None else {**body, "quorum": options.quorum}


def _document(path: Path, api: ApiClient) -> dict[str, Any]:
    if path.suffix.lower() == ".json":
        return {"invoice": read_json(path)}
    content = read_bytes(path)
    if not content.startswith(b"%PDF-"):
        raise InvalidRequestError(f"{path} is no PDF, and its name does not end in .json")
    return {"upload_id": api.upload(content)}


def _recipient(text: str) -> dict[str, str]:
    name, angle, rest = text.partition("<")
    email, closed, after = rest.partition(">")
    if not (name.strip() and angle and "@" in email and closed and not after.strip()):
        raise InvalidRequestError(
            'write each recipient as "Name <mail@example.com>"', field="recipients"
        )
    return {"name": name.strip().strip('"'), "email": email.strip()}


def _submitted(api: ApiClient, body: dict[str, Any], key: str) -> str:
    import uuid  # noqa: PLC0415 - only here

    try:
        return api.submit(body, key or uuid.uuid4().hex)
    except ApiError as error:
        if not error.may_pass:
            raise
        raise NoAnswerError(
            f"{error}; it may have been taken in: look with `no-undo list` before you hand it in "
            "again"
        ) from error


def _follow(api: ApiClient, request_id: str) -> dict[str, Any]:
    """Look until the request has ended; tell each change if somebody is watching."""
    told, failed = "", 0
    while True:
        try:
            view = api.get(_path(request_id))
        except ApiError as error:
            failed += 1
            if not error.may_pass or failed > PATIENCE:
                raise
            api.wait(POLL_SECONDS)
            continue
        failed = 0
        if (now := _in_words(view)) != told:
            progress(told := now)
        if view["ending"]:
            return view
        api.wait(PEOPLE_POLL_SECONDS if view["state"] in _PEOPLE else POLL_SECONDS)


def _in_words(view: dict[str, Any]) -> str:
    words = [str(view["state"]).lower().replace("_", " ")]
    if view["state"] == "PREPARING":
        words += [f"{stage} is done" for stage in view["stages_done"][-1:]]
    if view["state"] == "AWAITING_APPROVAL":
        words.append(f"{view['approvals']} of {view['quorum']}")
    if view["in_doubt"]:
        words.append("it is not known yet whether it was sent")
    return ", ".join(words)


def run_status(options: argparse.Namespace) -> Exit:
    """Show one request."""
    show(options.connect().get(_path(options.request_id)))
    return Exit.YES


def run_list(options: argparse.Namespace) -> Exit:
    """Show the caller's newest requests."""
    show(options.connect().get("/requests"), {"requests": _ROW})
    return Exit.YES


def run_withdraw(options: argparse.Namespace) -> Exit:
    """Take a request back."""
    show(options.connect().post(f"{_path(options.request_id)}/withdraw", {}))
    return Exit.YES


def run_reassign(options: argparse.Namespace) -> Exit:
    """Give one approver's place to another person."""
    body = {"approver": options.approver, "to": options.to, "reason": options.reason}
    show(options.connect().post(f"{_path(options.request_id)}/reassign", body))
    return Exit.YES


def run_document(options: argparse.Namespace) -> Exit:
    """Download the document of a request."""
    content = options.connect().download(f"{_path(options.request_id)}/document")
    write_bytes(options.output, content)
    show({"path": str(options.output), "bytes": len(content)})
    return Exit.YES


def _path(request_id: str) -> str:
    return f"/requests/{quote(request_id, safe='')}"
