"""What an AWS call is, read from the request as an SDK signs it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_SCOPE = re.compile(r"Credential=[^/]+/\d{8}/[^/]+/([^/]+)/aws4_request")
_TABLE = re.compile(r'"TableName":\s*"([^"]+)"')
_INDEX = re.compile(r'"IndexName":\s*"([^"]+)"')
_REST_OPERATIONS = (
    ("POST", re.compile(r"/2015-03-31/functions/[^/]+/invocations"), "Invoke"),
    ("POST", re.compile(r"/v2/email/outbound-emails"), "SendEmail"),
)


@dataclass(frozen=True, slots=True)
class AwsCall:
    """One call.

    Attributes:
        service: The name that the request is signed for, such as `dynamodb`, `ses`, `lambda`.
        operation: Such as `TransactWriteItems`; of a REST service the ones that faults are armed
            for, else the HTTP method.
        tables: The DynamoDB tables it names.
        index: The index that a query names, or empty.
        items: How many parts a DynamoDB transaction has.
        text: The body as text.
    """

    service: str
    operation: str
    tables: frozenset[str]
    index: str
    items: int
    text: str


def read_call(method: str, path: str, headers: Mapping[str, str], body: bytes) -> AwsCall:
    """Say what a request asks for; `headers` are in lower case."""
    scope = _SCOPE.search(headers.get("authorization", ""))
    service = scope.group(1) if scope else ""
    text = body.decode("utf-8", errors="replace")
    target = headers.get("x-amz-target", "").rpartition(".")[2]
    index = _INDEX.search(text)
    return AwsCall(
        service=service,
        operation=target or _rest_operation(method, path),
        tables=frozenset(_TABLE.findall(text)),
        index=index.group(1) if index else "",
        items=_transaction_size(target, text),
        text=text,
    )


def _rest_operation(method: str, path: str) -> str:
    for known_method, pattern, operation in _REST_OPERATIONS:
        if method == known_method and pattern.fullmatch(path):
            return operation
    return method


def _transaction_size(operation: str, text: str) -> int:
    return len(json.loads(text)["TransactItems"]) if operation == "TransactWriteItems" else 0
