"""The list of mutations fits the code it breaks; `python -m tests.crash.mutations` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.mutations import (
    MUTATIONS,
    PACKAGE,
    ROOT,
    Mutation,
    copy_of_the_package,
    mutate,
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    copy_of_the_package(folder)
    return folder


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.rule)
def test_a_mutation_changes_one_place_of_a_copy_that_still_compiles(
    mutation: Mutation, original: Path
) -> None:
    inside = mutation.file.startswith("statemachine")
    path = (original if inside else original / PACKAGE) / mutation.file
    before = path.read_text(encoding="utf-8")

    try:
        mutate(original, mutation)
        after = path.read_text(encoding="utf-8")
    finally:
        path.write_text(before, encoding="utf-8")

    assert after != before
    if path.suffix == ".py":
        compile(after, mutation.file, "exec")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.rule)
def test_the_tests_named_beside_a_mutation_exist(mutation: Mutation) -> None:
    for test in mutation.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


def test_an_outdated_mutation_is_refused(original: Path) -> None:
    gone = Mutation("gone", "no_undo/domain/ledger.py", "no such text", "", ())

    with pytest.raises(ValueError, match="does not occur once"):
        mutate(original, gone)
