"""The main job, unattended: ``python -m local.demo`` runs it and leaves its results in ``.local``.

Everything is what a deployment runs: the template, the state machine, the function code, the HTTP
API. The demo plays the people around it: the caller, the approver who reads a mail, opens the link
and types the two words, and the signers at the vendor.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import boto3
import httpx

from local.stack import stack
from local.stack.bring_up import bring_up
from local.stack.inbox import messages
from local.stack.stack import RunningStack
from no_undo.cli.api import ApiClient

ROOT = Path(__file__).resolve().parents[1]
INVOICE = ROOT / "fixtures" / "documents" / "freight_invoice.pdf"
PROMPT = "Take this freight invoice, redact the PII, and send it to Alice and Bob for signature."
RECIPIENTS = [
    {"name": "Alice Smith", "email": "alice@example.com"},
    {"name": "Bob Jones", "email": "bob@example.com"},
]
NAMES_ON_THE_INVOICE = ["Marcus Webb", "Dana Ruiz"]
PATIENCE_SECONDS = 60.0
DATA = stack.DATA / "demo"
"""A stack of its own, so that a demo never meets what `make up` keeps."""


class DemoError(Exception):
    """The demo did not get where it should; says which step and what it saw."""


@dataclass(slots=True)
class Story:
    """Prints each step as it happens, with the seconds since the start."""

    started: float = field(default_factory=time.monotonic)
    last: float = 0.0

    def tell(self, text: str) -> None:
        """Print one step, the time it came at, and how long the step before it took."""
        now = time.monotonic() - self.started
        print(f"{now:7.1f} s  (+{now - self.last:4.1f})  {text}", flush=True)
        self.last = now

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


@dataclass(frozen=True, slots=True)
class Form:
    """A form as a browser reads it from a page: where it goes and what it already holds."""

    action: str
    fields: dict[str, str]


class _FormReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given.get("action", "")
        if tag == "input" and given.get("type") == "hidden":
            self.fields[given["name"]] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read_form(page: str) -> tuple[Form, tuple[str, str]]:
    """Return a card's form and the two words that stand in its last sentence.

    Raises:
        DemoError: The page has no such form or sentence.
    """
    reader = _FormReader()
    reader.feed(page)
    text = " ".join(" ".join(reader.text).split())
    words = re.search(r"type these two words: ([a-z]+) ([a-z]+)", text)
    if not reader.action or words is None:
        raise DemoError("the page behind the link is not a card with two words to type")
    return Form(reader.action, reader.fields), (words.group(1), words.group(2))


def link_in_mail(running: RunningStack, to: str, after: int) -> str:
    """Wait for the mail to an approver and return the link in its text."""

    def look() -> str | None:
        found = messages(running.url("emulator"))
        for message in found[: len(found) - after]:
            match = re.search(r"https?://\S+/approvals/\S+", json.dumps(message))
            if match and to in json.dumps(message):
                return match.group(0).split("\\n")[0].split("\\r")[0].rstrip('".')
        return None

    return wait_for(look, "the mail with the approval link")


def wait_for(look: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:  # noqa: ANN401
    """Ask again and again until there is an answer.

    Raises:
        DemoError: There was none in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = look()
        if answer:
            return answer
        time.sleep(0.2)
    raise DemoError(f"waited {seconds:.0f} s in vain for {what}")


def approve(link: str) -> str:
    """Open the link as a browser would and approve as a person would; return the page after."""
    with httpx.Client(timeout=30.0) as browser:
        card = browser.get(link)
        form, words = read_form(card.text)
        answer = browser.post(
            urljoin(link, form.action),
            data={**form.fields, "decision": "approve", "reason": "", "confirmation": " ".join(words)},
        )
    if answer.is_error:
        raise DemoError(f"the approval was answered with {answer.status_code}")
    return answer.text


def main() -> None:
    """Read the command line and run the demo."""
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("--crash", action="store_true", help="kill the sender in the middle")
    parser.add_argument("--data", type=Path, default=DATA, help="data folder of the demo")
    parser.add_argument("--keep", action="store_true", help="leave the stack running")
    options = parser.parse_args()
    try:
        print(run(options.data, crash=options.crash))
    except DemoError as error:
        sys.exit(f"demo: FAILED: {error}")
    finally:
        if not options.keep:
            stack.stop(options.data)


def run(data: Path, *, crash: bool = False) -> str:
    """Run the main job and return the line that says how it ended."""
    story = Story()
    start_afresh(data)
    running = bring_up(data)
    story.tell("the emulator and the vendor sandbox run; the template is deployed")
    api = _api(running)
    mails_before = len(messages(running.url("emulator")))
    upload_id = api.upload(INVOICE.read_bytes())
    request_id = api.post(
        "/requests",
        {
            "prompt": PROMPT,
            "document": {"upload_id": upload_id},
            "recipients": RECIPIENTS,
            "redact_values": NAMES_ON_THE_INVOICE,
        },
    )["request_id"]
    story.tell(f"submitted request {request_id}")
    _follow_stages(api, request_id, story)
    link = link_in_mail(running, "approver@example.com", mails_before)
    story.tell("the approver has a mail; opening the link, reading the card, typing the two words")
    approve(link)
    story.tell("approved")
    envelope = _wait_until_sent(running, api, request_id, story)
    httpx.post(f"{running.url('sandbox')}/_sandbox/folders/{envelope}/sign", json={}).raise_for_status()
    story.tell("Alice and Bob have signed at the vendor")
    ended = wait_for(lambda: _ended(api, request_id), "the end of the request")
    story.tell(f"the request ended as {ended['state']}")
    signed = _fetch_signed(api, request_id, data)
    sends = _sends(running, envelope)
    digest = hashlib.sha256(signed.read_bytes()).hexdigest()
    return (
        f"demo: {ended['state']} sends={sends} signed={signed} sha256={digest} "
        f"seconds={story.seconds:.1f}"
    )


def start_afresh(data: Path) -> None:
    """Forget what an earlier demo did: the fence would rightly refuse the same send again."""
    stack.stop(data)
    for part in ("emulator", "sandbox"):
        shutil.rmtree(data / part, ignore_errors=True)


def _api(running: RunningStack) -> ApiClient:
    session = boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    )
    return ApiClient(running.outputs["ApiUrl"], session)


def _follow_stages(api: ApiClient, request_id: str, story: Story) -> None:
    def look() -> dict[str, Any] | None:
        view = api.get(f"/requests/{request_id}")
        if view["ending"]:
            raise DemoError(f"the request ended early: {view['ending']}")
        return view if view["approvers"] else None

    view = wait_for(look, "the plan to be proposed")
    story.tell(f"plan {view['plan_id']} proposed, digest {view['plan_digest'][:16]}...")


def _wait_until_sent(running: RunningStack, api: ApiClient, request_id: str, story: Story) -> int:
    def look() -> dict[str, Any] | None:
        view = api.get(f"/requests/{request_id}")
        if view["ending"]:
            raise DemoError(f"the request ended early: {view['ending']}")
        return view if view["state"] == "AWAITING_SIGNATURE" else None

    wait_for(look, "the envelope to be sent")
    story.tell("sent, and the vendor's own record confirms it")
    folders = httpx.get(f"{running.url('sandbox')}/_sandbox/folders").json()
    found = folders["folders"] if isinstance(folders, dict) else folders
    own = [one for one in found if request_id in json.dumps(one)]
    return int(own[-1].get("folderId") or own[-1]["folder_id"])


def _ended(api: ApiClient, request_id: str) -> dict[str, Any] | None:
    view = api.get(f"/requests/{request_id}")
    return view if view["ending"] else None


def _fetch_signed(api: ApiClient, request_id: str, data: Path) -> Path:
    url = api.location(f"/requests/{request_id}/document")
    path = data / "signed.pdf"
    path.write_bytes(httpx.get(url, timeout=30.0).raise_for_status().content)
    return path


def _sends(running: RunningStack, envelope: int) -> int:
    sends = httpx.get(f"{running.url('sandbox')}/_sandbox/sends").json()
    return int(sends.get(str(envelope), 0) if isinstance(sends, dict) else 0)


if __name__ == "__main__":
    main()
