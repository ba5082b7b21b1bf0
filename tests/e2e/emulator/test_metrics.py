"""Alarms on executions watch one state machine."""

from tests.e2e.emulator.conftest import Probe, until


def alarm_state(probe: Probe) -> str:
    alarms = probe.aws.client("cloudwatch").describe_alarms(AlarmNames=[probe.outputs["AlarmName"]])
    state: str = alarms["MetricAlarms"][0]["StateValue"]
    return state


def test_an_alarm_fires_for_its_own_state_machine_only(probe: Probe) -> None:
    fail = {"Fail": {"Type": "Fail", "Error": "AsAsked"}}

    assert probe.finish(probe.start(fail, name="another"))["status"] == "FAILED"
    after_another = alarm_state(probe)
    assert probe.finish(probe.start(fail, name="alarmed"))["status"] == "FAILED"

    assert after_another != "ALARM"
    until(lambda: alarm_state(probe) == "ALARM" or None)
