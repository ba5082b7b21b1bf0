"""Make the template ready to deploy on this machine, once per change.

``sam build`` builds for Lambda: it fetches wheels for Amazon Linux, which need not run here, and
refuses ones that an older runtime there cannot load. The emulator runs function code with the
interpreter at hand, so this builds the same folders for it; ``make build`` runs ``sam build``.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local.stack.deploy import package, read_template

ROOT = Path(__file__).resolve().parents[2]
_INPUTS = ("template.yaml", "functions", "layers", "statemachine")
_SKIPPED = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
_STAMP = "inputs.sha256"


class BuildError(Exception):
    """Something in the template could not be built; the message says what and why."""


def runtime() -> str:
    """Return the Lambda runtime that matches this interpreter, such as ``python3.11``."""
    return f"python{sys.version_info[0]}.{sys.version_info[1]}"


def _files(path: Path) -> Iterator[Path]:
    found = [path] if path.is_file() else path.rglob("*")
    yield from sorted(f for f in found if f.is_file() and not _SKIPPED & set(f.parts))


def _digest(paths: list[Path], root: Path) -> str:
    """Return a digest of files and of the runtime they are built for."""
    digest = hashlib.sha256(runtime().encode())
    for path in paths:
        for file in _files(path):
            digest.update(f"\0{file.relative_to(root)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def build(build_folder: Path, root: Path = ROOT) -> Path:
    """Build the template's layers and make its local paths absolute.

    Args:
        build_folder: Folder for the result, reused when nothing changed.
        root: Folder of ``template.yaml``.

    Returns:
        The built template.

    Raises:
        BuildError: The template or one of its layers could not be built.
    """
    built, stamp = build_folder / "template.json", build_folder / _STAMP
    wanted = _digest([root / name for name in _INPUTS], root)
    if built.exists() and stamp.exists() and stamp.read_text() == wanted:
        return built
    template = read_template(root / "template.yaml")
    for name, resource in template["Resources"].items():
        _build_resource(name, resource, root, build_folder)
    build_folder.mkdir(parents=True, exist_ok=True)
    built.write_text(json.dumps(template, default=str))
    stamp.write_text(wanted)
    return built


def _build_resource(name: str, resource: dict[str, Any], root: Path, build_folder: Path) -> None:
    """Replace a resource's local path by what is to be uploaded."""
    properties = resource.get("Properties", {})
    if resource["Type"] == "AWS::Serverless::LayerVersion":
        content = root / properties["ContentUri"]
        properties["ContentUri"] = str(_build_layer(name, content, build_folder))
    for uri in ("CodeUri", "DefinitionUri"):
        if uri in properties:
            properties[uri] = str(root / properties[uri])


def _build_layer(name: str, content: Path, build_folder: Path) -> Path:
    """Return the zip of a layer, with its requirements installed for this interpreter."""
    archive = build_folder / "layers" / f"{name}-{_digest([content], content)[:16]}.zip"
    if not archive.exists():
        staging = build_folder / "staging" / name
        shutil.rmtree(staging, ignore_errors=True)
        skipped = shutil.ignore_patterns(*_SKIPPED, "requirements.in")
        shutil.copytree(content, staging / "python", ignore=skipped)
        if (content / "requirements.txt").exists():
            _install(content / "requirements.txt", staging / "python")
        archive.parent.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(package(staging))
        shutil.rmtree(staging)
    return archive


def _install(requirements: Path, target: Path) -> None:
    command = [_uv(), "pip", "install", "--quiet", "--require-hashes", "--python", sys.executable]
    arguments = ["--target", str(target), "--requirement", str(requirements)]
    result = subprocess.run(  # noqa: S603 the project's own tool
        command + arguments, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BuildError(f"{requirements} could not be installed:\n{result.stderr}")


def _uv() -> str:
    """Return the path of uv: the one that ``make setup`` installed, or the system's."""
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise BuildError("uv is missing; run `make setup`.")
    return found
