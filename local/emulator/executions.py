"""Starting an execution twice.

Gap: a second start with the same name is always refused with ``ExecutionAlreadyExists``.
AWS: for a Standard workflow a second start with the same name **and input** succeeds and answers
    with the first one while that still runs; with another input, or after it ended, it is refused
    (API reference, StartExecution, "StartExecution is idempotent for STANDARD workflows").
Correction: the same.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

from collections.abc import Callable
from typing import Any

from local.emulator import pins

Json = dict[str, Any]


def install() -> None:
    """Make a repeated start of a running execution answer with that execution."""
    service, scope = pins.module("services.stepfunctions"), pins.module("core.responses")
    pins.pinned(service, "_resolve_state_machine_arn", "e054a309ee54")

    def find_running(request: Json) -> Json | None:
        machine_arn = service._resolve_state_machine_arn(request.get("stateMachineArn", ""))
        machine: Json | None = service._state_machines.get(machine_arn or "")
        if machine is None:
            return None
        region, account = scope.get_region(), scope.get_account_id()
        name = f"{machine['name']}:{request.get('name', '')}"
        found: Json | None = service._executions.get(
            f"arn:aws:states:{region}:{account}:execution:{name}"
        )
        same = found is not None and found["input"] == request.get("input", "{}")
        return found if same and found is not None and found["status"] == "RUNNING" else None

    def idempotent(start: Callable[[Json], Any]) -> Callable[[Json], Any]:
        def run(request: Json) -> object:
            running = find_running(request)
            if running is None:
                return start(request)
            answer = {name: running[name] for name in ("executionArn", "startDate")}
            return service.json_response(answer)

        return run

    pins.replace(service, "_start_execution", "9923282fc76c", idempotent)
