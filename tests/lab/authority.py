"""A certificate authority that lives for one test run, and the certificates that it signs."""

import datetime as dt
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALID_FOR = dt.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """Both as PEM."""

    certificate: str
    key: str


@dataclass(frozen=True)
class Authority:
    name: x509.Name
    key: ec.EllipticCurvePrivateKey
    certificate: str

    def issue(self, address: str, *, now: dt.datetime) -> Certificate:
        """A server's certificate that is good for this IP address and for no name."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        signed = _draft(_name(f"server at {address}"), self.name, key, now).add_extension(names, critical=False)
        return Certificate(_pem(signed.sign(self.key, hashes.SHA256())), _key_pem(key))


def found(name: str, *, now: dt.datetime) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    itself = _name(name)
    draft = _draft(itself, itself, key, now).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return Authority(itself, key, _pem(draft.sign(key, hashes.SHA256())))


def _draft(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID_FOR)
        .not_valid_after(now + VALID_FOR)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    encoding, layout = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, layout, serialization.NoEncryption()).decode()
