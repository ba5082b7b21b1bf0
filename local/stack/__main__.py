"""``python -m local.stack up|down|status``."""

# ruff: noqa: T201 -- the output of the command

import argparse
import json
import sys
import time
from pathlib import Path

from local.stack import processes, stack
from local.stack.build import BuildError, build
from local.stack.deploy import DeployError, deploy
from local.stack.parameters import local_parameters
from local.stack.stack import RunningStack, StackError

STACK_NAME = "no-undo"


def up(data: Path) -> RunningStack:
    """Start everything, deploy the real template, and return the addresses.

    Raises:
        StackError: A part did not start.
        BuildError: The template does not build.
        DeployError: The template does not deploy.
    """
    running = stack.start(data, parts=("emulator", "sandbox", "inbox"))
    built = build(data / "build")
    deployed = deploy(
        built,
        client=running.aws.client,
        stack_name=STACK_NAME,
        parameters=local_parameters(built, running),
    )
    return stack.remember_outputs(running, deployed.outputs)


def _print_up(running: RunningStack, seconds: float) -> None:
    print(f"API        {running.outputs.get('ApiUrl', 'the template has no ApiUrl output')}")
    print(f"Mail inbox {running.url('inbox')}/")
    print(f"Vendors    {running.url('sandbox')}")
    print(f"AWS        {running.url('emulator')} (region us-east-1, access key test, secret test)")
    print(f"Logs       {running.data / 'logs'}")
    print("\nHand in a request:")
    print(
        '  .venv/bin/no-undo submit --prompt "Take this invoice, redact the PII, and send it to '
        'Alice for signature." \\\n'
        '    --document fixtures/documents/invoice.pdf --recipient "Alice <alice@example.com>" \\\n'
        "    --approver bob@example.com --wait"
    )
    print(f"\nup in {seconds:.1f} s; `make down` ends it.")


def _print_status(data: Path) -> None:
    state = stack.read_state(data)
    parts = {record.name: processes.is_alive(record) for record in state.running}
    print(json.dumps({"running": parts, "ports": state.ports, "outputs": state.outputs}, indent=2))


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m local.stack", description=__doc__)
    parser.add_argument("command", choices=("up", "down", "status"))
    parser.add_argument("--data", type=Path, default=stack.DATA, help="data folder of the stack")
    options = parser.parse_args()
    started = time.monotonic()
    try:
        match options.command:
            case "up":
                _print_up(up(options.data), time.monotonic() - started)
            case "down":
                stack.stop(options.data)
            case _:
                _print_status(options.data)
    except (StackError, BuildError, DeployError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
