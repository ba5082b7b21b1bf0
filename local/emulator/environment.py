"""The environment of the emulator and of the function code it runs.

Gap: the emulator reads its settings from environment variables and starts function workers with
    its whole environment, so a function would see the settings, the operator's shell and the
    interpreter's variables.
AWS: a function sees its configured variables and the reserved ones that the Lambda developer
    guide lists under "Defined runtime environment variables"; ``TZ`` is ``:UTC``.
Correction: the launcher empties its own environment before the emulator is imported, and a worker
    gets only what is listed here, what the emulator sets for the function, and its own variables.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from local.emulator import pins

ACCOUNT_ID = "000000000000"
ACCESS_KEY_ID = "test"
SECRET_ACCESS_KEY = "test"  # noqa: S105 the emulator's root key; it opens nothing but the emulator
CONCURRENT_EXECUTIONS = 8
WARM_WORKER_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Settings:
    """How to start the emulator.

    Attributes:
        port: Port on 127.0.0.1.
        data: Folder for its state, its objects, its workers and its temporary files.
        region: Region of unsigned requests; signed ones name their own.
        snapshot_seconds: Pause between two snapshots of the state; what a kill may lose.
        wait_scale: Factor on the sleeps of Wait states and of Retry; 1.0 is real time.
        functions_endpoint: Where functions send their AWS calls; empty for the emulator itself.
    """

    port: int
    data: Path
    region: str
    snapshot_seconds: float
    wait_scale: float
    functions_endpoint: str = ""


def emulator_variables(settings: Settings) -> dict[str, str]:
    """Return every environment variable the emulator reads, by name."""
    return {
        "AUTH": "true",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "BIND_HOST": "127.0.0.1",
        "DOCKER_HOST": "unix:///nonexistent",
        "GATEWAY_PORT": str(settings.port),
        "IOT_MTLS_ENABLED": "0",
        "LAMBDA_ACCOUNT_CONCURRENCY": str(CONCURRENT_EXECUTIONS),
        "LAMBDA_WARM_TTL_SECONDS": str(WARM_WORKER_SECONDS),
        "LOG_LEVEL": "INFO",
        "MINISTACK_ACCOUNT_ID": ACCOUNT_ID,
        "MINISTACK_HOST": "localhost",
        "MINISTACK_REGION": settings.region,
        "PERSIST_STATE": "1",
        "S3_DATA_DIR": str(settings.data / "objects"),
        "S3_PERSIST": "1",
        "SFN_WAIT_SCALE": str(settings.wait_scale),
        "SFTP_ENABLED": "0",
        "STATE_DIR": str(settings.data / "state"),
    }


def runtime_variables(data: Path) -> dict[str, str]:
    """Return the variables that the emulator and the function workers share."""
    return {
        "LANG": "en_US.UTF-8",
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin:/usr/bin:/bin")),
        "TMPDIR": str(data / "tmp"),
        "TZ": ":UTC",
    }


def take_over(settings: Settings) -> None:
    """Replace this process's environment by the emulator's; call before importing the emulator."""
    shared = runtime_variables(settings.data)
    for folder in (settings.data / "state", settings.data / "objects", Path(shared["TMPDIR"])):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ.clear()
    os.environ.update(shared | emulator_variables(settings))
    tempfile.tempdir = None


def worker_environment(requested: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return what a function worker may see.

    Args:
        requested: What the emulator would hand over: its own environment, the function's
            variables and the reserved variables.
        settings: The settings that the emulator runs with.
    """
    hidden = emulator_variables(settings)
    reserved = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    kept = {
        name: value
        for name, value in requested.items()
        if name in reserved or hidden.get(name) != value
    }
    kept["AWS_EXECUTION_ENV"] = f"AWS_Lambda_python{sys.version_info[0]}.{sys.version_info[1]}"
    if settings.functions_endpoint:
        kept["AWS_ENDPOINT_URL"] = settings.functions_endpoint
    return kept


def install(settings: Settings) -> None:
    """Start function workers with the reduced environment."""
    runtime = pins.module("core.lambda_runtime")
    pins.pinned(runtime.Worker, "_spawn", "c55febf95656")

    def start(command: list[str], **options: Any) -> subprocess.Popen[str]:  # noqa: ANN401
        options["env"] = worker_environment(options["env"], settings)
        return subprocess.Popen(command, **options)  # noqa: S603 the emulator's own worker

    names = {name: getattr(subprocess, name) for name in subprocess.__all__}
    runtime.subprocess = SimpleNamespace(**(names | {"Popen": start}))
