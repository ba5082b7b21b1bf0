"""One capability has one name: folder, resource, use case, sample event, placeholder."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infrastructure.template import ROOT, functions, listed, named, properties
from tests.statemachine.definition import text

FOLDERS = {one.parent.name for one in (ROOT / "functions").glob("*/app.py")}
USE_CASES = {one.stem for one in (ROOT / "layers/core/python/no_undo/use_cases").glob("*.py")}
THIRD_PARTY = {"aws_lambda_powertools"}
"""What a handler may import beside the project's own package and the standard library."""


def imports_of(path: Path) -> Iterator[str]:
    """Yield the first part of every module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (one.name.partition(".")[0] for one in names)
            case ast.ImportFrom(module=str() as module, level=0):
                yield module.partition(".")[0]
            case ast.ImportFrom():
                yield "a relative import"
            case _:
                continue


def test_every_folder_is_a_function_and_every_function_a_folder() -> None:
    assert set(functions()) == FOLDERS


@pytest.mark.parametrize("function", sorted(functions()))
def test_a_function_is_made_of_the_folder_of_its_name(function: str) -> None:
    assert functions()[function]["CodeUri"] == f"functions/{function}/"


def test_every_function_has_a_use_case_of_its_name() -> None:
    assert set() == FOLDERS - USE_CASES


def test_every_function_has_a_sample_event_of_its_name() -> None:
    assert {one.stem for one in (ROOT / "events").glob("*.json")} == FOLDERS


@pytest.mark.parametrize("function", sorted(FOLDERS))
def test_a_folder_holds_one_file(function: str) -> None:
    files = [one.name for one in (ROOT / "functions" / function).iterdir() if one.is_file()]

    assert files == ["app.py"]


@pytest.mark.parametrize("function", sorted(FOLDERS))
def test_a_handler_imports_the_package_and_what_its_layers_hold(function: str) -> None:
    found = set(imports_of(ROOT / "functions" / function / "app.py"))

    assert found - set(sys.stdlib_module_names) <= {"no_undo"} | THIRD_PARTY


@pytest.mark.parametrize("function", sorted(FOLDERS))
def test_a_handler_does_not_decide_anything(function: str) -> None:
    """Parse, call, return: no branch, no try, no AWS client (style of every handler)."""
    tree = ast.parse((ROOT / "functions" / function / "app.py").read_text(encoding="utf-8"))
    deciding = (ast.If, ast.Try, ast.For, ast.While, ast.Match)

    assert not [node for node in ast.walk(tree) if isinstance(node, deciding)]


def test_every_placeholder_is_substituted_and_every_substitution_used() -> None:
    placeholders = set(re.findall(r"\$\{(\w+)\}", text()))

    assert set(properties("SigningPipeline")["DefinitionSubstitutions"]) == placeholders


def test_a_substitution_stands_for_the_function_of_its_name() -> None:
    for name, value in properties("SigningPipeline")["DefinitionSubstitutions"].items():
        expected = "RequestsTable" if name == "RequestsTableName" else name.removesuffix("Arn")
        assert named(value) == expected


def test_the_machine_may_invoke_every_function_it_names() -> None:
    substitutions = properties("SigningPipeline")["DefinitionSubstitutions"]
    [invoke] = [
        one
        for policy in properties("SigningPipeline")["Policies"]
        for one in policy["Statement"]
        if one["Sid"] == "InvokeStages"
    ]

    assert {named(one) for one in listed(invoke["Resource"])} == {
        name.removesuffix("Arn") for name in substitutions if name.endswith("FunctionArn")
    }
