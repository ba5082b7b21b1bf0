"""The people around the main job: a caller, an approver with a mailbox, signers, and a killer."""

import os
import re
import signal
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin

import boto3
import httpx

from local.stack.bring_up import STACK_NAME
from local.stack.inbox import messages
from local.stack.stack import RunningStack, read_state
from no_undo.cli.api import ApiClient

PATIENCE_SECONDS = 60.0
_LINK = re.compile(r"https?://\S+/approvals/[A-Za-z0-9_-]+")

T = TypeVar("T")


class DemoError(Exception):
    """The job did not get where it should; says which step and what was seen."""


def wait_for(look: Callable[[], T | None], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """Ask again and again until there is an answer.

    Raises:
        DemoError: There was none in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = look()
        if answer is not None:
            return answer
        time.sleep(0.2)
    raise DemoError(f"waited {seconds:.0f} s in vain for {what}")


def caller(running: RunningStack) -> ApiClient:
    """Return the API as the laptop's caller sees it."""
    key = "test"  # the emulator's root key, no secret
    session = boto3.Session(
        aws_access_key_id=key, aws_secret_access_key=key, region_name="us-east-1"
    )
    return ApiClient(running.outputs["ApiUrl"], session)


class _Form(HTMLParser):
    """What a browser knows of a page's form, and what a person reads around it.

    Attributes:
        action: Where the form is posted.
        fields: What it carries unseen, and every disputed field confirmed.
        text: What a person reads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given.get("action", "")
        if tag == "input" and (given.get("type") == "hidden" or given.get("value") == "confirmed"):
            self.fields[given["name"]] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read_link(running: RunningStack, approver: str, request_title: str) -> str:
    """Wait for the newest mail to an approver and return the link in its text."""

    def look() -> str | None:
        for message in messages(running.url("emulator")):
            if approver in message["To"] and request_title in message["Subject"]:
                found = _LINK.search(str(message["BodyText"]))
                return found.group(0) if found else None
        return None

    return wait_for(look, "the mail with the approval link")


def approve(link: str) -> None:
    """Open the link, read the card, type the two words and approve; raises as `decide`."""
    decide(link, "approve")


def decide(link: str, decision: str, reason: str = "") -> None:
    """Open the link as a browser would, read the card, type the two words, post the form.

    Args:
        link: The mailed link.
        decision: `approve` or `reject`.
        reason: What the approver writes; needed to reject.

    Raises:
        DemoError: The page is no card, or the decision was not taken.
    """
    with httpx.Client(timeout=30.0) as browser:
        page = _Form()
        page.feed(browser.get(link).text)
        text = " ".join(" ".join(page.text).split())
        words = re.search(r"type these two words: ([a-z]+ [a-z]+)", text)
        if words is None:
            raise DemoError("the page behind the link is not a card with two words to type")
        typed = {"decision": decision, "reason": reason, "confirmation": words.group(1)}
        answer = browser.post(urljoin(link, page.action), data={**page.fields, **typed})
    if answer.is_error:
        raise DemoError(f"the decision was answered with {answer.status_code}")


class Vendor:
    """The sandbox's control side: what really happened there, and the people who sign."""

    def __init__(self, running: RunningStack) -> None:
        self._url = f"{running.url('sandbox')}/_sandbox"

    def folder_of(self, request_id: str) -> dict[str, Any] | None:
        """Return the envelope of a request as the sandbox truly holds it, or None."""
        folders: list[dict[str, Any]] = self._get("/folders").json()
        return next((one for one in folders if request_id in one["name"]), None)

    def sign_all(self, folder_id: int) -> None:
        """Let every signer sign."""
        httpx.post(f"{self._url}/folders/{folder_id}/sign", json={}, timeout=60).raise_for_status()

    def root_certificate(self) -> bytes:
        """Return the sandbox's throw-away root (PEM)."""
        return self._get("/ca.pem").content

    def hold_send(self, point: str) -> int:
        """Make the next send stop `before_effect` or `after_effect`; return the hold's id."""
        body = {"route": "sendDraftFolder", "point": point}
        answer = httpx.post(f"{self._url}/holds", json=body, timeout=10).raise_for_status()
        return int(answer.json()["id"])

    def is_holding(self, hold_id: int) -> bool | None:
        """Return True once a send is held there, else None."""
        holds: list[dict[str, Any]] = self._get("/holds").json()
        held = any(one["id"] == hold_id and one["state"] == "holding" for one in holds)
        return True if held else None

    def _get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self._url}{path}", timeout=30).raise_for_status()


def sweep(running: RunningStack) -> None:
    """Run the sweep now: its schedule is once a minute, which is long for a demo."""
    running.aws.client("lambda").invoke(
        FunctionName=running.outputs["ReconcileSendsFunctionName"],
        InvocationType="RequestResponse",
    )


def kill_sender(running: RunningStack) -> int:
    """Kill the process that runs Send Envelope, as a crash would; return its pid.

    Raises:
        DemoError: There is no such process.
    """
    for pid in workers_of(running, "SendEnvelope"):
        os.kill(pid, signal.SIGKILL)
        return pid
    raise DemoError("the process of Send Envelope was not found")


def workers_of(running: RunningStack, function: str) -> list[int]:
    """Return the processes in which this stack's emulator runs a function, such as `SendEnvelope`.

    Children of this emulator only: another stack on the same machine is none of our business.
    """
    emulators = {one.pid for one in read_state(running.data).running if one.name == "emulator"}
    name = f"AWS_LAMBDA_FUNCTION_NAME={STACK_NAME}-{function}Function-".encode()
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and _parent(folder) in emulators and name in _environment(folder)
    ]


def _parent(folder: Path) -> int | None:
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended meanwhile
        return None


def _environment(folder: Path) -> bytes:
    try:
        return (folder / "environ").read_bytes()
    except OSError:
        return b""
