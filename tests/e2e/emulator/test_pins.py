"""An emulator that is not the pinned one is refused before it serves anything."""

from types import SimpleNamespace

import pytest

from local.emulator import pins


def _greet() -> str:
    return "hello"


_GREET_SOURCE = 'def _greet() -> str:\n    return "hello"\n'


def owner() -> SimpleNamespace:
    return SimpleNamespace(__name__="example", greet=_greet, SCRIPT="one two two")


def test_a_function_with_the_pinned_source_is_replaced() -> None:
    module = owner()

    pins.replace(
        module, "greet", pins.digest(_GREET_SOURCE), lambda greet: lambda: f"{greet()} again"
    )

    assert module.greet() == "hello again"


def test_a_function_with_another_source_is_refused_by_name() -> None:
    with pytest.raises(pins.EmulatorChangedError, match=r"example\.greet changed"):
        pins.replace(owner(), "greet", "000000000000", lambda greet: greet)


def test_a_function_that_is_gone_is_refused_by_name() -> None:
    with pytest.raises(pins.EmulatorChangedError, match=r"example\.wave is gone"):
        pins.pinned(owner(), "wave", "000000000000")


@pytest.mark.parametrize("fragment", ["three", "two"])
def test_a_text_is_replaced_only_where_it_occurs_once(fragment: str) -> None:
    with pytest.raises(pins.EmulatorChangedError, match="no longer holds"):
        pins.replace_text(owner(), "SCRIPT", fragment, "four")  # type: ignore[arg-type]  # a stand-in
