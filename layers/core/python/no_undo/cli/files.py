"""Files that commands read and write; what is wrong with one is a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from no_undo.domain.errors import InvalidRequestError


def read_bytes(path: Path) -> bytes:
    """Return a file's content.

    Raises:
        InvalidRequestError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error.strerror}") from error


def read_json(path: Path) -> object:
    """Return what a JSON file holds.

    Raises:
        InvalidRequestError: It cannot be read, or is not JSON.
    """
    try:
        value: object = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        # Not chained: the cause quotes the file.
        raise InvalidRequestError(f"{path} is not JSON") from None
    return value


def read_object(path: Path) -> dict[str, object]:
    """Return the object that a JSON file holds.

    Raises:
        InvalidRequestError: It cannot be read, is not JSON, or holds something else.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{path} does not hold a JSON object")
    return cast("dict[str, object]", value)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, replacing what was there.

    Raises:
        InvalidRequestError: It cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}") from error
