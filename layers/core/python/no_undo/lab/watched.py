"""Wraps ports so that somebody stands at every call: to count it, to die there, to wait there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from no_undo.domain.waiting import Wait, WaitKind
from no_undo.ports import Change

T = TypeVar("T")


class Watcher(Protocol):
    """Stands around every port call."""

    def around(self, call: str, do: Callable[[], object]) -> object:
        """Make the call, or not.

        Args:
            call: Which one, for example `store.commit plan.begun`.
            do: Makes it.
        """
        ...


class NobodyWatches:
    """A watcher that only makes the calls."""

    def around(self, call: str, do: Callable[[], object]) -> object:  # noqa: ARG002
        """Make the call."""
        return do()


class Watched:
    """A port whose every method call passes a watcher; everything else is the port's own."""

    def __init__(self, port: object, name: str, watcher: Watcher) -> None:
        """Wrap.

        Args:
            port: Any implementation of any port.
            name: What its calls are called by.
            watcher: Who stands around them.
        """
        self._port = port
        self._name = name
        self._watcher = watcher

    def __getattr__(self, method: str) -> Any:  # noqa: ANN401 - stands in for any port
        """Return the port's attribute, a method wrapped."""
        found = getattr(self._port, method)
        if not callable(found):
            return found

        def call(*args: object, **kwargs: object) -> object:
            label = " ".join((f"{self._name}.{method}", *_detail(args))).strip()
            return self._watcher.around(label, lambda: found(*args, **kwargs))

        self.__dict__[method] = call  # found directly from now on
        return call


def watched(port: T, name: str, watcher: Watcher) -> T:
    """Return a port whose calls pass a watcher."""
    return cast("T", Watched(port, name, watcher))


def _detail(args: tuple[object, ...]) -> tuple[str, ...]:
    """Name what tells two calls of one method apart: the audit kind, or which wait."""
    for one in args:
        match one:
            case Change(event=event):
                return (event.kind,)
            case Wait(kind=kind) | (WaitKind() as kind):
                return (kind.value,)
            case _:
                continue
    return ()
