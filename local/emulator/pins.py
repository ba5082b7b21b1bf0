"""Reach into the pinned emulator, and refuse to start when what a correction replaces has changed.

A correction replaces a private function of another project. It is right only for the source it
was written against, so each replacement names the digest of that source.
"""

import hashlib
import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import version
from types import ModuleType
from typing import Any

EMULATOR_VERSION = "1.5.33"
_DIGEST_LENGTH = 12


class EmulatorChangedError(Exception):
    """The installed emulator is not the one the corrections were written against."""


def require_version() -> None:
    """Check the installed emulator against the pin.

    Raises:
        EmulatorChangedError: Another version is installed.
    """
    installed = version("ministack")
    if installed != EMULATOR_VERSION:
        raise EmulatorChangedError(
            f"ministack {installed} is installed; local/emulator corrects {EMULATOR_VERSION}. "
            "Install requirements/emulator.txt, or read every correction again and move the pin."
        )


def module(name: str) -> Any:  # noqa: ANN401 the emulator has no types
    """Import a module of the emulator by its name below ``ministack``, such as ``services.s3``."""
    return importlib.import_module(f"ministack.{name}")


def digest(source: str) -> str:
    """Return the short digest that pins name: the start of the SHA-256, in hexadecimal."""
    return hashlib.sha256(source.encode()).hexdigest()[:_DIGEST_LENGTH]


def pinned(owner: Any, name: str, source_digest: str) -> Callable[..., Any]:  # noqa: ANN401 module or class
    """Return a function of the emulator whose source is known.

    Args:
        owner: The emulator's module or class that holds the function.
        name: The function's name.
        source_digest: ``digest`` of the source that the correction was written against.

    Raises:
        EmulatorChangedError: The function is gone or its source is another.
    """
    function: Callable[..., Any] | None = getattr(owner, name, None)
    where = f"{owner.__name__}.{name}"
    if function is None:
        raise EmulatorChangedError(
            f"{where} is gone from ministack; its correction must be redone."
        )
    found = digest(inspect.getsource(function))
    if found != source_digest:
        raise EmulatorChangedError(
            f"{where} changed in ministack (source digest {found}, pinned {source_digest}); "
            "read the new source, redo the correction, then move the pin."
        )
    return function


def replace(
    owner: Any,  # noqa: ANN401 module or class
    name: str,
    source_digest: str,
    make: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    """Replace a function of the emulator by what ``make`` builds around the original.

    Raises:
        EmulatorChangedError: The function is gone or its source is another.
    """
    setattr(owner, name, make(pinned(owner, name, source_digest)))


def replace_text(owner: ModuleType, name: str, old: str, new: str) -> None:
    """Replace a fragment inside a text constant of the emulator, such as a worker script.

    Raises:
        EmulatorChangedError: The constant does not hold the fragment exactly once.
    """
    text: str = getattr(owner, name, "")
    if text.count(old) != 1:
        raise EmulatorChangedError(
            f"{owner.__name__}.{name} in ministack no longer holds the text a correction replaces."
        )
    setattr(owner, name, text.replace(old, new))
