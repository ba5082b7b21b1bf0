"""An export of the audit in a folder: the bucket's objects, copied with their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from no_undo.domain.errors import InvalidRequestError


class ExportFolder:
    """Implements `ports.ExportedFiles` on a folder."""

    def __init__(self, folder: Path) -> None:
        """Take the folder.

        Raises:
            InvalidRequestError: It is no folder.
        """
        if not folder.is_dir():
            raise InvalidRequestError(f"{folder} is not a folder")
        self._folder = folder

    def names(self) -> tuple[str, ...]:
        """Return the names of all files below the folder; whatever is no plain file counts too."""
        return tuple(_names(self._folder, ""))

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most the first `limit` bytes of a file, or None when there is none.

        Raises:
            InvalidRequestError: It is there and cannot be read.
        """
        try:
            with (self._folder / name).open("rb") as file:
                return file.read(limit)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidRequestError(f"{name} cannot be read: {error.strerror}") from error


def _names(folder: Path, prefix: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for one in entries:
            if one.is_dir(follow_symlinks=False):
                yield from _names(Path(one.path), f"{prefix}{one.name}/")
            else:
                yield prefix + one.name
