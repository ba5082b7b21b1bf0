"""What a caller learns when function code fails.

Gap: a Python exception reaches the caller as ``Runtime.HandlerError``, and so does the death of
    the process.
AWS: ``errorType`` is the exception's class name, beside ``errorMessage``, ``requestId`` and
    ``stackTrace`` (Lambda developer guide, "Lambda function errors in Python"). A process that
    dies reports ``Runtime.ExitError`` with "RequestId: ... Error: Runtime exited with error: ..."
    and a run over its time reports ``Sandbox.Timedout`` with "RequestId: ... Error: Task timed out
    after 3.00 seconds".
Correction: the worker reports class and stack; the invoke answer carries them.

``SystemExit`` in a handler ends the worker and is reported as a kill; AWS words it "exit status".
"""

import threading
from collections.abc import Callable
from typing import Any

from local.emulator import pins

_EMULATOR_REPORT = (
    'json.dumps({"status": "error", "error": str(e), "trace": traceback.format_exc()})'
)
_OUR_REPORT = (
    'json.dumps({"status": "error", "error": str(e), "trace": traceback.format_exc(), '
    '"type": type(e).__name__, "stack": traceback.format_tb(e.__traceback__)[1:]})'
)
_DEAD_WORKER = ("Worker process died", "Broken pipe")

Answer = dict[str, Any]


def error_payload(answer: Answer, request_id: str) -> Answer | None:
    """Return the payload AWS sends for a failed run, or None to keep the emulator's.

    Args:
        answer: What the worker answered, or the emulator's note on why it did not.
        request_id: The invocation's id.
    """
    message = str(answer.get("error", ""))
    if "type" in answer:
        return {
            "errorMessage": message,
            "errorType": answer["type"],
            "requestId": request_id,
            "stackTrace": answer["stack"],
        }
    if any(sign in message for sign in _DEAD_WORKER):
        text = f"RequestId: {request_id} Error: Runtime exited with error: signal: killed"
        return {"errorMessage": text, "errorType": "Runtime.ExitError"}
    if message.startswith("Task timed out"):
        text = f"RequestId: {request_id} Error: {message}"
        return {"errorMessage": text, "errorType": "Sandbox.Timedout"}
    return None


def install() -> None:
    """Report failures of function code as Lambda does."""
    runtime, service = pins.module("core.lambda_runtime"), pins.module("services.lambda_svc")
    pins.replace_text(runtime, "_PYTHON_WORKER_SCRIPT", _EMULATOR_REPORT, _OUR_REPORT)
    last = threading.local()

    def around_invoke(invoke: Callable[..., Answer]) -> Callable[..., Answer]:
        def run(worker: object, event: object, request_id: str, **options: object) -> Answer:
            answer = invoke(worker, event, request_id, **options)
            failed = answer.get("status") == "error"
            last.payload = error_payload(answer, request_id) if failed else None
            return answer

        return run

    def around_execute(execute: Callable[..., Answer]) -> Callable[..., Answer]:
        def run(function: object, event: object, request_id: str) -> Answer:
            last.payload = None
            result = execute(function, event, request_id)
            if result.get("error") and last.payload:
                result["body"] = last.payload
            return result

        return run

    pins.replace(runtime.Worker, "invoke", "96751a754710", around_invoke)
    pins.replace(service, "_execute_function_warm", "62b9218bef5b", around_execute)
