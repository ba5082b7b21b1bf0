"""Start the corrected emulator: ``python -m local.emulator --port PORT --data DIR``."""

import argparse
import logging
import sys
from pathlib import Path

from local.emulator import environment, pins


def parse_arguments() -> environment.Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m local.emulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--data", type=Path, required=True, help="folder for state and objects")
    parser.add_argument("--region", default="us-east-1", help="region of unsigned requests")
    parser.add_argument("--snapshot-seconds", type=float, default=2.0, help="pause between saves")
    parser.add_argument("--wait-scale", type=float, default=1.0, help="factor on Wait and Retry")
    parser.add_argument(
        "--functions-endpoint", default="", help="where functions send their AWS calls"
    )
    options = parser.parse_args()
    return environment.Settings(
        port=options.port,
        data=options.data.resolve(),
        region=options.region,
        snapshot_seconds=options.snapshot_seconds,
        wait_scale=options.wait_scale,
        functions_endpoint=options.functions_endpoint,
    )


def install_corrections(settings: environment.Settings) -> None:
    """Apply every correction; the emulator's modules are imported here, not before."""
    from local.emulator import (  # noqa: PLC0415 after the environment is taken over
        callbacks,
        errors,
        executions,
        http_api,
        invocations,
        layers,
        metrics,
        resources,
        roles,
        snapshots,
    )

    environment.install(settings)
    for correction in (
        errors,
        executions,
        invocations,
        callbacks,
        roles,
        metrics,
        resources,
        http_api,
    ):
        correction.install()
    layers.install(settings.data)
    snapshots.install(settings.data, settings.snapshot_seconds)


def main() -> None:
    """Serve until a signal ends the process."""
    settings = parse_arguments()
    try:
        pins.require_version()
        environment.take_over(settings)
        install_corrections(settings)
    except pins.EmulatorChangedError as error:
        sys.exit(f"The emulator cannot start: {error}")
    # One line per saved service every two seconds would bury everything else.
    logging.getLogger("persistence").setLevel(logging.WARNING)
    sys.argv = ["ministack"]
    pins.module("app").main()


if __name__ == "__main__":
    main()
