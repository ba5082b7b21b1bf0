"""Build the template for the interpreter at hand, once per change."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_INPUTS = ("template.yaml", "samconfig.toml", "functions", "layers", "statemachine")
_SKIPPED = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
_STAMP = "inputs.sha256"


class BuildError(Exception):
    """``sam build`` failed; the message is what it printed."""


def runtime() -> str:
    """Return the Lambda runtime that matches this interpreter, such as ``python3.11``."""
    return f"python{sys.version_info[0]}.{sys.version_info[1]}"


def _input_files(root: Path) -> Iterator[Path]:
    for name in _INPUTS:
        top = root / name
        files = [top] if top.is_file() else top.rglob("*")
        yield from sorted(f for f in files if f.is_file() and not _SKIPPED & set(f.parts))


def inputs_digest(root: Path = ROOT) -> str:
    """Return a digest of everything the build reads, and of the runtime it builds for."""
    digest = hashlib.sha256(runtime().encode())
    for file in _input_files(root):
        digest.update(f"\0{file.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def build(build_folder: Path, root: Path = ROOT) -> Path:
    """Run ``sam build`` unless the inputs are the ones that were built last.

    Args:
        build_folder: Folder for the result; its ``inputs.sha256`` names what was built.
        root: The project's folder.

    Returns:
        The built template.

    Raises:
        BuildError: ``sam build`` failed.
    """
    stamp, built = build_folder / _STAMP, build_folder / "template.yaml"
    wanted = inputs_digest(root)
    if built.exists() and stamp.exists() and stamp.read_text() == wanted:
        return built
    command = [
        str(root / ".venv-sam" / "bin" / "sam"),
        "build",
        "--template-file",
        str(root / "template.yaml"),
        "--build-dir",
        str(build_folder),
        "--parameter-overrides",
        f"Runtime={runtime()}",
    ]
    environment = os.environ | {
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": os.environ.get("AWS_DEFAULT_REGION", "us-east-1"),
        # sam looks for the runtime's interpreter on the path.
        "PATH": os.pathsep.join((str(Path(sys.executable).resolve().parent), os.environ["PATH"])),
    }
    result = subprocess.run(  # noqa: S603 the project's own tool
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise BuildError(f"sam build failed:\n{result.stdout}{result.stderr}")
    stamp.write_text(wanted)
    return built
