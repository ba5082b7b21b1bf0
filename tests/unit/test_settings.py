"""What a deployment sets, and the digest of it that every audit record carries."""

from __future__ import annotations

import pytest

from no_undo.settings import Settings


@pytest.mark.parametrize(
    "name", ["APPROVER_POLICY_PARAMETER", "RETRY_AFTER_RELEASE", "SIGNATURE_TRUST_ROOTS"]
)
def test_the_configuration_digest_moves_with_a_setting_that_governs_decisions(name: str) -> None:
    before = Settings({name: "a"}).config_digest()

    assert before == Settings({name: "a"}).config_digest()
    assert before != Settings({name: "b"}).config_digest()
    assert len(before) == 16
