"""What is uploaded depends on contents only, and the template's tags survive."""

import os
from pathlib import Path

from local.stack.deploy import package, read_template


def folder(path: Path, mtime: int) -> Path:
    path.mkdir()
    for name in ("b.py", "a.py"):
        (path / name).write_text(name)
        os.utime(path / name, (mtime, mtime))
    return path


def test_two_folders_with_the_same_contents_give_the_same_archive(tmp_path: Path) -> None:
    first, second = folder(tmp_path / "first", 1_000_000_000), folder(tmp_path / "second", 1)

    assert package(first) == package(second)


def test_a_changed_file_gives_another_archive(tmp_path: Path) -> None:
    path = folder(tmp_path / "first", 1_000_000_000)
    before = package(path)
    (path / "a.py").write_text("changed")

    assert package(path) != before


def test_short_tags_are_read_into_their_long_form(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(
        "a: !Ref X\nb: !GetAtt X.Arn\nc: !Sub '${X}'\nd: !If [Y, !Ref X, z]\ne: !Condition Y\n"
    )

    assert read_template(path) == {
        "a": {"Ref": "X"},
        "b": {"Fn::GetAtt": ["X", "Arn"]},
        "c": {"Fn::Sub": "${X}"},
        "d": {"Fn::If": ["Y", {"Ref": "X"}, "z"]},
        "e": {"Condition": "Y"},
    }
