"""The main job, unattended: ``python -m local.demo`` runs it and leaves its results in ``.local``.

Everything is what a deployment runs: the template, the state machine, the function code, the HTTP
API. With ``--crash`` the process that sends is killed right after the vendor has sent, before
anything here could know; the rest is the recovery.
"""

# ruff: noqa: T201 -- the output of the command

import argparse
import hashlib
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from fixtures.documents.freight_invoice import load, render
from local.demo.audit import export_audit, fetch_receipt, verify_export
from local.demo.checks import check_audit, check_signed
from local.demo.people import (
    DemoError,
    Vendor,
    approve,
    caller,
    kill_sender,
    read_link,
    sweep,
    wait_for,
)
from local.stack import stack
from local.stack.bring_up import bring_up
from local.stack.parameters import APPROVER
from local.stack.stack import RunningStack
from no_undo.cli.api import ApiClient

ROOT = Path(__file__).resolve().parents[2]
DATA = stack.DATA / "demo"
"""A stack of its own, so that a demo never meets what `make up` keeps."""
INVOICE = ROOT / "fixtures" / "documents" / "freight_invoice.pdf"
PROMPT = "Take this freight invoice, redact the PII, and send it to Alice and Bob for signature."
UNLISTED_PROMPT = (
    "Take this freight invoice, redact the email addresses, phone numbers and VINs, and send it to "
    "Alice and Bob for signature."
)
UNLISTED_NOTES = ["Refund to IBAN GB33 BUKB 2020 1555 5555 55", "Driver passport no. X1234567"]
"""The textbook's IBAN and a made-up number, in lines that the prompt does not speak of."""
UNLISTED_KINDS = ("IBAN", "passport number")
TITLE = "Freight Invoice"
RECIPIENTS = [
    {"name": "Alice Smith", "email": "alice@example.com"},
    {"name": "Bob Jones", "email": "bob@example.com"},
]
NAMES_ON_THE_INVOICE = ["Marcus Webb", "Dana Ruiz"]
QUICK = {"SendTimeoutSeconds": "21", "VendorTimeoutSeconds": "1"}
"""The shortest lease the settings allow, so that the crash variant need not wait for long."""


@dataclass(slots=True)
class Story:
    """Prints each step as it happens, with its time."""

    started: float = field(default_factory=time.monotonic)
    last: float = 0.0

    def tell(self, text: str) -> None:
        """Print one step: seconds since the start, seconds since the step before, what happened."""
        now = self.seconds
        print(f"{now:7.1f} s  (+{now - self.last:4.1f})  {text}", flush=True)
        self.last = now

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


def main() -> None:
    """Read the command line and run the demo."""
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("--crash", action="store_true", help="kill the sender after the send")
    parser.add_argument(
        "--unlisted", action="store_true", help="leave an IBAN and a passport number to be noticed"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="data folder of the demo")
    options = parser.parse_args()
    try:
        print(run(options.data, crash=options.crash, unlisted=options.unlisted))
    except DemoError as error:
        sys.exit(f"demo: FAILED: {error}")
    finally:
        stack.stop(options.data)


def run(data: Path, *, crash: bool, unlisted: bool = False) -> str:
    """Run the main job and return the line that says how it ended.

    Args:
        data: Data folder.
        crash: Kill the sender after the send.
        unlisted: Hand in an invoice with personal data that the sentence does not ask about.

    Raises:
        DemoError: It did not end as it should.
    """
    story = Story()
    start_afresh(data)
    running = bring_up(data, parameters=QUICK if crash else None)
    story.tell("the emulator and the vendor sandbox run; the real template is deployed")
    api, vendor = caller(running), Vendor(running)
    prompt = UNLISTED_PROMPT if unlisted else PROMPT
    request_id = submit(api, prompt, unlisted_invoice() if unlisted else INVOICE.read_bytes())
    story.tell(f"request {request_id} is taken in: {prompt}")
    follow_stages(api, request_id, story)
    link = read_link(running, APPROVER, TITLE)
    story.tell("the approver has a mail with a link of their own")
    if unlisted:
        story.tell(f"the card warns of what nobody listed: {', '.join(warned_of(link))}")
    hold = vendor.hold_send("after_effect") if crash else None
    approve(link)
    story.tell("the approver opened it, read the card, typed its two words and approved")
    if hold is not None:
        crash_sender(running, api, vendor, request_id, hold, story)
    view = wait_for_state(running, api, request_id, "AWAITING_SIGNATURE")
    story.tell(f"sent; the vendor's own record says so (attempts begun: {view['attempts']})")
    folder = wait_for(lambda: vendor.folder_of(request_id), "the envelope at the vendor")
    vendor.sign_all(folder["folder_id"])
    story.tell("Alice and Bob have signed at the vendor")
    ended = wait_for_state(running, api, request_id, "COMPLETED")
    signed = fetch_signed(api, request_id, data)
    story.tell("the signed document is checked against what was approved, and archived")
    story.tell(check_signed(signed, vendor.root_certificate()))
    story.tell(check_audit(running, request_id))
    exported = export_audit(running, results_of(data))
    story.tell(verify_export(exported))
    story.tell(fetch_receipt(api, request_id, results_of(data)))
    sends = wait_for(lambda: vendor.folder_of(request_id), "the envelope at the vendor")["sends"]
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


def submit(api: ApiClient, prompt: str, document: bytes) -> str:
    """Hand in the sentence, the invoice and the two addresses."""
    body = {
        "prompt": prompt,
        "document": {"upload_id": api.upload(document)},
        "recipients": RECIPIENTS,
        "redact_values": NAMES_ON_THE_INVOICE,
    }
    return str(api.post("/requests", body)["request_id"])


def unlisted_invoice() -> bytes:
    """Draw the invoice with further notes."""
    invoice = load()
    return render({**invoice, "notes": [*invoice["notes"], *UNLISTED_NOTES]})


def warned_of(link: str) -> list[str]:
    """Return which of the unlisted kinds the card names.

    Raises:
        DemoError: One is missing.
    """
    page = httpx.get(link, timeout=30.0).raise_for_status().text
    missing = [kind for kind in UNLISTED_KINDS if f"1 × {kind}" not in page]  # noqa: RUF001 - as the card writes it
    if missing:
        raise DemoError(f"the card does not warn of: {', '.join(missing)}")
    return list(UNLISTED_KINDS)


def follow_stages(api: ApiClient, request_id: str, story: Story) -> None:
    """Tell each reversible stage as it finishes, until people are asked."""
    told: set[str] = set()

    def look() -> dict[str, Any] | None:
        view = _open_view(api, request_id)
        for stage in view["stages_done"]:
            if stage not in told:
                told.add(stage)
                story.tell(f"stage done: {stage}")
        return view if view["approvers"] else None

    view = wait_for(look, "the plan to be proposed")
    story.tell(f"plan {view['plan_id']} is proposed, digest {view['plan_digest'][:16]}...")


def crash_sender(  # noqa: PLR0913, PLR0917 - everybody is in this scene
    running: RunningStack, api: ApiClient, vendor: Vendor, request_id: str, hold: int, story: Story
) -> None:
    """Kill the sender between the vendor's effect and our knowing of it, and wait for the truth."""
    wait_for(lambda: vendor.is_holding(hold), "the sender to stand right after the vendor's effect")
    pid = kill_sender(running)
    story.tell(f"KILLED the sender (pid {pid}): the vendor has sent, nothing here knows")
    view = wait_for(
        lambda: one if (one := _open_view(api, request_id))["in_doubt"] else None, "the doubt"
    )
    story.tell(f"state {view['state']}, in doubt: nobody calls again; waiting for the lease to end")
    wait_for_state(running, api, request_id, "AWAITING_SIGNATURE", seconds=90.0)
    story.tell("the sweep asked the system of record after the lease, and confirmed the send")


def wait_for_state(
    running: RunningStack, api: ApiClient, request_id: str, state: str, seconds: float = 60.0
) -> dict[str, Any]:
    """Run the sweep and look until the request has reached a state.

    Raises:
        DemoError: It ended in another one, or took too long.
    """

    def look() -> dict[str, Any] | None:
        view: dict[str, Any] = api.get(f"/requests/{request_id}")
        if view["state"] == state:
            return view
        if view["ending"]:
            raise DemoError(f"the request ended as {view['state']}: {view['ending']}")
        sweep(running)
        time.sleep(0.5)
        return None

    return wait_for(look, f"the state {state}", seconds)


def _open_view(api: ApiClient, request_id: str) -> dict[str, Any]:
    view = api.get(f"/requests/{request_id}")
    if view["ending"]:
        raise DemoError(f"the request ended early: {view['ending']}")
    return view


def fetch_signed(api: ApiClient, request_id: str, data: Path) -> Path:
    """Download the archived signed document as its caller would."""
    url = api.location(f"/requests/{request_id}/document")
    path = results_of(data) / "signed.pdf"
    path.write_bytes(httpx.get(url, timeout=30.0).raise_for_status().content)
    return path


def results_of(data: Path) -> Path:
    """Return where a demo leaves its results: beside its own stack, or in a folder of its own."""
    return data.parent if data == DATA else data


if __name__ == "__main__":
    main()
