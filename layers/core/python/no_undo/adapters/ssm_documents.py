"""JSON documents that a deployment writes into Systems Manager parameters."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from no_undo.adapters.botocore_errors import AWS_ERRORS, error_code, translated
from no_undo.domain.errors import RefusedError
from no_undo.domain.floors import NONE_DEPLOYED, Floors, floors_for, parse_thresholds
from no_undo.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

KEPT_FOR: Final = timedelta(seconds=5)
"""How long one reading is used: what a deployment withdraws ends within seconds."""


class SsmDocument:
    """One JSON document in one parameter, read again when a reading is older than `KEPT_FOR`."""

    def __init__(
        self, client: SSMClient, parameter_name: str, clock: Clock, *, what: str, absent: object
    ) -> None:
        """Take the client, where the document lies, and the clock that ages a reading.

        Args:
            client: Systems Manager.
            parameter_name: Of the parameter.
            clock: Ages a reading.
            what: The document in words, for messages: `the approver policy`.
            absent: What to read where there is no parameter.
        """
        self._client = client
        self._parameter_name = parameter_name
        self._clock = clock
        self._what = what
        self._absent = absent
        self._document: object = absent
        self._fresh_until: datetime | None = None

    def read(self) -> object:
        """Return the decoded document.

        Raises:
            RefusedError: It is not JSON.
            TransientError: It could not be read this time.
        """
        now = self._clock.now()
        if self._fresh_until is None or now >= self._fresh_until:
            self._document = self._read()
            self._fresh_until = now + KEPT_FOR
        return self._document

    def _read(self) -> object:
        try:
            answer = self._client.get_parameter(Name=self._parameter_name, WithDecryption=True)
        except AWS_ERRORS as error:
            if error_code(error) == "ParameterNotFound":
                return self._absent
            raise translated(error, f"reading {self._what}", repeatable=True) from error
        try:
            document: object = json.loads(answer["Parameter"].get("Value", ""))
        except ValueError:
            raise RefusedError(
                f"{self._what[:1].upper()}{self._what[1:]} cannot be used: parameter "
                f"{self._parameter_name} is not JSON."
            ) from None  # the decoder's error quotes the document
        return document


class SsmFloorsSource:
    """Implements `ports.FloorsSource` over one thresholds document."""

    def __init__(self, client: SSMClient, parameter_name: str, clock: Clock) -> None:
        """Take the client, the parameter's name and the clock that ages a reading."""
        self._document = SsmDocument(
            client, parameter_name, clock, what="the thresholds document", absent=NONE_DEPLOYED
        )

    def floors(self, document_type: str) -> Floors:
        """Return the floors of a document type; built-in ones, without evidence, by default.

        Raises:
            RefusedError: The deployed document cannot be used; names what is wrong with it.
            TransientError: It could not be read this time.
        """
        return floors_for(document_type, parse_thresholds(self._document.read()))
