"""Signs PDFs for tests with a throw-away certificate authority."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from cryptography import x509 as crypto_x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# pyHanko's types are partial, so its modules are taken as they come.
_keys: Any = import_module("pyhanko.keys")
_fields: Any = import_module("pyhanko.sign.fields")
_signers: Any = import_module("pyhanko.sign.signers")
_registry: Any = import_module("pyhanko_certvalidator.registry")
_writers: Any = import_module("pyhanko.pdf_utils.incremental_writer")


@dataclass(frozen=True, slots=True)
class Authority:
    """A root of trust that signs one certificate per signer."""

    key: ec.EllipticCurvePrivateKey
    certificate: crypto_x509.Certificate

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def new_authority() -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate("Throw-away test root", key, "Throw-away test root", key, ca=True)
    return Authority(key, certificate)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    ca: bool,
) -> crypto_x509.Certificate:
    now = datetime.now(UTC)
    usage = crypto_x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=not ca,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        crypto_x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(crypto_x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(crypto_x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _name(name: str) -> crypto_x509.Name:
    return crypto_x509.Name([crypto_x509.NameAttribute(NameOID.COMMON_NAME, name)])


def signed(document: bytes, authority: Authority, *, count: int = 1) -> bytes:
    """Sign a document once per signer, each in a visible field of its own at the page's foot."""
    for number in range(1, count + 1):
        document = _signed_once(document, authority, number)
    return document


def _signed_once(document: bytes, authority: Authority, number: int) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(
        f"Signer {number}", key, "Throw-away test root", authority.key, ca=False
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    store = _registry.SimpleCertificateStore()
    store.register(_loaded(authority.certificate))
    signer = _signers.SimpleSigner(
        signing_cert=_loaded(certificate),
        signing_key=_keys.load_private_key_from_pemder_data(pem, None),
        cert_registry=store,
    )
    writer = _writers.IncrementalPdfFileWriter(io.BytesIO(document))
    spec = _fields.SigFieldSpec(f"Signer{number}", on_page=-1, box=(72, 92, 372, 132))
    _fields.append_signature_field(writer, spec)
    output = _signers.sign_pdf(
        writer, _signers.PdfSignatureMetadata(field_name=f"Signer{number}"), signer=signer
    )
    return bytes(output.getvalue())


def _loaded(certificate: crypto_x509.Certificate) -> Any:  # noqa: ANN401 - an untyped library's
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return next(iter(_keys.load_certs_from_pemder_data(pem)))
