"""The control routes below `/_sandbox`: what a test or a demo reads and changes.

They need no credentials: the sandbox listens on loopback only and holds nothing of value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from cryptography.hazmat.primitives import serialization
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from local.sandbox.esign import folders
from local.sandbox.esign.certificates import root_of
from local.sandbox.esign.model import Folder, FolderRefusedError, FolderStatus
from local.sandbox.esign.signing import sign_folder
from local.sandbox.faults import VENDOR_ROUTES, Fault
from local.sandbox.holds import HoldRequest
from local.sandbox.pdf_services.documents import all_documents
from local.sandbox.requests_log import CONTROL_PREFIX, requests_seen
from local.sandbox.state import Sandbox, Settings
from local.sandbox.webhooks import deliveries

_FAULTS = TypeAdapter(list[Fault])


ControlHandler = Callable[[Sandbox, Request], Awaitable[Response]]


class PartyChoice(BaseModel):
    """Which party acts: a number from 1, or None for all that have not signed yet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    party: int | None = None


def _guarded(handler: ControlHandler, sandbox: Sandbox) -> Callable[[Request], Awaitable[Response]]:
    """Turn bad input into 422 and a refusal into 409, both with the reason."""

    async def endpoint(request: Request) -> Response:
        try:
            return await handler(sandbox, request)
        except ValidationError as error:
            shown = error.errors(include_input=False, include_url=False, include_context=False)
            return JSONResponse({"error": shown}, status_code=422)
        except FolderRefusedError as refusal:
            return JSONResponse({"error": str(refusal)}, status_code=409)

    return endpoint


async def _health(_sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse({"ready": True})


async def _show_faults(sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse([fault.model_dump(mode="json") for fault in sandbox.faults.armed()])


async def _set_faults(sandbox: Sandbox, request: Request) -> Response:
    context = {VENDOR_ROUTES: sandbox.vendor_routes}
    sandbox.faults.replace(_FAULTS.validate_json(await request.body(), context=context))
    return await _show_faults(sandbox, request)


async def _show_settings(sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse(sandbox.settings.model_dump(mode="json"))


async def _set_settings(sandbox: Sandbox, request: Request) -> Response:
    """Change the settings named in the body; the others stay."""
    changes = TypeAdapter(dict[str, Any]).validate_json(await request.body())
    merged = sandbox.settings.model_dump(mode="json") | changes
    sandbox.change_settings(Settings.model_validate(merged))
    return await _show_settings(sandbox, request)


async def _show_holds(sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse([hold.as_json() for hold in sandbox.holds.all()])


async def _arm_hold(sandbox: Sandbox, request: Request) -> Response:
    context = {VENDOR_ROUTES: sandbox.vendor_routes}
    wanted = HoldRequest.model_validate_json(await request.body(), context=context)
    hold = sandbox.holds.arm(wanted)
    return JSONResponse(hold.as_json(), status_code=201)


async def _release_hold(sandbox: Sandbox, request: Request) -> Response:
    released = sandbox.holds.release(request.path_params["hold_id"])
    return Response(status_code=204 if released else 404)


async def _show_folders(sandbox: Sandbox, _request: Request) -> Response:
    counts = folders.send_counts(sandbox)
    kept = folders.all_folders(sandbox)
    return JSONResponse([_folder_view(folder, counts[folder.folder_id]) for folder in kept])


async def _show_folder(sandbox: Sandbox, request: Request) -> Response:
    folder = folders.find_folder(sandbox, request.path_params["folder_id"])
    return JSONResponse(_folder_view(folder, folders.send_counts(sandbox)[folder.folder_id]))


def _folder_view(folder: Folder, sends: int) -> dict[str, Any]:
    """Return the folder as it truly is, whatever the vendor's routes show."""
    return {**folder.model_dump(mode="json"), "sends": sends}


async def _sign(sandbox: Sandbox, request: Request) -> Response:
    folder_id = request.path_params["folder_id"]
    choice = await _party_choice(request)
    folder = folders.find_folder(sandbox, folder_id)
    numbers = [choice.party] if choice.party is not None else _unsigned(folder)
    for number in numbers:
        await run_in_threadpool(sign_folder, sandbox, folder_id, number)
    return await _show_folder(sandbox, request)


def _unsigned(folder: Folder) -> list[int]:
    if folder.status is not FolderStatus.SHARED:
        raise FolderRefusedError(f"Folder {folder.folder_id} is not waiting for signatures.")
    return sorted(party.number for party in folder.parties if party.signed_ms is None)


async def _party_choice(request: Request) -> PartyChoice:
    body = await request.body()
    return PartyChoice.model_validate_json(body) if body else PartyChoice()


async def _decline(sandbox: Sandbox, request: Request) -> Response:
    number = (await _party_choice(request)).party or 1
    folder_id = request.path_params["folder_id"]
    folders.end_folder(sandbox, folder_id, FolderStatus.DECLINED, party_number=number)
    return await _show_folder(sandbox, request)


async def _expire(sandbox: Sandbox, request: Request) -> Response:
    folders.end_folder(sandbox, request.path_params["folder_id"], FolderStatus.EXPIRED)
    return await _show_folder(sandbox, request)


async def _show_sends(sandbox: Sandbox, _request: Request) -> Response:
    counts = folders.send_counts(sandbox)
    return JSONResponse({str(folder_id): count for folder_id, count in counts.items()})


async def _show_emails(sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse(folders.sent_emails(sandbox))


async def _show_requests(sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse(requests_seen(sandbox))


async def _show_documents(sandbox: Sandbox, _request: Request) -> Response:
    """Count what PDF Services has stored and what was deleted again."""
    kept = all_documents(sandbox)
    counts = Counter("deleted" if document.deleted else "stored" for document in kept)
    listed = [document.model_dump(mode="json") for document in kept]
    return JSONResponse(
        {"stored": counts["stored"], "deleted": counts["deleted"], "documents": listed}
    )


async def _show_deliveries(sandbox: Sandbox, _request: Request) -> Response:
    return JSONResponse(deliveries(sandbox))


async def _show_root(sandbox: Sandbox, _request: Request) -> Response:
    pem = root_of(sandbox.data_dir).certificate.public_bytes(serialization.Encoding.PEM)
    return Response(pem, media_type="application/x-pem-file")


async def _reset(sandbox: Sandbox, _request: Request) -> Response:
    sandbox.reset()
    return Response(status_code=204)


_HANDLERS: tuple[tuple[str, str, ControlHandler], ...] = (
    ("GET", "/health", _health),
    ("GET", "/faults", _show_faults),
    ("PUT", "/faults", _set_faults),
    ("GET", "/settings", _show_settings),
    ("PUT", "/settings", _set_settings),
    ("GET", "/holds", _show_holds),
    ("POST", "/holds", _arm_hold),
    ("DELETE", "/holds/{hold_id:int}", _release_hold),
    ("GET", "/folders", _show_folders),
    ("GET", "/folders/{folder_id:int}", _show_folder),
    ("POST", "/folders/{folder_id:int}/sign", _sign),
    ("POST", "/folders/{folder_id:int}/decline", _decline),
    ("POST", "/folders/{folder_id:int}/expire", _expire),
    ("GET", "/sends", _show_sends),
    ("GET", "/emails", _show_emails),
    ("GET", "/requests", _show_requests),
    ("GET", "/documents", _show_documents),
    ("GET", "/webhooks/deliveries", _show_deliveries),
    ("GET", "/ca.pem", _show_root),
    ("POST", "/reset", _reset),
)


def control_routes(sandbox: Sandbox) -> list[Route]:
    """Make the control routes."""
    return [
        Route(CONTROL_PREFIX + path, _guarded(handler, sandbox), methods=[method])
        for method, path, handler in _HANDLERS
    ]
