"""Which file of certificate authorities libpq is given."""

from pathlib import Path

import pytest

from apps.clusters.outside import tls_roots
from apps.clusters.outside.tls_roots import NOBODY, root_certificates


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nobody has chosen anything; its system trusts the authorities in `system.crt`."""
    for name in ("PGSSLROOTCERT", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    bundle = tmp_path / "system.crt"
    bundle.touch()
    monkeypatch.setattr(tls_roots, "SYSTEM_BUNDLES", (tmp_path / "elsewhere.crt", bundle))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def own_roots(home: Path) -> Path:
    path = home / ".postgresql" / "root.crt"
    path.parent.mkdir()
    path.touch()
    return path


@pytest.mark.parametrize("sslmode", ["verify-ca", "verify-full"])
def test_what_the_system_trusts_is_trusted(home: Path, sslmode: str) -> None:
    assert root_certificates(sslmode) == str(home / "system.crt")


@pytest.mark.parametrize("sslmode", ["disable", "prefer", "require"])
def test_nothing_is_verified_unless_asked_for(home: Path, monkeypatch: pytest.MonkeyPatch, sslmode: str) -> None:
    monkeypatch.setenv("PGSSLROOTCERT", str(own_roots(home)))

    assert root_certificates(sslmode) == NOBODY
    assert not Path(NOBODY).exists()


def test_a_file_named_for_openssl_goes_before_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/srv/ours.crt")

    assert root_certificates("verify-full") == "/srv/ours.crt"


def test_libpqs_own_places_go_before_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/srv/ours.crt")
    own = own_roots(home)

    assert root_certificates("verify-full") == str(own)

    monkeypatch.setenv("PGSSLROOTCERT", "/srv/databases.crt")
    assert root_certificates("verify-full") == "/srv/databases.crt"


def test_the_word_system_means_the_systems_file_for_verify_ca_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_roots(home)
    monkeypatch.setenv("PGSSLROOTCERT", "system")

    assert root_certificates("verify-ca") == str(home / "system.crt")


def test_a_system_without_authorities_leaves_the_refusal_to_libpq(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_roots, "SYSTEM_BUNDLES", (home / "none.crt",))

    assert root_certificates("verify-full") == str(home / "none.crt")
