"""TLS towards a real pgpool and real backends: what is encrypted, what is verified, and what is said when it is not."""

import datetime as dt
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.clusters.models import BackendLatest, Cluster, InstanceLatest
from apps.clusters.outside.backend_client import BackendAddress, KeptBackend, ask_backend
from apps.clusters.outside.diagnosis import Diagnosis, diagnose, diagnose_backend
from apps.clusters.outside.pgpool_client import PgpoolAddress, PgpoolConnection
from apps.clusters.polling.kept_session import KeptSession
from deploy.demo.dashboard import cluster_description
from deploy.lab import Lab
from deploy.lab.plan import Backend
from tests.clusters.polling_scene import watching
from tests.lab import authority
from tests.lab.registered import register_lab

ADDRESS, OTHER_NAME = "127.0.0.1", "localhost"  # the certificate is made out to the first alone
ANSWER_S = 30.0
NOW = dt.datetime.now(dt.UTC)
OURS, STRANGERS = authority.found("Ours", now=NOW), authority.found("Strangers", now=NOW)

Look = Callable[..., Awaitable[Diagnosis]]
Trust = Callable[[authority.Authority], None]
Wait = Callable[..., None]


@pytest.fixture(scope="module")
def tls_lab(tmp_path_factory: pytest.TempPathFactory, wait_until: Wait) -> Iterator[Lab]:
    """A cluster of which every server offers TLS, with a certificate for 127.0.0.1."""
    lab = Lab(tmp_path_factory.mktemp("tls"), pgpool_count=1, num_init_children=16)
    lab.belongs_to(os.getpid())
    try:
        lab.up()
        offer_tls(lab, OURS.issue(ADDRESS, now=NOW), wait_until)
        yield lab
    finally:
        lab.forget()


def offer_tls(lab: Lab, pair: authority.Certificate, wait_until: Wait) -> None:
    data = Path(lab.addresses["data"])
    certificate = lab.account.file(data / "server.crt", pair.certificate)
    key = lab.account.file(data / "server.key", pair.key)
    for backend in lab.plan.backends:
        with lab.backends.connect(backend) as connection:
            connection.execute(f"ALTER SYSTEM SET ssl_cert_file = '{certificate}'".encode())
            connection.execute(f"ALTER SYSTEM SET ssl_key_file = '{key}'".encode())
            connection.execute("ALTER SYSTEM SET ssl = on")
            connection.execute("SELECT pg_reload_conf()")
        wait_until(lambda backend=backend: offers_tls(lab, backend), f"{backend.name} offers TLS")
    [pgpool] = lab.plan.pgpools
    text = Path(pgpool.conf).read_text(encoding="utf-8")
    assert "\nssl = off\n" in text
    switched = text.replace("\nssl = off\n", f"\nssl = on\nssl_cert = '{certificate}'\nssl_key = '{key}'\n")
    lab.stop(pgpool.name)
    lab.account.file(Path(pgpool.conf), switched)
    lab.start(pgpool.name)


def offers_tls(lab: Lab, backend: Backend) -> bool:
    with lab.backends.connect(backend) as connection:
        return connection.pgconn.ssl_in_use


@pytest.fixture
def trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trust:
    """trust(OURS): the machine that Lifeguard runs on trusts that authority and no other."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PGSSLROOTCERT", raising=False)

    def choose(trusted: authority.Authority) -> None:
        bundle = tmp_path / "trusted.crt"
        bundle.write_text(trusted.certificate, encoding="utf-8")
        monkeypatch.setenv("SSL_CERT_FILE", str(bundle))

    choose(OURS)
    return choose


def pgpool_address(lab: Lab, sslmode: str, host: str = ADDRESS) -> PgpoolAddress:
    return PgpoolAddress(host, lab.plan.pgpools[0].port, **lab.addresses["monitor"], sslmode=sslmode)


def backend_address(lab: Lab, sslmode: str, host: str = ADDRESS, node_id: int = 0) -> BackendAddress:
    return BackendAddress(host, lab.plan.backends[node_id].port, **lab.addresses["monitor"], sslmode=sslmode)


async def look_at_pgpool(lab: Lab, sslmode: str, host: str = ADDRESS) -> Diagnosis:
    return await diagnose(pgpool_address(lab, sslmode, host), deadline_s=ANSWER_S)


async def look_at_backend(lab: Lab, sslmode: str, host: str = ADDRESS) -> Diagnosis:
    return await diagnose_backend(backend_address(lab, sslmode, host), deadline_s=ANSWER_S)


each_way = pytest.mark.parametrize("look", [look_at_pgpool, look_at_backend])


@each_way
@pytest.mark.parametrize("sslmode", ["prefer", "require"])
@pytest.mark.parametrize("trusted", [OURS, STRANGERS], ids=["known", "unknown"])
async def test_encrypted_without_a_look_at_the_certificate_is_a_warning(
    tls_lab: Lab, trust: Trust, look: Look, sslmode: str, trusted: authority.Authority
) -> None:
    trust(trusted)

    diagnosis = await look(tls_lab, sslmode)

    assert diagnosis.is_ok, diagnosis
    assert diagnosis.step("tls").state == "warning"
    assert "encrypted, but the certificate is not verified" in diagnosis.step("tls").text


@each_way
@pytest.mark.parametrize(
    ("sslmode", "host"), [("verify-full", ADDRESS), ("verify-ca", ADDRESS), ("verify-ca", OTHER_NAME)]
)
async def test_a_certificate_of_a_trusted_authority_is_verified(
    tls_lab: Lab, trust: Trust, look: Look, sslmode: str, host: str
) -> None:
    trust(OURS)

    diagnosis = await look(tls_lab, sslmode, host)

    assert diagnosis.is_ok, diagnosis
    assert diagnosis.step("tls").state == "ok"
    assert f"verified ({sslmode})" in diagnosis.step("tls").text


@each_way
@pytest.mark.parametrize("sslmode", ["verify-ca", "verify-full"])
async def test_an_unknown_authority_fails_at_tls_and_says_where_to_put_its_certificate(
    tls_lab: Lab, trust: Trust, look: Look, sslmode: str
) -> None:
    trust(STRANGERS)

    diagnosis = await look(tls_lab, sslmode)

    assert diagnosis.failed is not None, diagnosis
    assert diagnosis.failed.name == "tls"
    assert "could not be verified" in diagnosis.failed.text
    assert "update-ca-certificates" in diagnosis.failed.fix
    assert diagnosis.step("authenticate").state == "skipped"


@each_way
async def test_a_certificate_for_another_name_fails_at_tls(tls_lab: Lab, trust: Trust, look: Look) -> None:
    trust(OURS)

    diagnosis = await look(tls_lab, "verify-full", OTHER_NAME)

    assert diagnosis.failed is not None, diagnosis
    assert diagnosis.failed.name == "tls"
    assert "made out to another name" in diagnosis.failed.text
    assert f"subjectAltName {OTHER_NAME}" in diagnosis.failed.fix


@each_way
async def test_a_file_of_authorities_that_is_missing_fails_at_tls(
    tls_lab: Lab, trust: Trust, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(OURS)
    monkeypatch.setenv("PGSSLROOTCERT", "/nonexistent/roots.crt")

    diagnosis = await look(tls_lab, "verify-full")

    assert diagnosis.failed is not None, diagnosis
    assert diagnosis.failed.name == "tls"
    assert "/nonexistent/roots.crt" in diagnosis.failed.text
    assert "PGSSLROOTCERT" in diagnosis.failed.fix


@each_way
@pytest.mark.parametrize("sslmode", ["require", "verify-full"])
async def test_a_server_without_tls_fails_at_tls_where_it_is_asked_for(
    lab: Lab, trust: Trust, look: Look, sslmode: str
) -> None:
    trust(OURS)

    diagnosis = await look(lab, sslmode)

    assert diagnosis.failed is not None, diagnosis
    assert diagnosis.failed.name == "tls"
    assert "ssl = on" in diagnosis.failed.fix


@each_way
async def test_a_server_without_tls_is_told_to_speak_in_clear_text(lab: Lab, trust: Trust, look: Look) -> None:
    trust(OURS)

    diagnosis = await look(lab, "prefer")

    assert diagnosis.is_ok, diagnosis
    assert (diagnosis.step("tls").state, "clear text" in diagnosis.step("tls").text) == ("warning", True)


@pytest.mark.parametrize(
    ("sslmode", "is_encrypted"), [("disable", False), ("prefer", True), ("require", True), ("verify-full", True)]
)
async def test_the_kept_connections_are_encrypted_as_the_mode_says(
    tls_lab: Lab, trust: Trust, sslmode: str, is_encrypted: bool
) -> None:
    trust(OURS)
    session, kept = KeptSession(pgpool_address(tls_lab, sslmode)), KeptBackend()

    async def look(connection: PgpoolConnection) -> bool:
        await connection.probe(deadline_s=ANSWER_S)
        return connection.is_encrypted

    seen = await session.ask(look)
    await ask_backend(backend_address(tls_lab, sslmode), deadline_s=ANSWER_S, kept=kept)
    assert kept.session is not None
    seen_at_backend = kept.session.is_encrypted
    await session.close()
    await kept.close()

    assert (seen, seen_at_backend) == (is_encrypted, is_encrypted)


@pytest.fixture
def script(api_client: Callable[..., APIClient]) -> APIClient:
    return api_client("admin")


def description(lab: Lab, sslmode: str) -> dict[str, Any]:
    whole = cluster_description(lab.addresses)
    pgpools = [{**pgpool, "delivery": {"kind": "observe"}} for pgpool in whole["pgpools"]]
    return {**whole, "pgpools": pgpools, "sslmode": sslmode}


@pytest.mark.django_db
def test_the_report_before_a_registration_tells_what_was_verified(
    tls_lab: Lab, trust: Trust, script: APIClient
) -> None:
    trust(OURS)

    answer = script.post("/api/v1/clusters/test-connection/", description(tls_lab, "verify-full"), format="json")

    assert answer.status_code == 200, answer.content
    told = [step for step in answer.json()["steps"] if step["step"] == "tls"]
    assert len(told) == 4  # pgpool-1, pg1, pg2, pg3
    assert {(step["state"], step["text"]) for step in told} == {
        ("ok", "encrypted, the certificate is verified (verify-full)")
    }


@pytest.mark.django_db
def test_a_cluster_that_cannot_be_verified_is_not_registered(tls_lab: Lab, trust: Trust, script: APIClient) -> None:
    trust(STRANGERS)

    answer = script.post("/api/v1/clusters/", description(tls_lab, "verify-full"), format="json")

    assert answer.status_code == 400, answer.content
    assert "update-ca-certificates" in answer.content.decode()
    assert not Cluster.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_watched_cluster_is_only_spoken_to_by_tls(
    tls_lab: Lab, trust: Trust, settings: Any, wait_until: Wait
) -> None:
    trust(OURS)
    cluster, _ = register_lab(tls_lab, settings)
    Cluster.objects.filter(pk=cluster.pk).update(sslmode="verify-full")

    with watching():
        wait_until(lambda: answering(cluster) == 4, "pgpool-1, pg1, pg2 and pg3 answer")
        with tls_lab.backends.connect(tls_lab.plan.backends[1]) as superuser:
            rows = superuser.execute(
                "SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                "WHERE usename = 'lifeguard' AND application_name = 'lifeguard' GROUP BY ssl"
            ).fetchall()

    assert [is_encrypted for is_encrypted, _ in rows] == [True]


def answering(cluster: Cluster) -> int:
    pgpools = InstanceLatest.objects.filter(instance__cluster=cluster, state="answering")
    backends = BackendLatest.objects.filter(backend__cluster=cluster, is_in_recovery__isnull=False)
    return pgpools.count() + backends.count()
