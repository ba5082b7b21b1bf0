"""How fast a card opens, and how large its page is, on the whole stack on this machine."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from uuid import uuid4

import httpx

from benchmarks.rows import Row
from local.demo.people import caller, read_link
from local.stack import stack
from local.stack.bring_up import bring_up
from local.stack.parameters import APPROVER
from local.stack.stack import RunningStack
from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.domain.card import Card
from tests.unit.pages.samples import NUMBER, TOTAL, a_card

ROOT = Path(__file__).resolve().parents[1]
OPENS, WARM_UP = 60, 10
MOST_MILLISECONDS = 300.0
MOST_BYTES = 100_000.0
FIELDS = 60
"""Of the largest card that is measured; one in ten is disputed."""


def measure() -> Iterator[Row]:
    """Measure the page of a large card, then a card behind a link of the running stack."""
    page = JinjaPages().approval_page(a_large_card()).html
    yield Row(
        f"card: page of {FIELDS} fields, without pictures",
        float(len(page.encode("utf-8"))),
        None,
        "bytes",
        aim=MOST_BYTES,
        limit=MOST_BYTES,
        note="rendered in this process; the style sheet is inside",
    )
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        try:
            yield from _behind_a_link(bring_up(data))
        finally:
            stack.stop(data)


def a_large_card() -> Card:
    """Return a card with many fields, some of them disputed."""
    fields = tuple(
        replace(TOTAL if index % 10 == 0 else NUMBER, path=f"lines[{index}].amount")
        for index in range(FIELDS)
    )
    return replace(a_card(), fields=fields)


def _behind_a_link(running: RunningStack) -> Iterator[Row]:
    link = _asked(running)
    with httpx.Client(timeout=30) as browser:
        for _ in range(WARM_UP):
            browser.get(link).raise_for_status()
        times = [_opened(browser, link) for _ in range(OPENS)]
        size = len(browser.get(link).raise_for_status().content)
    p95 = quantiles(times, n=20)[-1]
    note = f"{OPENS} opens in a row, warm; median {median(times):.0f} ms"
    # No limit: what else runs on the machine is in this figure.
    yield Row("card: p95 of an open", p95, None, "ms", aim=MOST_MILLISECONDS, note=note)
    yield Row(
        "card: page behind a link, without pictures",
        float(size),
        None,
        "bytes",
        aim=MOST_BYTES,
        limit=MOST_BYTES,
        note="the freight invoice of the demo, as it is served",
    )


def _opened(browser: httpx.Client, link: str) -> float:
    started = time.perf_counter()
    browser.get(link).raise_for_status()
    return (time.perf_counter() - started) * 1000


def _asked(running: RunningStack) -> str:
    """Hand in the demo's invoice and return the link that its approver is mailed."""
    invoice = json.loads((ROOT / "fixtures/documents/freight_invoice.json").read_text("utf-8"))
    body = {
        "prompt": "Take this Bench invoice and send it without redaction for signature.",
        "document": {"invoice": invoice},
        "recipients": [
            {"name": "Alice Bench", "email": "alice.bench@example.com"},
            {"name": "Bob Bench", "email": "bob.bench@example.com"},
        ],
    }
    caller(running).submit(body, uuid4().hex)
    return read_link(running, APPROVER, "Bench")
