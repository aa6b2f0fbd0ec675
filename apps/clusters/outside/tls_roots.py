"""Which certificate authorities are trusted when the certificate of a pgpool or a backend is to be verified."""

from __future__ import annotations

import os
from pathlib import Path

# Where systems keep the authorities that they trust, in one file: Debian, Red Hat, SUSE, Alpine.
SYSTEM_BUNDLES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/ca-bundle.pem"),
    Path("/etc/ssl/cert.pem"),
)
# No file can lie there. libpq would verify with ~/.postgresql/root.crt even if asked only to encrypt, and with prefer
# go on in clear text where that fails.
NOBODY = "/dev/null/nobody"


def root_certificates(sslmode: str) -> str:
    """The file to give libpq as sslrootcert. Where it is missing, libpq refuses and says so.

    PGSSLROOTCERT and ~/.postgresql/root.crt are libpq's own places, SSL_CERT_FILE is OpenSSL's. libpq takes the
    word "system" only with verify-full, and its wheel carries an OpenSSL that looks elsewhere than the system's.
    """
    if not sslmode.startswith("verify-"):
        return NOBODY
    named = os.environ.get("PGSSLROOTCERT", "")
    if named not in ("", "system"):
        return named
    own = Path(os.environ.get("HOME", "/"), ".postgresql", "root.crt")
    if named != "system" and os.access(own, os.R_OK):
        return str(own)
    found = (bundle for bundle in SYSTEM_BUNDLES if os.access(bundle, os.R_OK))
    return os.environ.get("SSL_CERT_FILE") or str(next(found, SYSTEM_BUNDLES[0]))
