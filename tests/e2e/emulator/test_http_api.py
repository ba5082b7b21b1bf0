"""HTTP APIs: who may call, what the function learns of the caller, what a failure shows."""

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.stack.aws import REGION
from tests.e2e.emulator.conftest import Probe

ACCOUNT = "000000000000"


def signed(url: str, access_key_id: str, secret: str) -> dict[str, str]:
    """Return the headers of a GET request signed for API Gateway."""
    request = AWSRequest("GET", url)
    SigV4Auth(Credentials(access_key_id, secret), "execute-api", REGION).add_auth(request)
    return dict(request.headers)


@pytest.fixture(scope="module", params=["", "/$default"], ids=["without stage", "with stage"])
def callers_url(probe: Probe, request: pytest.FixtureRequest) -> str:
    """The route that needs a signature, under both addresses of the default stage."""
    return f"{probe.outputs['ApiEndpoint']}{request.param}/callers"


def new_key(probe: Probe, user: str) -> tuple[str, str]:
    key = probe.aws.client("iam").create_access_key(UserName=probe.outputs[user])["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def test_an_unsigned_request_is_forbidden(callers_url: str) -> None:
    response = httpx.get(callers_url)

    assert (response.status_code, response.json()) == (403, {"message": "Forbidden"})


def test_the_function_learns_which_user_called(probe: Probe, callers_url: str) -> None:
    key, secret = new_key(probe, "CallerUser")

    response = httpx.get(callers_url, headers=signed(callers_url, key, secret))

    caller = response.json()["context"]["authorizer"]["iam"]
    assert caller["userArn"] == f"arn:aws:iam::{ACCOUNT}:user/{probe.outputs['CallerUser']}"
    assert caller["accessKey"] == key
    assert caller["accountId"] == ACCOUNT
    assert caller["userId"] == caller["callerId"] != ""
    assert caller["cognitoIdentity"] is None
    assert caller["principalOrgId"] is None


def test_the_root_key_calls_as_the_root_of_the_account(callers_url: str) -> None:
    response = httpx.get(callers_url, headers=signed(callers_url, "test", "test"))

    caller = response.json()["context"]["authorizer"]["iam"]
    assert caller["userArn"] == f"arn:aws:iam::{ACCOUNT}:root"


def test_a_user_without_the_permission_is_forbidden(probe: Probe, callers_url: str) -> None:
    key, secret = new_key(probe, "StrangerUser")

    response = httpx.get(callers_url, headers=signed(callers_url, key, secret))

    assert (response.status_code, response.json()) == (403, {"message": "Forbidden"})


def test_an_unknown_key_is_forbidden(callers_url: str) -> None:
    response = httpx.get(callers_url, headers=signed(callers_url, "AKIAUNKNOWN000000000", "x"))

    assert (response.status_code, response.json()) == (403, {"message": "Forbidden"})


def test_a_forged_signature_of_a_user_is_forbidden(probe: Probe, callers_url: str) -> None:
    key, _ = new_key(probe, "CallerUser")

    response = httpx.get(callers_url, headers=signed(callers_url, key, "not the secret"))

    assert (response.status_code, response.json()) == (403, {"message": "Forbidden"})


def test_an_open_route_takes_anybody_and_hands_on_path_parameters(probe: Probe) -> None:
    response = httpx.get(f"{probe.outputs['ApiEndpoint']}/open/abc")

    assert response.status_code == 200
    assert response.json()["path"] == "/open/abc"
    assert "authorizer" not in response.json()["context"]


def test_a_route_that_is_not_there_is_not_found(probe: Probe) -> None:
    assert httpx.get(f"{probe.outputs['ApiEndpoint']}/nowhere").status_code == 404


def test_a_failing_function_shows_nothing_of_its_error(probe: Probe) -> None:
    response = httpx.get(f"{probe.outputs['ApiEndpoint']}/fail")

    assert response.status_code == 500
    assert response.json() == {"message": "Internal Server Error"}


def test_the_function_can_tell_its_own_address(probe: Probe) -> None:
    seen = probe.invoke({"action": "environment"})["Payload"]

    assert seen["PUBLIC_URL"] == probe.outputs["ApiEndpoint"]
