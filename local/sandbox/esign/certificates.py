"""The throw-away certificate authority: made on first start, never shipped, says what it is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ROOT_COMMON_NAME = "No Undo SANDBOX throw-away root, trust nothing it signs"
_MAX_COMMON_NAME = 64  # RFC 5280 appendix A.1, ub-common-name
_LIFETIME = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def root_of(data_dir: Path) -> KeyPair:
    """Return the data folder's root, making it when there is none yet."""
    path = data_dir / "sandbox-ca.pem"
    if not path.exists():
        _write_private(path, _make_root())
    pem = path.read_bytes()
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{path.name} holds a key of another kind: delete it to get a new root")
    return KeyPair(x509.load_pem_x509_certificate(pem), key)


def _write_private(path: Path, pair: KeyPair) -> None:
    """Write key and certificate as one file, whole or not at all, readable by its owner only."""
    pem = pair.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + pair.certificate.public_bytes(serialization.Encoding.PEM)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(pem)
    unfinished.replace(path)


def _make_root() -> KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(ROOT_COMMON_NAME)
    builder = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )
    return KeyPair(builder.sign(key, hashes.SHA256()), key)


def issue(root: KeyPair, name: str, email: str) -> KeyPair:
    """Return a fresh signing certificate for one signer."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(root.key.public_key())
    builder = (
        _builder(_name(name or email), root.certificate.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.RFC822Name(email)]), critical=False)
        .add_extension(issuer_key, critical=False)
    )
    return KeyPair(builder.sign(root.key, hashes.SHA256()), key)


def _name(common_name: str) -> x509.Name:
    attribute = x509.NameAttribute(NameOID.COMMON_NAME, common_name[:_MAX_COMMON_NAME])
    return x509.Name([attribute])


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=not signs_certificates,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
