"""Policies, hashes, secrets, resumption, clock and tokens."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from no_undo.adapters.aws_config import client_config, state_client_config
from no_undo.adapters.kms_hasher import KmsHasher
from no_undo.adapters.lambda_resumer import LambdaResumer
from no_undo.adapters.secretsmanager_secrets import SecretsManagerSecrets
from no_undo.adapters.ssm_documents import KEPT_FOR, SsmFloorsSource
from no_undo.adapters.ssm_policies import SsmPolicySource
from no_undo.adapters.system_clock import SystemClock
from no_undo.adapters.system_tokens import SystemTokens
from no_undo.domain.errors import RefusedError, TransientError, VendorContractError
from no_undo.domain.floors import FLOORS, as_document
from no_undo.lab.fixed_clock import EPOCH, FixedClock
from no_undo.lab.seeded_tokens import SeededTokens
from tests.integration.aws.clients import client_of
from tests.integration.aws.scripted_client import service_error

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_ssm import SSMClient

PARAMETER = "/no-undo/approver-policy"


class CountingClient:
    """Answers every call from one table and counts the calls."""

    def __init__(self, answers: dict[str, object]) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.answers = answers

    def __getattr__(self, name: str) -> object:
        def call(**parameters: object) -> object:
            self.calls.append((name, parameters))
            answer = self.answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer(parameters) if callable(answer) else answer

        return call


def policies(text: str, clock: FixedClock) -> tuple[SsmPolicySource, SSMClient]:
    client: SSMClient = client_of("ssm")
    client.put_parameter(Name=PARAMETER, Type="String", Value=text)
    return SsmPolicySource(client, PARAMETER, clock), client


def policy_text(*eligible: str) -> str:
    return json.dumps({"tenants": {"acme": {"eligible": eligible}}})


def test_a_tenant_has_the_policy_that_was_deployed_for_it(aws: None) -> None:
    source, _ = policies(policy_text("dave@example.com"), FixedClock())

    policy = source.policy("acme")

    assert policy is not None
    assert policy.eligible == ("dave@example.com",)
    assert source.policy("other") is None


def test_a_policy_that_changed_is_seen_within_seconds(aws: None) -> None:
    clock = FixedClock()
    source, client = policies(policy_text("dave@example.com"), clock)
    before = source.policy("acme")
    client.put_parameter(
        Name=PARAMETER, Type="String", Value=policy_text("erin@example.com"), Overwrite=True
    )

    kept = source.policy("acme")
    clock.advance(KEPT_FOR)
    after = source.policy("acme")

    assert kept == before
    assert after is not None
    assert after.eligible == ("erin@example.com",)


def test_without_a_policy_document_no_tenant_has_a_policy(aws: None) -> None:
    source = SsmPolicySource(client_of("ssm"), PARAMETER, FixedClock())

    assert source.policy("acme") is None


@pytest.mark.parametrize("text", ["{not json", '{"tenants": {"acme": {"eligible": "all"}}}', "[]"])
def test_a_policy_that_cannot_be_used_is_refused_and_never_defaulted(aws: None, text: str) -> None:
    source, _ = policies(text, FixedClock())

    with pytest.raises(RefusedError, match="policy"):
        source.policy("acme")


def test_a_policy_that_cannot_be_read_is_not_replaced_by_an_old_one(aws: None) -> None:
    clock = FixedClock()
    client = CountingClient({"get_parameter": {"Parameter": {"Value": policy_text("@a.example")}}})
    source = SsmPolicySource(cast("SSMClient", client), PARAMETER, clock)
    source.policy("acme")
    clock.advance(KEPT_FOR)
    client.answers["get_parameter"] = service_error("ThrottlingException")

    with pytest.raises(TransientError, match="policy"):
        source.policy("acme")


def floors_source(text: str | None) -> SsmFloorsSource:
    client: SSMClient = client_of("ssm")
    if text is not None:
        client.put_parameter(Name=PARAMETER, Type="String", Value=text)
    return SsmFloorsSource(client, PARAMETER, FixedClock())


def test_a_document_type_has_the_floors_that_were_deployed_for_it(aws: None) -> None:
    row = replace(FLOORS["invoice"], recognition=0.97)

    source = floors_source(as_document({"invoice": row}))

    assert source.floors("invoice") == row
    assert source.floors("receipt") == FLOORS["default"]


@pytest.mark.parametrize("text", [None, '{"thresholds": []}'])
def test_without_deployed_floors_the_built_in_ones_apply(aws: None, text: str | None) -> None:
    assert floors_source(text).floors("invoice") == FLOORS["invoice"]


@pytest.mark.parametrize("text", ["{not json", "[]", '{"thresholds": [{"calibrated": true}]}'])
def test_floors_that_cannot_be_used_are_refused_and_never_defaulted(aws: None, text: str) -> None:
    with pytest.raises(RefusedError, match="thresholds document"):
        floors_source(text).floors("invoice")


def test_equal_values_have_equal_digests_only_within_one_scope(aws: None) -> None:
    client: KMSClient = client_of("kms")
    key_id = client.create_key(KeyUsage="GENERATE_VERIFY_MAC", KeySpec="HMAC_256")["KeyMetadata"][
        "KeyId"
    ]
    hasher = KmsHasher(client, key_id)

    digest = hasher.digest("r1", "alice@example.com")

    assert re.fullmatch(r"[0-9a-f]{64}", digest)
    assert hasher.digest("r1", "alice@example.com") == digest
    assert KmsHasher(client, key_id).digest("r1", "alice@example.com") == digest
    assert hasher.digest("r2", "alice@example.com") != digest
    assert hasher.digest("r1", "bob@example.com") != digest


def test_a_scope_costs_one_call_however_many_values_it_has() -> None:
    subkey = b"k" * 32
    client = CountingClient({"generate_mac": {"Mac": subkey}})
    hasher = KmsHasher(cast("KMSClient", client), "key")

    digests = [hasher.digest("r1", value) for value in ("a", "b", "ä")]

    assert len(client.calls) == 1
    assert client.calls[0][1]["MacAlgorithm"] == "HMAC_SHA_256"
    assert digests[2] == hmac.new(subkey, "ä".encode(), hashlib.sha256).hexdigest()


def test_a_key_that_cannot_be_used_now_is_a_passing_trouble() -> None:
    client = CountingClient({"generate_mac": service_error("KMSInternalException", 500)})

    with pytest.raises(TransientError, match="subkey"):
        KmsHasher(cast("KMSClient", client), "key").digest("r1", "a value")


def test_a_secret_is_read_once(aws: None) -> None:
    client: SecretsManagerClient = client_of("secretsmanager")
    arn = client.create_secret(Name="esign", SecretString='{"clientId": "a", "key": "b"}')["ARN"]
    secrets = SecretsManagerSecrets(client)

    assert secrets.secret(arn) == {"clientId": "a", "key": "b"}
    client.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)
    assert secrets.secret(arn) == {"clientId": "a", "key": "b"}


@pytest.mark.parametrize("value", ["plain words", "[1]", '{"key": 7}', ""])
def test_a_secret_of_another_shape_is_refused_without_being_quoted(value: str) -> None:
    client = CountingClient({"get_secret_value": {"SecretString": value}})
    secrets = SecretsManagerSecrets(cast("SecretsManagerClient", client))

    with pytest.raises(VendorContractError, match="secret esign") as caught:
        secrets.secret("esign")

    assert "plain words" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_that_could_not_be_read_is_asked_for_again(aws: None) -> None:
    client: SecretsManagerClient = client_of("secretsmanager")
    secrets = SecretsManagerSecrets(client)
    with pytest.raises(TransientError, match="secret"):
        secrets.secret("esign")

    client.create_secret(Name="esign", SecretString="{}")

    assert secrets.secret("esign") == {}


def test_a_resumption_is_asked_for_asynchronously_by_plan_id_alone() -> None:
    client = CountingClient({"invoke": {"StatusCode": 202}})

    LambdaResumer(cast("LambdaClient", client), "resume_execution").resume("r1#1")

    ((_, call),) = client.calls
    assert call["InvocationType"] == "Event"
    assert call["FunctionName"] == "resume_execution"
    assert json.loads(call["Payload"]) == {"planIds": ["r1#1"]}


def test_a_resumption_that_could_not_be_asked_for_is_a_passing_trouble() -> None:
    client = CountingClient({"invoke": service_error("TooManyRequestsException", 429)})

    with pytest.raises(TransientError, match="resumption"):
        LambdaResumer(cast("LambdaClient", client), "resume_execution").resume("r1#1")


def test_the_system_clock_is_aware_and_in_utc() -> None:
    before = datetime.now(UTC)

    now = SystemClock().now()
    SystemClock().sleep(0)

    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC


def test_a_fixed_clock_moves_only_when_told_or_slept() -> None:
    clock = FixedClock()
    assert clock.now() == clock.now() == EPOCH

    clock.sleep(1.5)
    clock.advance(timedelta(seconds=1))

    assert clock.now() == EPOCH + timedelta(seconds=2.5)
    clock.set(EPOCH)
    assert clock.now() == EPOCH


def test_approval_tokens_have_256_bits_in_43_url_safe_characters() -> None:
    tokens = {SystemTokens(FixedClock()).token() for _ in range(100)}

    assert len(tokens) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens)


def test_uids_are_ulids_in_lower_case_that_sort_by_time() -> None:
    clock = FixedClock(datetime.fromtimestamp(1469918176.385, UTC))
    tokens = SystemTokens(clock)
    uids: list[str] = []
    for _ in range(50):
        uids.append(tokens.uid())
        clock.advance(timedelta(milliseconds=1))

    assert uids[0][:10] == "01aryz6s41"  # the timestamp of the ULID specification's example
    assert uids == sorted(uids)
    assert len(set(uids)) == 50
    assert all(re.fullmatch(r"[0-7][0-9a-hjkmnp-tv-z]{25}", uid) for uid in uids)


def test_seeded_tokens_repeat_with_the_seed_and_keep_the_shapes() -> None:
    first, again, other = SeededTokens(7), SeededTokens(7), SeededTokens(8)

    uids = [first.uid() for _ in range(3)]
    tokens = [first.token() for _ in range(3)]

    assert [again.uid() for _ in range(3)] == uids == sorted(uids)
    assert [again.token() for _ in range(3)] == tokens
    assert [other.uid() for _ in range(3)] != uids
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", token) for token in tokens)
    assert all(re.fullmatch(r"[0-9a-hjkmnp-tv-z]{26}", uid) for uid in uids)


def test_clients_have_timeouts_a_bound_on_attempts_and_our_name() -> None:
    for config, attempts in ((client_config("1.2"), 3), (state_client_config("1.2"), 1)):
        settings = vars(config)
        assert settings["retries"] == {"mode": "standard", "total_max_attempts": attempts}
        assert 0 < settings["connect_timeout"] <= 5
        assert 0 < settings["read_timeout"] <= 15
        assert settings["user_agent_extra"] == "no-undo/1.2"
