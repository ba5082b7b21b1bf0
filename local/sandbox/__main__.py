"""`python -m local.sandbox --port P --data DIR`: run the vendor sandbox until it is stopped."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from local.sandbox.server import sandbox_server
from local.sandbox.state import Credentials, Sandbox


def main(arguments: list[str] | None = None) -> int:
    """Run the sandbox; returns 0 after a clean stop.

    Raises:
        SystemExit: With status 2 for bad arguments, 3 when the port cannot be had.
    """
    options = _parser().parse_args(arguments)
    pair = Credentials(client_id=options.client_id, client_secret=options.client_secret)
    server = sandbox_server(Sandbox(options.data, credentials=pair), options.port, _say_ready)
    server.run()
    return 0


def _say_ready(url: str) -> None:
    sys.stdout.write(f"sandbox ready {url}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    defaults = Credentials()
    parser = argparse.ArgumentParser(prog="python -m local.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 picks a free one")
    parser.add_argument("--data", type=Path, required=True, help="folder that keeps the state")
    parser.add_argument("--client-id", default=defaults.client_id)
    parser.add_argument("--client-secret", default=defaults.client_secret)
    return parser


if __name__ == "__main__":
    sys.exit(main())
