"""Failures of function code reach the caller as on Lambda."""

from tests.e2e.emulator.conftest import Probe


def test_an_exception_is_reported_by_its_class_name_with_its_stack(probe: Probe) -> None:
    answer = probe.invoke({"action": "raise"})

    assert answer["FunctionError"] == "Unhandled"
    assert answer["Payload"]["errorType"] == "ProbeError"
    assert answer["Payload"]["errorMessage"] == "as asked"
    assert "in _raise" in answer["Payload"]["stackTrace"][-1]


def test_a_killed_process_is_reported_as_an_exit(probe: Probe) -> None:
    answer = probe.invoke({"action": "die"})

    assert answer["Payload"]["errorType"] == "Runtime.ExitError"
    assert "Runtime exited with error: signal: killed" in answer["Payload"]["errorMessage"]


def test_the_function_runs_again_after_its_process_was_killed(probe: Probe) -> None:
    probe.invoke({"action": "die"})

    assert probe.invoke({"alive": True})["Payload"] == {"alive": True}


def test_a_module_that_cannot_be_imported_is_reported_as_such(probe: Probe) -> None:
    answer = probe.invoke({}, function="BrokenFunction")

    assert answer["Payload"]["errorType"] == "Runtime.ImportModuleError"
    assert answer["Payload"]["errorMessage"] == (
        "Unable to import module 'app': No module named 'a_module_that_is_not_there'"
    )


def test_a_run_over_its_time_is_reported_as_timed_out(probe: Probe) -> None:
    answer = probe.invoke({"action": "sleep", "seconds": 10}, function="HastyFunction")

    assert answer["Payload"]["errorType"] == "Sandbox.Timedout"
    assert "Task timed out after 1.00 seconds" in answer["Payload"]["errorMessage"]


def test_a_state_machine_catches_an_exception_by_its_class_name(probe: Probe) -> None:
    states = {
        "Probe": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {
                "FunctionName": probe.outputs["ProbeFunctionArn"],
                "Payload": {"action": "raise"},
            },
            "Catch": [
                {"ErrorEquals": ["ProbeError"], "Next": "Caught"},
                {"ErrorEquals": ["States.ALL"], "Next": "Missed"},
            ],
            "Next": "Missed",
        },
        "Caught": {"Type": "Succeed"},
        "Missed": {"Type": "Fail"},
    }

    assert probe.finish(probe.start(states))["status"] == "SUCCEEDED"
