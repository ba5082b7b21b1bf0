"""A sandbox under a real server in this process, and a client that speaks to it as we would."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from local.sandbox.pdf_services.rendering import render_html
from local.sandbox.server import sandbox_server
from local.sandbox.state import Credentials, Sandbox

ESIGN = "/esign/api/v1/folders"
PDF_SERVICES = "/pdf-services/api"
ALICE = {"firstName": "Alice", "lastName": "Smith", "emailId": "alice@example.com", "sequence": 1}
BOB = {"firstName": "Bob", "lastName": "Łuk", "emailId": "bob@example.com", "sequence": 2}
_PATIENCE_SECONDS = 20.0

HEADERS = {
    "User-Agent": "no-undo-tests",
    "client_id": Credentials().client_id,
    "client_secret": Credentials().client_secret,
}


class AdjustableClock:
    """Real time plus what a test has added."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        """Return seconds since the epoch."""
        return time.time() + self.ahead

    def advance(self, seconds: float) -> None:
        """Move the time on."""
        self.ahead += seconds


@dataclass(frozen=True)
class RunningSandbox:
    """One running sandbox with its state, its clock and a client."""

    state: Sandbox
    clock: AdjustableClock
    client: httpx.Client
    url: str

    def control(self, method: str, path: str, body: Any = None) -> Any:  # noqa: ANN401 -- JSON
        """Call a control route that must succeed; returns its JSON, None when it has none."""
        response = self.client.request(method, f"/_sandbox{path}", json=body)
        assert response.is_success, response.text
        return response.json() if response.content else None

    def arm(self, route: str, behaviour: str, **more: object) -> None:
        """Arm exactly one fault switch."""
        self.control("PUT", "/faults", [{"route": route, "behaviour": behaviour, **more}])

    def post(self, route: str, body: Any) -> httpx.Response:  # noqa: ANN401 -- JSON
        """POST to an eSign folder route."""
        return self.client.post(f"{ESIGN}/{route}", json=body)

    def get(self, route: str, **query: str | int) -> httpx.Response:
        """GET from an eSign folder route."""
        return self.client.get(f"{ESIGN}/{route}", params=query)

    def create(self, pdf: bytes | None = None, /, **changes: object) -> httpx.Response:
        """Create a draft for Alice and Bob; keywords replace keys of the body."""
        return self.post("createfolder", create_body(pdf or two_party_pdf(), **changes))

    def draft(self, pdf: bytes | None = None, /, **changes: object) -> int:
        """Create a draft and return its id."""
        return int(self.create(pdf, **changes).json()["folder"]["folderId"])

    def send(self, folder_id: int) -> httpx.Response:
        """Send a draft."""
        return self.post("sendDraftFolder", {"folderId": folder_id})

    def status(self, folder_id: int) -> str:
        """Return the status that the vendor shows."""
        return str(self.get("myfolder", folderId=folder_id).json()["folder"]["folderStatus"])

    def true_status(self, folder_id: int) -> str:
        """Return the status as it is."""
        return str(self.control("GET", f"/folders/{folder_id}")["status"])

    def sends(self, folder_id: int) -> int:
        """Return how often the folder's parties were e-mailed."""
        return int(self.control("GET", "/sends")[str(folder_id)])

    def sign(self, folder_id: int) -> None:
        """Let every party sign."""
        self.control("POST", f"/folders/{folder_id}/sign")


def create_body(pdf: bytes, **changes: object) -> dict[str, object]:
    """Return a createfolder body as the product sends it."""
    body: dict[str, object] = {
        "folderName": "Freight Invoice plan-1",
        "inputType": "base64",
        "base64FileString": [base64.b64encode(pdf).decode()],
        "fileNames": ["Freight Invoice.pdf"],
        "processTextTags": True,
        "processAcroFields": False,
        "sendNow": False,
        "parties": [ALICE, BOB],
    }
    return body | changes


def tagged_html(*parties: int) -> str:
    """Return a page with an invisible signature tag for each party."""
    tags = "".join(
        f'<p style="color:white;margin-top:50px">${{signfield:{n}:y:____}}</p>' for n in parties
    )
    return f"<h1>Freight Invoice</h1><p>Total due $86.86</p>{tags}"


def two_party_pdf() -> bytes:
    """Return a PDF with a tag for Alice and one for Bob."""
    return render_html(tagged_html(1, 2))


def eventually(condition: Callable[[], object]) -> None:
    """Poll until the condition is true; fails after a generous time."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < give_up, "it did not happen in time"
        threading.Event().wait(0.01)


@contextmanager
def running_sandbox(data_dir: Path) -> Generator[RunningSandbox, None, None]:
    """Run a sandbox on a free port until the block ends."""
    clock = AdjustableClock()
    state = Sandbox(data_dir, clock=clock)
    urls: list[str] = []
    server = sandbox_server(state, 0, urls.append)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: urls)
        with httpx.Client(base_url=urls[0], headers=HEADERS, timeout=10.0) as client:
            yield RunningSandbox(state, clock, client, urls[0])
    finally:
        server.should_exit = True
        thread.join()
        state.store.close()
