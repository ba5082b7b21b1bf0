"""`python -m local.fault_proxy --port P --stack DATA`: run the proxy until it is stopped."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from local.fault_proxy.app import FaultProxy
from local.fault_proxy.server import fault_proxy_server
from local.loopback_server import LOOPBACK
from local.stack.stack import read_state


def main() -> None:
    """Run the proxy; ends after a clean stop."""
    parser = argparse.ArgumentParser(prog="python -m local.fault_proxy", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument(
        "--stack", type=Path, required=True, help="data folder of the stack with the emulator"
    )
    options = parser.parse_args()

    def emulator() -> str:
        return f"http://{LOOPBACK}:{read_state(options.stack).ports['emulator']}"

    fault_proxy_server(FaultProxy(emulator), options.port, _say_ready).run()


def _say_ready(url: str) -> None:
    sys.stdout.write(f"fault proxy ready {url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
