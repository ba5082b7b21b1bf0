"""A page with the mail that the emulator's SES captured: ``python -m local.stack.inbox``.

``GET /`` lists the messages, ``GET /messages/{id}`` shows one as text and, in a sandboxed frame
without scripts, as HTML; ``GET /messages.json`` gives all of them to programs.
"""

import argparse
import html
from typing import Any

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
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }}
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
    found: list[Message] = response.json()["messages"]
    return list(reversed(found))


def create_app(emulator: str) -> Starlette:
    """Return the inbox for one emulator."""

    def index(_request: Request) -> HTMLResponse:
        return HTMLResponse(_PAGE.format(title="Mail inbox", body=_table(messages(emulator))))

    def show(request: Request) -> HTMLResponse:
        wanted = request.path_params["id"]
        for message in messages(emulator):
            if message["MessageId"] == wanted:
                return HTMLResponse(_PAGE.format(title=_escape(_subject(message)), body=_one(message)))
        raise HTTPException(404, "No such message.")

    def listing(_request: Request) -> JSONResponse:
        return JSONResponse({"messages": messages(emulator)})

    return Starlette(
        routes=[
            Route("/", index),
            Route("/messages.json", listing),
            Route("/messages/{id}", show),
        ]
    )
