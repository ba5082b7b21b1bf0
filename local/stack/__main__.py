"""``python -m local.stack up|down|status``."""

# ruff: noqa: T201 -- the output of the command

import argparse
import json
import sys
import time
from pathlib import Path

from local.stack import processes, stack
from local.stack.bring_up import bring_up
from local.stack.build import BuildError
from local.stack.deploy import DeployError
from local.stack.stack import RunningStack, StackError


def _print_up(running: RunningStack, seconds: float, *, fault_proxy: bool) -> None:
    print(f"API        {running.outputs.get('ApiUrl', 'the template has no ApiUrl output')}")
    print(f"Mail inbox {running.url('inbox')}/")
    print(f"Vendors    {running.url('sandbox')}")
    print(f"AWS        {running.url('emulator')} (region us-east-1, access key test, secret test)")
    if fault_proxy:
        print(f"Faults     {running.url('fault_proxy')}/_faults (local/fault_proxy/README.md)")
    print(f"Logs       {running.data / 'logs'}")
    print("\nHand in a request, then open the mail in the inbox to approve it:")
    print(f"  export NO_UNDO_API_URL='{running.outputs.get('ApiUrl', '')}'")
    print("  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1")
    print(
        '  .venv/bin/no-undo submit --prompt "Take this invoice, redact the PII, and send it to '
        'Alice for signature." \\\n'
        "    --document fixtures/documents/freight_invoice.pdf --approver bob@example.com \\\n"
        '    --recipient "Alice <alice@example.com>" --wait'
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
    parser.add_argument(
        "--fault-proxy", action="store_true", help="let functions' AWS calls go through the proxy"
    )
    options = parser.parse_args()
    started = time.monotonic()
    try:
        match options.command:
            case "up":
                running = bring_up(options.data, inbox=True, fault_proxy=options.fault_proxy)
                _print_up(running, time.monotonic() - started, fault_proxy=options.fault_proxy)
            case "down":
                stack.stop(options.data)
            case _:
                _print_status(options.data)
    except (StackError, BuildError, DeployError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
