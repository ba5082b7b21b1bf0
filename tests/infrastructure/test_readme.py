"""The documents say what is true of the tree: commands, links, tables and what is missing.

A block marked `sh` in the README holds commands, one a line. CI runs each: as a target of
`.ci/run`, or by a test whose docstring says "Runs `COMMAND`". What follows the line
`# needs an account` is exempt.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from no_undo.adapters.foxit_esign import VENDOR_FACTS
from no_undo.cli.main import parser
from no_undo.domain.errors import RefusedError
from tests.infrastructure.template import ROOT, functions, is_open, resources, routes, template

NEEDS_AN_ACCOUNT: Final = "# needs an account"
DOCS: Final = ROOT / "docs"
DOCUMENTS: Final = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md")], key=lambda one: one.relative_to(ROOT).as_posix()
)
NOT_THERE_YET: Final = ("agent_tools",)
"""Functions of the design that README and architecture.md say are missing."""
_NOT_IN_CI: Final = {"long", "e2e_aws"}
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)")
_TARGET = re.compile(r"^(?P<name>[a-z][a-z0-9-]*):(?!=)(?P<needs>[^#\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """One command line of a document; `needs_account` where nobody can run it without one."""

    line: str
    needs_account: bool


def text(name: str) -> str:
    """Return a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the info string and the content of every fenced block."""
    return [(one["info"].strip(), one["body"]) for one in _FENCE.finditer(document)]


def commands(document: str) -> Iterator[Command]:
    """Yield the commands of all `sh` blocks."""
    for _info, body in (one for one in blocks(document) if one[0] == "sh"):
        needs_account = False
        for line in filter(None, map(str.strip, body.splitlines())):
            needs_account = needs_account or line == NEEDS_AN_ACCOUNT
            if not line.startswith("#"):
                yield Command(line, needs_account)


@cache
def make_targets() -> dict[str, set[str]]:
    """Return the Makefile's targets and what each needs first."""
    return {one["name"]: set(one["needs"].split()) for one in _TARGET.finditer(text("Makefile"))}


def ci_targets() -> set[str]:
    """Return every target that `.ci/run` makes, by itself or because another one needs it."""
    listed = " ".join(
        re.findall(r"^make --no-print-directory ([a-z0-9 -]+)$", text(".ci/run"), re.MULTILINE)
    )
    found: set[str] = set()
    waiting = set(listed.split())
    while waiting:
        target = waiting.pop()
        found.add(target)
        waiting |= make_targets().get(target, set()) - found
    return found


def commands_that_tests_run() -> set[str]:
    """Return what the docstrings of tests that CI selects say they run."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = {name for one in node.decorator_list for name in _names(one)}
                if not marks & _NOT_IN_CI:
                    found |= set(re.findall(r"Runs `([^`]+)`", ast.get_docstring(node) or ""))
    return found


def _names(node: ast.AST) -> Iterator[str]:
    return (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))


def exists(command: list[str]) -> bool:
    """Say whether a command is a make target, or one of `no-undo`."""
    match command:
        case ["make", target]:
            return target in make_targets()
        case [program, word, *_] if Path(program).name == "no-undo":
            return is_no_undo_command(word)
        case _:
            return False


def is_no_undo_command(word: str) -> bool:
    """Ask the command line for the help of one command."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([word, "--help"])
    return ended.value.code == 0


README = text("README.md")
README_COMMANDS = list(commands(README))


def test_the_readme_marks_every_block() -> None:
    assert {info for info, _body in blocks(README)} == {"sh", "mermaid"}


def test_the_readme_has_commands_of_both_kinds() -> None:
    assert {one.needs_account for one in README_COMMANDS} == {True, False}


@pytest.mark.parametrize("command", README_COMMANDS, ids=lambda one: one.line)
def test_a_command_of_the_readme_exists(command: Command) -> None:
    assert exists(shlex.split(command.line))


@pytest.mark.parametrize(
    "line", [one.line for one in README_COMMANDS if not one.needs_account], ids=str
)
def test_a_command_of_the_readme_is_run_by_ci(line: str) -> None:
    by_ci_itself = {f"make {target}" for target in ci_targets()}

    assert line in by_ci_itself | commands_that_tests_run()


def test_every_no_undo_command_that_a_document_names_exists(
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = {
        word
        for path in DOCUMENTS
        for word in re.findall(r"`no-undo ([a-z][a-z-]*)", path.read_text(encoding="utf-8"))
    }

    assert {word for word in named if not is_no_undo_command(word)} == set()
    assert "usage: no-undo" in capsys.readouterr().out


def test_every_make_target_that_a_document_names_exists() -> None:
    named = {
        target
        for path in DOCUMENTS
        for target in re.findall(r"`make ([a-z][a-z0-9-]*)", path.read_text(encoding="utf-8"))
    }

    assert named - set(make_targets()) == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda one: one.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = [
        link.group(0)
        for link in _LINK.finditer(_without_blocks(path.read_text(encoding="utf-8")))
        if path.name != "template.md" and not _leads_somewhere(path, link)
    ]

    assert broken == []


def _leads_somewhere(path: Path, link: re.Match[str]) -> bool:
    target = (path.parent / link["path"]).resolve() if link["path"] else path
    if not target.exists():
        return False
    return link["anchor"] is None or link["anchor"] in _anchors(target)


def _anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _without_blocks(path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def _without_blocks(document: str) -> str:
    return _FENCE.sub("", document)


def test_the_readme_names_every_promise_once() -> None:
    assert re.findall(r"^\| (P\d+) \|", README, re.MULTILINE) == [f"P{n}" for n in range(1, 13)]


def test_what_is_said_to_be_missing_is_missing() -> None:
    """When one of these is built, README and architecture.md have to stop saying that it is not."""
    assert set(NOT_THERE_YET) & set(functions()) == set()


def test_the_index_of_decisions_lists_every_decision() -> None:
    written = {one.name for one in (DOCS / "adr").glob("[0-9]*.md")}
    listed = re.findall(r"\]\((\d{4}-[^)]+\.md)\)", text("docs/adr/index.md"))

    assert sorted(listed) == sorted(written)


@pytest.mark.parametrize("path", sorted((DOCS / "adr").glob("[0-9]*.md")), ids=lambda one: one.stem)
def test_a_decision_has_the_sections_of_the_template(path: Path) -> None:
    sections = re.findall(r"^## (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)

    assert sections == ["Context", "Options", "Decision", "Consequences"]


def _named_in(document: str) -> set[str]:
    return set(re.findall(r"`([A-Za-z_]+)`", text(document)))


def test_every_parameter_is_explained() -> None:
    assert set(template()["Parameters"]) - _named_in("docs/deployment.md") == set()


def test_every_secret_that_has_to_be_filled_is_explained() -> None:
    outputs = {one for one in template()["Outputs"] if one.endswith("SecretArn")}

    assert outputs
    assert outputs - _named_in("docs/deployment.md") == set()


def test_every_function_is_described() -> None:
    assert set(functions()) - _named_in("docs/architecture.md") == set()


def test_every_table_is_described() -> None:
    assert set(resources("AWS::DynamoDB::Table")) - _named_in("docs/architecture.md") == set()


def test_every_alarm_is_in_the_runbook() -> None:
    assert set(resources("AWS::CloudWatch::Alarm")) - _named_in("docs/runbook.md") == set()


def test_every_refusal_is_in_the_runbook() -> None:
    codes = {one.code for one in _kinds_of(RefusedError)}

    assert codes - _named_in("docs/runbook.md") == set()


def _kinds_of(kind: type[RefusedError]) -> Iterator[type[RefusedError]]:
    for special in kind.__subclasses__():
        yield special
        yield from _kinds_of(special)


def test_the_paths_of_callers_and_operators_are_what_the_policies_in_the_guide_allow() -> None:
    """The IAM policy of the guide names every caller's route and no operator's."""
    [policy] = [one[1] for one in blocks(text("docs/deployment.md")) if "execute-api" in one[1]]
    allowed = [
        re.compile(re.escape(one).replace(r"\*", ".*"))
        for one in re.findall(r"\$default/([^\"]+)\"", policy)
    ]
    signed_in = {
        re.sub(r"\{\w+\}", "x", key).replace(" /", "/")
        for key, route in routes().items()
        if not is_open(route)
    }

    reached = {one for one in signed_in if any(rule.fullmatch(one) for rule in allowed)}
    assert reached == {one for one in signed_in if "/operations/" not in one}


@pytest.mark.parametrize("name", sorted(VENDOR_FACTS))
def test_the_guarantee_says_what_the_adapter_knows_about_the_vendor(name: str) -> None:
    known = VENDOR_FACTS[name]
    [row] = re.findall(
        rf"^\| \*\*{known.fact}\*\*.*\|$", text("docs/exactly-once.md"), re.MULTILINE
    )

    assert ("| unknown;" in row) == (known.holds is None)
