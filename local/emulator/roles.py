"""What roles may do: the role of a state machine, and whose name mail is sent in.

Gap: function roles are enforced, the role of a state machine is not.
AWS: every task runs with the machine's role; a missing permission fails the task with the
    service's ``AccessDeniedException`` (Step Functions guide, "IAM policies for integrated
    services"; the exact error text is believed, not recorded).
Correction: ``lambda:InvokeFunction`` and the DynamoDB integrations are checked with the emulator's
    own policy evaluator. Other integrations are **not** checked.

Gap: SES v2 ``SendEmail`` is authorized on ``*``, so a policy that names an identity never matches.
AWS: it is authorized on the sending identity and the configuration set (Service Authorization
    Reference, Amazon SES).
Correction: it is authorized on the identity of ``FromEmailAddress``; the configuration set is
    **not** checked.

Gap: the condition key ``s3:if-none-match`` is absent, so a policy that asks for conditional writes
    refuses every write.
AWS: it holds the header of a ``PutObject`` (S3 user guide, "Enforce conditional writes").
Correction: it is taken from the header.
"""

# ruff: noqa: SLF001 -- corrections reach into private parts of the emulator; pins guard them

import contextvars
import hashlib
import json
from collections.abc import Callable
from email.utils import parseaddr
from typing import Any

from local.emulator import pins

_ACTION_BY_INTEGRATION = {
    "arn:aws:states:::dynamodb:getItem": "dynamodb:GetItem",
    "arn:aws:states:::dynamodb:putItem": "dynamodb:PutItem",
    "arn:aws:states:::dynamodb:updateItem": "dynamodb:UpdateItem",
    "arn:aws:states:::dynamodb:deleteItem": "dynamodb:DeleteItem",
}
_SERVICE_NAMES = {"lambda": "Lambda", "dynamodb": "DynamoDB"}

Json = dict[str, Any]


class _MachineRole:
    """Evaluates the role of the state machine that the current thread works for."""

    def __init__(self, service: Any) -> None:  # noqa: ANN401 the emulator's module
        self._service = service
        self._evaluator = pins.module("core.iam_evaluator")
        self._scope = pins.module("core.responses")
        self._sessions = pins.module("services.sts")
        self._role: contextvars.ContextVar[str] = contextvars.ContextVar("machine_role", default="")
        pins.pinned(self._evaluator, "resolve_principal", "b6c6131e24bf")
        pins.pinned(self._evaluator, "evaluate", "2a5dd6932d1a")
        pins.pinned(self._sessions, "register_session", "a84ec986ec01")

    def remember(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def run(state: Json, data: object, execution: Json | None, context: Json) -> object:
            machine_arn = (execution or {}).get("stateMachineArn", "")
            machine: Json = self._service._state_machines.get(machine_arn) or {}
            self._role.set(machine.get("roleArn", ""))
            return execute(state, data, execution, context)

        return run

    def require(self, action: str, resource_arn: str) -> None:
        """Raise the task error AWS reports unless the machine's role allows the action."""
        if not self._role.get():
            return
        evaluator, account = self._evaluator, self._scope.get_account_id()
        principal = evaluator.resolve_principal(self._session_key(account), account)
        request = evaluator.EvalContext(
            principal_arn=principal.arn,
            principal_type=principal.type,
            principal_account=principal.account,
            action=action,
            resource_arn=resource_arn,
            region=self._scope.get_region(),
            principal_keys=principal.keys,
        )
        if evaluator.evaluate(request, principal.policies, *principal.limits).decision == "Allow":
            return
        raise self._service._ExecutionError(
            f"{_SERVICE_NAMES[action.split(':', maxsplit=1)[0]]}.AccessDeniedException",
            f"User: {principal.arn} is not authorized to perform: {action} "
            f"on resource: {resource_arn}",
        )

    def _session_key(self, account: str) -> str:
        """Return the access key of a session of the role, registering it if it is new."""
        role = self._role.get()
        name, seed = role.rsplit("/", 1)[-1], hashlib.sha256(role.encode()).hexdigest()
        key = f"ASIA{seed[:16].upper()}"
        session = {
            "Arn": f"arn:aws:sts::{account}:assumed-role/{name}/states",
            "UserId": f"{name}:states",
            "SecretAccessKey": seed,
            "SessionToken": seed,
        }
        self._sessions.register_session(key, session)
        return key

    def before_lambda(self, call: Callable[..., Any]) -> Callable[..., Any]:
        functions = pins.module("services.lambda_svc")
        pins.pinned(functions, "_get_func_record_for_ref", "492b4efe8f90")

        def run(function: str, event: object) -> object:
            _, config, _ = functions._get_func_record_for_ref(function)
            if config:
                self.require("lambda:InvokeFunction", config["FunctionArn"])
            return call(function, event)

        return run

    def before_table(self, action: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(resource: str, request: Json) -> object:
            account, region = self._scope.get_account_id(), self._scope.get_region()
            name = str(request.get("TableName", "")).rsplit("/", 1)[-1]
            self.require(action, f"arn:aws:dynamodb:{region}:{account}:table/{name}")
            return call(resource, request)

        return run


def _sender_identity(original: Callable[..., str]) -> Callable[..., str]:
    def resource_arn(method: str, path: str, body: bytes, region: str, account_id: str) -> str:
        if method == "POST" and path.rstrip("/") == "/v2/email/outbound-emails":
            sender = parseaddr(json.loads(body or b"{}").get("FromEmailAddress", ""))[1]
            if sender:
                return f"arn:aws:ses:{region}:{account_id}:identity/{sender}"
        return original(method, path, body, region, account_id)

    return resource_arn


def _conditional_write(original: Callable[..., Json]) -> Callable[..., Json]:
    def context(action: str, query: Json, path: str, headers: Json) -> Json:
        found = original(action, query, path, headers)
        header = headers.get("if-none-match")
        return {**found, "s3:if-none-match": header} if header else found

    return context


def install() -> None:
    """Run the tasks of a state machine with its role, and send mail as the identity it names."""
    actions = pins.module("core.iam_actions")
    pins.replace(actions, "_ses_v2_resource_arn", "96f8ace790be", _sender_identity)
    pins.replace(actions, "_s3_object_context", "3a43e6ca9f51", _conditional_write)
    service = pins.module("services.stepfunctions")
    role = _MachineRole(service)
    service._execute_task = role.remember(service._execute_task)
    service._call_lambda = role.before_lambda(service._call_lambda)
    for integration, action in _ACTION_BY_INTEGRATION.items():
        call = service._SERVICE_DISPATCH[integration]
        service._SERVICE_DISPATCH[integration] = role.before_table(action, call)
