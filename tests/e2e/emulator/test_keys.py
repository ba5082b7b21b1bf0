"""What the audit needs of KMS."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from tests.e2e.emulator.conftest import Probe


def test_a_mac_is_the_same_for_the_same_message_and_another_for_another(probe: Probe) -> None:
    client, key = probe.aws.client("kms"), probe.outputs["HashKey"]

    def mac(message: bytes) -> bytes:
        made: bytes = client.generate_mac(KeyId=key, Message=message, MacAlgorithm="HMAC_SHA_256")[
            "Mac"
        ]
        return made

    assert mac(b"one") == mac(b"one") != mac(b"two")
    assert len(mac(b"one")) == 32


def test_an_ed25519_signature_verifies_offline(probe: Probe) -> None:
    client, key = probe.aws.client("kms"), probe.outputs["SigningKey"]

    signature = client.sign(
        KeyId=key, Message=b"checkpoint", MessageType="RAW", SigningAlgorithm="ED25519_SHA_512"
    )["Signature"]
    public = load_der_public_key(client.get_public_key(KeyId=key)["PublicKey"])

    assert isinstance(public, Ed25519PublicKey)
    public.verify(signature, b"checkpoint")
