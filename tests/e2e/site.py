"""A deployment on the emulator and everybody around it: callers, approvers, signers, a killer."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3
import httpx
from botocore.exceptions import ClientError

from local.demo.people import DemoError, Vendor, approve, caller, sweep, wait_for, workers_of
from local.sandbox.state import Credentials
from local.stack import stack
from local.stack.aws import REGION, error_code
from local.stack.bring_up import bring_up
from local.stack.inbox import messages
from no_undo.cli.api import ApiClient, ApiError
from no_undo.domain.audit_chain import AuditRecord, verify_chain

if TYPE_CHECKING:
    from collections.abc import Generator

    from local.stack.stack import RunningStack

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "documents"
INVOICE: dict[str, Any] = json.loads((FIXTURES / "freight_invoice.json").read_text())
INVOICE_PDF = FIXTURES / "freight_invoice.pdf"
NAMES = ["Marcus Webb", "Dana Ruiz"]

QUICK = {
    "SendTimeoutSeconds": "23",
    "VendorTimeoutSeconds": "3",
    "DriverCheckSeconds": "3",
    "SweepSchedule": "rate(1 hour)",
    "AuditExportSchedule": "rate(1 hour)",
}
"""A short lease of 26 seconds that still leaves time to kill a sender inside its call, and no
sweep but those that a test asks for."""
AT_ONCE = 4
"""Callers at once; with the state machine's own work they stay below the emulator's limit."""


class KeptTransport(httpx.HTTPTransport):
    """One transport for all calls of the API; making one anew costs more than a call."""

    def __init__(self) -> None:
        super().__init__(limits=httpx.Limits(max_keepalive_connections=0))

    def close(self) -> None:
        """Stay open: each call would close it, and no connection is kept anyway."""

    def __exit__(self, *_error: object) -> None:
        """Stay open, as `close`."""


class Sandbox(Vendor):
    """The vendor sandbox with the switches that tests turn."""

    def __init__(self, running: RunningStack) -> None:
        super().__init__(running)
        self._control = f"{running.url('sandbox')}/_sandbox"

    def hold(self, route: str, point: str, folder_id: int | None = None) -> int:
        """Stop the next call of a route `before_effect` or `after_effect`; return the hold's id."""
        body = {"route": route, "point": point, "folder": folder_id}
        answer = httpx.post(f"{self._control}/holds", json=body, timeout=10).raise_for_status()
        return int(answer.json()["id"])

    @contextmanager
    def misbehaving(self, route: str, behaviour: str, **how: object) -> Generator[None]:
        """Arm one fault switch for as long as the block runs."""
        self._put("faults", [{"route": route, "behaviour": behaviour, **how}])
        try:
            yield
        finally:
            self._put("faults", [])

    @contextmanager
    def lying(self, **switches: object) -> Generator[None]:
        """Turn switches of the extraction and redaction vendor for as long as the block runs."""
        self._put("nutrient/switches", switches)
        try:
            yield
        finally:
            self._put("nutrient/switches", {})

    def settings(self, **changes: object) -> None:
        """Change standing choices."""
        self._put("settings", changes)

    def end(self, folder_id: int, how: str) -> None:
        """Let a sent envelope end unsigned: `decline` or `expire`."""
        httpx.post(f"{self._control}/folders/{folder_id}/{how}", timeout=10).raise_for_status()

    def send_outside(self, folder_id: int) -> None:
        """Send a draft as somebody with the vendor's keys would, past everything of ours."""
        pair = Credentials()
        headers = {
            "client_id": pair.client_id,
            "client_secret": pair.client_secret,
            "user-agent": "somebody-else/1.0",
        }
        base = self._control.removesuffix("/_sandbox")
        httpx.post(
            f"{base}/esign/api/v1/folders/sendDraftFolder",
            json={"folderId": folder_id},
            headers=headers,
            timeout=10,
        ).raise_for_status()

    def calls(self, route: str) -> int:
        """Return how many calls of a route have reached the vendor."""
        seen: list[dict[str, Any]] = self._get("/requests").json()
        return sum(one["route"] == route for one in seen)

    def documents(self) -> dict[str, Any]:
        """Return how many documents PDF Services still stores and how many it deleted again."""
        documents: dict[str, Any] = self._get("/documents").json()
        return documents

    def _put(self, path: str, body: object) -> None:
        httpx.put(f"{self._control}/{path}", json=body, timeout=10).raise_for_status()


@dataclass(frozen=True)
class Disturbance:
    """The fault proxy between functions and AWS (`local/fault_proxy/README.md`).

    Attributes:
        url: Where it listens.
    """

    url: str

    def arm(self, faults: Iterable[Mapping[str, object]]) -> None:
        """Arm exactly these faults."""
        httpx.put(f"{self.url}/_faults", json=list(faults), timeout=10).raise_for_status()

    def hits(self) -> list[int]:
        """Return how many calls each fault has acted on."""
        return [int(one["hits"]) for one in self._shown()]

    def holds(self, number: int) -> bool | None:
        """Return True while a fault holds a call, else None."""
        return True if self._shown()[number]["holding"] else None

    def _shown(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = httpx.get(f"{self.url}/_faults", timeout=10).json()
        return shown


@dataclass(frozen=True)
class Site:
    """One deployment.

    Attributes:
        running: Addresses, outputs and data folder.
        api: The API as the laptop's caller sees it.
        vendor: The sandbox's control side.
    """

    running: RunningStack
    api: ApiClient
    vendor: Sandbox

    # Callers

    def body(self, name: str, *, redact: bool = False, **changes: object) -> dict[str, Any]:
        """Return a good request body; the people are of this name alone, so no fence is held."""
        wish = "redact the PII, and send it" if redact else "and send it without redaction"
        asked = {"redact_values": NAMES} if redact else {}
        return {
            "prompt": f"Take this {name} invoice, {wish} for signature.",
            "document": {"invoice": INVOICE},
            "recipients": people(name),
            **asked,
            **changes,
        }

    def submit(self, name: str, *, redact: bool = False, **changes: object) -> str:
        """Hand in a request, again while the API is busy, and return its id."""
        return self.api.submit(self.body(name, redact=redact, **changes), uuid4().hex)

    def as_caller(self, access_key_id: str, secret_access_key: str) -> ApiClient:
        """Return the API as somebody else sees it."""
        session = boto3.Session(access_key_id, secret_access_key, region_name=REGION)
        return ApiClient(self.running.outputs["ApiUrl"], session, KeptTransport())

    def view(self, request_id: str) -> dict[str, Any]:
        """Return what the caller sees; asks again for as long as the API is busy."""

        def look() -> dict[str, Any] | None:
            try:
                return self.api.get(f"/requests/{request_id}")
            except ApiError as error:
                if error.may_pass:
                    return None
                raise

        return wait_for(look, "an API that is less busy")

    def wait(self, request_id: str, *states: str, seconds: float = 90.0) -> dict[str, Any]:
        """Sweep and look until the request is in one of these states."""

        def look() -> dict[str, Any] | None:
            view = self.view(request_id)
            if view["state"] in states:
                return view
            assert view["ending"] is None, view["ending"]
            self.sweep()
            return None

        return wait_for(look, " or ".join(states), seconds)

    def ended(self, request_id: str, seconds: float = 90.0) -> dict[str, Any]:
        """Wait, without a sweep, until the request has ended one way or the other."""
        return wait_for(
            lambda: view if (view := self.view(request_id))["ending"] else None, "an end", seconds
        )

    def sweep(self) -> None:
        """Run the sweep now; one that finds the account full is left to the next one."""
        try:
            sweep(self.running)
        except ClientError as error:
            if error_code(error) != "TooManyRequestsException":
                raise

    # Approvers and signers

    def link(self, request_id: str) -> str:
        """Wait for the mail about a request's plan and return its link."""

        def plan_id() -> str | None:
            view = self.view(request_id)
            assert view["ending"] is None, view["ending"]
            return view["plan_id"] or None

        number = wait_for(plan_id, "the plan", 90).rpartition("#")[2]
        reference = f"{request_id[-8:].upper()}-{number}"

        def mailed() -> str | None:
            texts = [str(one["BodyText"]) for one in messages(self.running.url("emulator"))]
            return next((link_in(text) for text in texts if reference in text), None)

        return wait_for(mailed, "the approver's mail")

    def prepared(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Hand in requests, a few at a time, and wait until people are asked.

        Args:
            requests: Names, and what each body has that others have not.

        Returns:
            Links by request id, in the order of the names.
        """

        def prepare(name: str) -> tuple[str, str]:
            request_id = self.submit(name, **requests[name])
            return request_id, self.link(request_id)

        with ThreadPoolExecutor(AT_ONCE) as callers:
            return dict(callers.map(prepare, requests))

    def approve_all(self, links: Iterable[str]) -> None:
        """Approve all at once, each again while the API is busy."""

        def approved(link: str) -> bool | None:
            try:
                approve(link)
            except DemoError:
                return None
            return True

        def insist(link: str) -> bool:
            return wait_for(lambda: approved(link), "an approval")

        with ThreadPoolExecutor(AT_ONCE) as approvers:
            list(approvers.map(insist, links))

    def sent(self, name: str, *, redact: bool = False, **changes: object) -> str:
        """Take a request through approval until it is sent, and return its id."""
        request_id = self.submit(name, redact=redact, **changes)
        approve(self.link(request_id))
        self.wait(request_id, "AWAITING_SIGNATURE")
        return request_id

    def folder_id(self, request_id: str) -> int:
        """Return the envelope of a request."""
        folder = self.vendor.folder_of(request_id)
        assert folder is not None, "there is no envelope"
        return int(folder["folder_id"])

    def signed(self, request_id: str) -> dict[str, Any]:
        """Let everybody sign and wait for the end."""
        self.vendor.sign_all(self.folder_id(request_id))
        return self.wait(request_id, "COMPLETED")

    def sends(self, request_id: str) -> int:
        """Return how often the vendor mailed the signers of a request's envelope."""
        folder = self.vendor.folder_of(request_id)
        return 0 if folder is None else int(folder["sends"])

    # What is stored

    @cached_property
    def tables(self) -> dict[str, str]:
        """The tables' names by what they hold, such as `Plans`."""
        names: list[str] = self.running.aws.client("dynamodb").list_tables()["TableNames"]
        return {name.split("-")[-2].removesuffix("Table"): name for name in names}

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return every row of a table as it is stored."""
        scan = self.running.aws.client("dynamodb").get_paginator("scan")
        pages = scan.paginate(TableName=self.tables[table], ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def keys(self, prefix: str) -> set[str]:
        """Return the keys of the stored objects below a prefix, versions that were hidden too."""
        versions = self.running.aws.client("s3").get_paginator("list_object_versions")
        bucket = self.running.outputs["DocumentsBucketName"]
        pages = versions.paginate(Bucket=bucket, Prefix=prefix)
        return {one["Key"] for page in pages for one in page.get("Versions", [])}

    def chain(self, request_id: str) -> list[dict[str, Any]]:
        """Return the records of a request's audit chain, in order, once the chain verifies."""
        rows = [one for one in self.rows("Audit") if one["chain_id"]["S"] == request_id]
        rows.sort(key=lambda one: int(one["seq"]["N"]))
        records = [
            AuditRecord(request_id, int(one["seq"]["N"]), one["line"]["S"], one["hash"]["S"])
            for one in rows
        ]
        verify_chain(request_id, records)
        return [json.loads(record.line) for record in records]

    def kinds(self, request_id: str) -> list[str]:
        """Return what the audit chain of a request tells, in order."""
        return [str(record["kind"]) for record in self.chain(request_id)]

    # Machines

    def execution_arn(self, name: str) -> str:
        """Return the ARN of an execution by its name."""
        machine = self.running.outputs["StateMachineArn"]
        return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"

    def execution(self, name: str) -> str | None:
        """Return an execution's status, or None when there is no such one."""
        client = self.running.aws.client("stepfunctions")
        with suppress(client.exceptions.ExecutionDoesNotExist):
            found = client.describe_execution(executionArn=self.execution_arn(name))
            return str(found["status"])
        return None

    def function(self, capability: str) -> dict[str, Any]:
        """Return the configuration of a function, such as `SendEnvelope`."""
        pages = self.running.aws.client("lambda").get_paginator("list_functions").paginate()
        found = (one for page in pages for one in page["Functions"])
        return next(one for one in found if f"-{capability}Function-" in one["FunctionName"])

    @contextmanager
    def disturbed(self, *faults: Mapping[str, object]) -> Generator[Disturbance]:
        """Let AWS calls of functions go wrong for as long as the block runs."""
        disturbance = Disturbance(self.running.url("fault_proxy"))
        disturbance.arm(faults)
        try:
            yield disturbance
        finally:
            disturbance.arm(())

    def kill_in_call(self, hold: int, capability: str) -> None:
        """Wait until a vendor call is held, and kill whatever runs the function that made it."""
        wait_for(lambda: self.vendor.is_holding(hold), "the held call")
        self.kill(capability)

    def kill(self, capability: str) -> None:
        """Kill whatever runs a function now."""
        workers = workers_of(self.running, capability)
        assert workers, f"no process runs {capability}"
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    def kill_emulator(self) -> None:
        """Kill the emulator once it has saved what was done, and start it again."""
        file = self.running.data / "emulator" / "state" / "dynamodb.json"
        for _ in range(2):  # services are saved in turn: the second save of one is past all others
            wait_for(partial(saved_since, file, time.time()), "a save")
        stack.kill(self.running.data, "emulator")
        stack.start(self.running.data)


def saved_since(file: Path, asked: float) -> bool | None:
    """Return True once a file was written after a moment, else None."""
    return (file.exists() and file.stat().st_mtime > asked) or None


def link_in(text: str) -> str:
    """Return the approval link in a mail's text."""
    return next(word for word in text.split() if "/approvals/" in word)


def people(name: str, count: int = 2) -> list[dict[str, str]]:
    """Return recipients that nobody else has."""
    return [
        {"name": f"{first} {name}", "email": f"{first.lower()}.{name.lower()}@example.com"}
        for first in ("Alice", "Bob", *(f"Person{number}" for number in range(3, count + 1)))
    ][:count]


@contextmanager
def site_in(data: Path, build: Path, parameters: Mapping[str, str]) -> Generator[Site]:
    """Run a deployment for as long as the block runs.

    Args:
        data: Its data folder.
        build: Folder with what was built before, shared by the deployments of a session.
        parameters: Template parameters.
    """
    data.mkdir(parents=True, exist_ok=True)
    (data / "build").symlink_to(build)
    try:
        running = bring_up(data, fault_proxy=True, parameters=parameters)
        api = replace(caller(running), transport=KeptTransport())
        yield Site(running, api, Sandbox(running))
    finally:
        stack.stop(data)
