"""What a caller learns when function code fails.

Gap: a Python exception reaches the caller as ``Runtime.HandlerError``, and so does the death of
    the process; a module that cannot be imported is a ``RuntimeError``.
AWS: ``errorType`` is the exception's class name, beside ``errorMessage``, ``requestId`` and
    ``stackTrace`` (Lambda developer guide, "Lambda function errors in Python"). A process that
    dies reports ``Runtime.ExitError`` with "RequestId: ... Error: Runtime exited with error: ..."
    and a run over its time reports ``Sandbox.Timedout`` with "RequestId: ... Error: Task timed out
    after 3.00 seconds". A failed import is ``Runtime.ImportModuleError``, "Unable to import module
    'app': ..." (Lambda guide, "Troubleshoot deployment issues").
Correction: the worker reports class and stack; the invoke answer carries them.

``SystemExit`` in a handler ends the worker and is reported as a kill; AWS words it "exit status".
"""

import re
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
_EMULATOR_START_REPORT = (
    '_real_stdout.write(json.dumps({"status": "error", "error": str(e)}) + "\\n")'
)
_OUR_START_REPORT = (
    '_real_stdout.write(json.dumps({"status": "error", "error": '
    'type(e).__name__ + ": " + str(e)}) + "\\n")'
)
_FAILED_START = re.compile(r"Worker init failed: (\w+): (.*)", re.DOTALL)
_IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError")
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


def start_error_payload(message: str, handler: str) -> Answer | None:
    """Return the payload AWS sends when a function's module fails while it is imported.

    Args:
        message: The emulator's note on why the worker did not start.
        handler: The function's handler, such as ``app.handler``.
    """
    found = _FAILED_START.fullmatch(message)
    if found is None:
        return None
    error_type, text = found.groups()
    if error_type in _IMPORT_ERRORS:
        module_name = handler.rpartition(".")[0]
        text = f"Unable to import module '{module_name}': {text}"
        error_type = "Runtime.ImportModuleError"
    return {"errorMessage": text, "errorType": error_type}


def install() -> None:
    """Report failures of function code as Lambda does."""
    runtime, service = pins.module("core.lambda_runtime"), pins.module("services.lambda_svc")
    pins.replace_text(runtime, "_PYTHON_WORKER_SCRIPT", _EMULATOR_REPORT, _OUR_REPORT)
    pins.replace_text(runtime, "_PYTHON_WORKER_SCRIPT", _EMULATOR_START_REPORT, _OUR_START_REPORT)
    last = threading.local()

    def around_invoke(invoke: Callable[..., Answer]) -> Callable[..., Answer]:
        def run(worker: object, event: object, request_id: str, **options: object) -> Answer:
            answer = invoke(worker, event, request_id, **options)
            failed = answer.get("status") == "error"
            last.payload = error_payload(answer, request_id) if failed else None
            return answer

        return run

    def around_execute(execute: Callable[..., Answer]) -> Callable[..., Answer]:
        def run(function: Answer, event: object, request_id: str) -> Answer:
            last.payload = None
            result = execute(function, event, request_id)
            if result.get("error"):
                message = str(result["body"].get("errorMessage", ""))
                handler = function["config"].get("Handler", "")
                payload = last.payload or start_error_payload(message, handler)
                result["body"] = payload or result["body"]
            return result

        return run

    pins.replace(runtime.Worker, "invoke", "96751a754710", around_invoke)
    pins.replace(service, "_execute_function_warm", "62b9218bef5b", around_execute)
