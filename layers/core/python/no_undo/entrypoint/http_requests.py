"""The parts of an API Gateway HTTP API event (payload format 2.0) that the functions use.

The raw path is not among them: it holds approval tokens, and what is not kept cannot be logged.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Self, cast
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field

from no_undo.domain.errors import InvalidRequestError

MAX_JSON_BYTES = 256 * 1024
MAX_FORM_BYTES = 64 * 1024
MAX_FORM_FIELDS = 200
_FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, as the authorizer says; never taken from a body or a header.

    Attributes:
        identity: IAM user ARN, or the token's subject.
        tenant: AWS account id, or the token's tenant claim.
    """

    identity: str
    tenant: str


class _EventModel(BaseModel):
    # AWS adds keys over time. Values stay out of error texts: they may be tokens (P10).
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class _Http(_EventModel):
    method: str


class _Iam(_EventModel):
    account_id: str = Field(alias="accountId", min_length=1)
    user_arn: str = Field(alias="userArn", min_length=1)


class _Jwt(_EventModel):
    claims: dict[str, Any] = Field(default_factory=dict[str, Any], repr=False)


class _Authorizer(_EventModel):
    iam: _Iam | None = None
    jwt: _Jwt | None = None


class _RequestContext(_EventModel):
    http: _Http
    request_id: str = Field(default="", alias="requestId")
    authorizer: _Authorizer | None = None


class HttpRequest(_EventModel):
    """One request; header names are lower case, as the gateway sends them.

    Attributes:
        route_key: For example `GET /approvals/{token}`.
        path_parameters: Decoded path parameters; kept out of `repr` because they hold tokens.
        query: Query parameters; repeated ones arrive joined by commas.
    """

    route_key: str = Field(default="", alias="routeKey")
    raw_headers: dict[str, str] = Field(default_factory=dict[str, str], alias="headers", repr=False)
    path_parameters: dict[str, str] = Field(
        default_factory=dict[str, str], alias="pathParameters", repr=False
    )
    query: dict[str, str] = Field(
        default_factory=dict[str, str], alias="queryStringParameters", repr=False
    )
    raw_body: str = Field(default="", alias="body", repr=False)
    is_base64_encoded: bool = Field(default=False, alias="isBase64Encoded")
    context: _RequestContext = Field(alias="requestContext", repr=False)

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """Read an event; keys that the gateway sends as null count as absent."""
        return cls.model_validate({key: part for key, part in event.items() if part is not None})

    @property
    def method(self) -> str:
        """The HTTP method, upper case."""
        return self.context.http.method.upper()

    @property
    def headers(self) -> dict[str, str]:
        """All headers with lower-case names (RFC 9110 5.1: names ignore case)."""
        return {name.lower(): value for name, value in self.raw_headers.items()}

    @property
    def content_type(self) -> str:
        """Media type without parameters, lower case; empty when absent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def body(self, *, max_bytes: int) -> bytes:
        """Return the decoded body.

        Raises:
            InvalidRequestError: Larger than `max_bytes`, or not the base64 it claims to be.
        """
        # Four characters carry three bytes: refuse before decoding what would be too large.
        if len(self.raw_body) > (max_bytes + 2) // 3 * 4:
            _refuse(f"The body must be at most {max_bytes} bytes.")
        body = self._decoded()
        if len(body) > max_bytes:
            _refuse(f"The body must be at most {max_bytes} bytes.")
        return body

    def json_body(self, *, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
        """Return the body as a JSON object.

        Raises:
            InvalidRequestError: Too large, not UTF-8, not JSON, not an object, a repeated key, or
                a number that JSON or a double does not have (NaN, 1e999).
        """
        try:
            value: object = json.loads(
                self.body(max_bytes=max_bytes).decode("utf-8"),
                object_pairs_hook=_object_once,
                parse_constant=_refuse_constant,
                parse_float=_finite,
            )
        except (ValueError, RecursionError):  # not UTF-8, not JSON, a number of thousands of digits
            # Not chained: the cause would carry the document text (P10).
            raise InvalidRequestError("The body must be a JSON object in UTF-8.") from None
        if not isinstance(value, dict):
            _refuse("The body must be a JSON object.")
        return cast("dict[str, Any]", value)

    def form(
        self, *, max_bytes: int = MAX_FORM_BYTES, max_fields: int = MAX_FORM_FIELDS
    ) -> dict[str, str]:
        """Return the fields of a posted form; line ends are line feeds.

        Raises:
            InvalidRequestError: Another content type, too large, too many fields, not UTF-8, or a
                field sent twice: which one was meant would be a guess.
        """
        if self.content_type != _FORM_TYPE:
            _refuse(f"The content type must be {_FORM_TYPE}.")
        try:
            pairs = parse_qsl(
                self.body(max_bytes=max_bytes).decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=max_fields,
            )
        except ValueError:  # covers UnicodeDecodeError and too many fields
            raise InvalidRequestError(
                f"The form must be URL-encoded UTF-8 with at most {max_fields} fields."
            ) from None
        fields = {name: value.replace("\r\n", "\n") for name, value in pairs}
        if len(fields) != len(pairs):
            _refuse("A form field was sent twice.")
        return fields

    def caller(self, *, tenant_claim: str) -> Caller:
        """Return who calls, from the authorizer.

        Args:
            tenant_claim: Name of the JWT claim that holds the tenant; not used for IAM callers,
                whose tenant is their AWS account.

        Raises:
            InvalidRequestError: No authorizer spoke, or the token lacks a claim.
        """
        authorizer = self.context.authorizer
        if authorizer and authorizer.iam:
            return Caller(identity=authorizer.iam.user_arn, tenant=authorizer.iam.account_id)
        if authorizer and authorizer.jwt:
            claims = authorizer.jwt.claims
            return Caller(identity=_claim(claims, "sub"), tenant=_claim(claims, tenant_claim))
        raise InvalidRequestError("The request carries no authenticated caller.")

    def signed_in_address(self) -> str:
        """Return the mail address of the person who signed in, as their issuer verified it.

        Returns:
            Empty when nobody signed in, or the issuer does not say that it verified an address
            (OpenID Connect Core 5.1, `email` and `email_verified`).
        """
        authorizer = self.context.authorizer
        claims = authorizer.jwt.claims if authorizer and authorizer.jwt else {}
        # The gateway hands claims on as text.
        verified = str(claims.get("email_verified", "")).lower() == "true"
        address = claims.get("email", "")
        return address.strip() if verified and isinstance(address, str) else ""

    def _decoded(self) -> bytes:
        if not self.is_base64_encoded:
            return self.raw_body.encode("utf-8")
        try:
            return base64.b64decode(self.raw_body, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidRequestError("The body is not valid base64.") from None


def _claim(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value.strip():
        _refuse(f"The token carries no claim named {name}.")
    return value


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        _refuse("The body must not name a key twice in one object.")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    _refuse("The body must not contain NaN or infinite numbers.")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text)


def _refuse(message: str) -> NoReturn:
    raise InvalidRequestError(message)
