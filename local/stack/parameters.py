"""Template parameters that differ on a laptop."""

from pathlib import Path

from local.stack.build import runtime
from local.stack.deploy import read_template
from local.stack.stack import RunningStack


def local_parameters(built_template: Path, running: RunningStack) -> dict[str, str]:
    """Return a value for each parameter of the template that differs from its default here.

    Args:
        built_template: The template that is going to be deployed.
        running: The stack it is deployed into.
    """
    known = {
        "Runtime": runtime(),
        "MailFrom": "no-undo@example.com",
        "ApiUrlPrefix": f"{running.url('emulator')}/_aws/execute-api/",
        "ApiUrlSuffix": "/$default",
    }
    if "sandbox" in running.ports:
        vendors = running.url("sandbox")
        known |= {
            "ESignBaseUrl": vendors,
            "PdfServicesBaseUrl": vendors,
            "ExtractionBaseUrl": vendors,
            "RedactionBaseUrl": vendors,
        }
    declared = read_template(built_template).get("Parameters", {})
    return {name: value for name, value in known.items() if name in declared}
