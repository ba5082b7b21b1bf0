"""A page with the mail that the emulator's SES captured: ``python -m local.stack.inbox``.

``GET /`` lists the messages, ``GET /messages/{id}`` shows one as text and, in a sandboxed frame
without scripts, as HTML; ``GET /messages.json`` gives all of them to programs.
"""

import argparse
import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route

Message = dict[str, Any]

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 1rem }}
table {{ border-collapse: collapse; width: 100% }}
td, th {{ border-bottom: 1px solid #ccc; padding: .4rem; text-align: left; vertical-align: top }}
iframe {{ border: 1px solid #ccc; height: 32rem; width: 100% }}
pre {{ background: #f4f4f4; overflow-x: auto; padding: 1rem; white-space: pre-wrap }}
</style></head><body><h1>{title}</h1>{body}</body></html>"""


def messages(emulator: str) -> list[Message]:
    """Return the captured mail, newest first.

    Raises:
        httpx.HTTPError: The emulator does not answer.
    """
    response = httpx.get(f"{emulator}/_ministack/ses/messages", timeout=10)
    response.raise_for_status()
    by_account: dict[str, list[Message]] = response.json()["messages"]
    everything = [message for account in by_account.values() for message in account]
    return sorted(everything, key=lambda message: float(message["Timestamp"]), reverse=True)


def _table(found: list[Message]) -> str:
    rows = "".join(
        f"<tr><td>{_time(message)}</td><td>{html.escape(', '.join(message['To']))}</td>"
        f'<td><a href="/messages/{quote(message["MessageId"])}">'
        f"{html.escape(message['Subject'] or '(no subject)')}</a></td></tr>"
        for message in found
    )
    if not rows:
        return "<p>No mail yet. Reload this page after a request asked for approval.</p>"
    return f"<table><tr><th>Time (UTC)</th><th>To</th><th>Subject</th></tr>{rows}</table>"


def _one(message: Message) -> str:
    headers = (
        f"<p>{_time(message)} UTC, from {html.escape(message['Source'])} "
        f"to {html.escape(', '.join(message['To']))}</p>"
    )
    text = f"<h2>Text</h2><pre>{_linked(message.get('BodyText') or '')}</pre>"
    page = html.escape(message.get("BodyHtml") or "", quote=True)
    # Scripts stay off; links open in a new tab, as they would from a mail program.
    frame = f'<iframe sandbox="allow-popups" srcdoc="<base target=_blank>{page}"></iframe>'
    return f'<p><a href="/">All mail</a></p>{headers}{text}<h2>HTML</h2>{frame}'


def _linked(text: str) -> str:
    return re.sub(r"(https?://[^\s<]+)", r'<a href="\1">\1</a>', html.escape(text))


def _time(message: Message) -> str:
    return datetime.fromtimestamp(float(message["Timestamp"]), tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def create_app(read: Callable[[], list[Message]]) -> Starlette:
    """Return the inbox page.

    Args:
        read: Returns the captured mail, newest first.
    """

    def index(_request: Request) -> HTMLResponse:
        return HTMLResponse(_PAGE.format(title="Mail inbox", body=_table(read())))

    def show(request: Request) -> HTMLResponse:
        wanted = request.path_params["id"]
        for message in read():
            if message["MessageId"] == wanted:
                title = html.escape(message["Subject"] or "(no subject)")
                return HTMLResponse(_PAGE.format(title=title, body=_one(message)))
        raise HTTPException(404, "No such message.")

    def listing(_request: Request) -> JSONResponse:
        return JSONResponse({"messages": read()})

    return Starlette(
        routes=[
            Route("/", index),
            Route("/messages.json", listing),
            Route("/messages/{id}", show),
        ]
    )


def main() -> None:
    """Serve the inbox until a signal ends the process."""
    parser = argparse.ArgumentParser(prog="python -m local.stack.inbox", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--emulator", required=True, help="address of the emulator")
    options = parser.parse_args()
    app = create_app(partial(messages, options.emulator))
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
