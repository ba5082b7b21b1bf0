"""Start everything and deploy the real template: what `make up`, the demo and the tests share."""

from collections.abc import Mapping
from pathlib import Path

from local.stack import stack
from local.stack.build import build
from local.stack.deploy import deploy
from local.stack.parameters import local_parameters, store_vendor_keys
from local.stack.stack import RunningStack

STACK_NAME = "no-undo"


def bring_up(
    data: Path,
    *,
    inbox: bool = False,
    fault_proxy: bool = False,
    wait_scale: float = 1.0,
    parameters: Mapping[str, str] | None = None,
) -> RunningStack:
    """Start the emulator and the vendor sandbox, deploy the real template, store the vendor keys.

    Safe to call again: what runs is kept, what changed is updated.

    Args:
        data: Data folder of this stack.
        inbox: Start the mail inbox page too.
        fault_proxy: Let the AWS calls of functions go through a proxy that can disturb them.
        wait_scale: Factor on the sleeps of Wait states and retries; takes effect on a start only.
        parameters: Template parameters that go before the local ones.

    Returns:
        The running stack with the template's outputs.

    Raises:
        StackError: A part did not start.
        BuildError: The template does not build.
        DeployError: The template does not deploy.
    """
    before, after = ["fault_proxy"] * fault_proxy, ["inbox"] * inbox
    parts = (*before, "emulator", "sandbox", *after)
    running = stack.start(data, parts=parts, wait_scale=wait_scale)
    built = build(data / "build")
    deployed = deploy(
        built,
        client=running.aws.client,
        stack_name=STACK_NAME,
        parameters=local_parameters(built, running, parameters),
    )
    store_vendor_keys(running.aws, deployed.outputs)
    return stack.remember_outputs(running, deployed.outputs)
