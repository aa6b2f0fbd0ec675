"""The registry out as YAML and in again: the same file twice is once, secrets stay, nothing is half registered."""

import re
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import AuditEntry
from apps.clusters.models import Cluster, PgpoolInstance, PublishedFile
from apps.clusters.registry.registration import register
from apps.clusters.registry.registry_export import export_yaml
from controlplane.environment import RestartCommand
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters-registry/"


@pytest.fixture
def acme(tmp_path: Path, settings: Any, caller: Callable[..., Any]) -> Iterator[Scene]:
    """Two pgpools; a cluster of the first is registered as Orders."""
    with pgpools_running(tmp_path, settings, count=2) as found:
        wanted = found.wanted(pgpools=(found.pgpool(0),))
        register(caller=caller("admin"), wanted=wanted, now=timezone.now())
        yield found


@pytest.fixture
def admin(acme: Scene, api_client: Callable[..., APIClient]) -> APIClient:
    return api_client("admin")


def exported(admin: APIClient) -> str:
    text: str = admin.get(REST).json()["yaml"]
    return text


def outcome(admin: APIClient, text: str, **more: Any) -> tuple[str, str]:
    answer = admin.post(REST, {"yaml": text, **more})
    assert answer.status_code == 200, answer.content
    assert SECRET not in answer.content.decode()
    (only,) = answer.json()["results"]
    return only["outcome"], only["text"]


def test_an_export_holds_no_password_and_importing_it_changes_nothing(acme: Scene, admin: APIClient) -> None:
    text = exported(admin)
    rows = AuditEntry.objects.count()

    assert SECRET not in text
    assert acme.pgpools[0].pcp_password not in text
    assert "env: LIFEGUARD_ORDERS_PASSWORD" in text
    assert outcome(admin, text) == ("unchanged", "is so already")
    assert (exported(admin), AuditEntry.objects.count()) == (text, rows)


def test_every_way_of_delivery_is_taken_out_and_in(acme: Scene, admin: APIClient) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    instance = PgpoolInstance.objects.get()
    rows = PgpoolInstance.objects.filter(pk=instance.pk)
    rows.update(delivery_kind="ssh", ssh_host="10.0.0.9", ssh_port=2222, ssh_username="lifeguard", ssh_host_key=key)
    text = exported(admin)
    assert "SHA256:" in text
    assert key.split()[1] not in text
    assert outcome(admin, text) == ("unchanged", "is so already")

    rows.update(delivery_kind="manual", delivery_path="", delivery_target=None, ssh_host="", ssh_port=22)
    rows.update(ssh_username="", ssh_host_key="", longest_wait_h=7)
    PublishedFile.objects.create(instance=instance, text="sr_check_password = 'hidden'", sha256="0" * 64)
    text = exported(admin)
    assert "wait_h: 7" in text
    assert "hidden" not in text
    assert outcome(admin, text) == ("unchanged", "is so already")


@pytest.fixture
def restarted(acme: Scene, settings: Any) -> PgpoolInstance:
    """Orders' pgpool, restarted by the command gentle; there is another one, and one of another organisation."""
    commands = ((None, "gentle"), (None, "firm"), ("rival", "theirs"))
    settings.RESTART_COMMANDS = [RestartCommand(of, name, ("/bin/true", "{path}")) for of, name in commands]
    PgpoolInstance.objects.update(restart_command="gentle")
    return PgpoolInstance.objects.get()


def test_the_restart_command_of_a_pgpool_is_taken_out_and_in(
    restarted: PgpoolInstance, acme: Scene, admin: APIClient
) -> None:
    text, rows = exported(admin), AuditEntry.objects.count()
    assert "restart: gentle" in text
    assert outcome(admin, text) == ("unchanged", "is so already")
    assert AuditEntry.objects.count() == rows

    other = text.replace("restart: gentle", "restart: firm")
    assert outcome(admin, other, dry_run=True) == ("changed", "would change: pgpools")
    assert exported(admin) == text
    assert outcome(admin, other) == ("changed", "changed: pgpools")
    assert outcome(admin, other) == ("unchanged", "is so already")
    entry = AuditEntry.objects.latest("pk")
    assert (entry.before["pgpools"][0]["delivery"]["restart"], entry.after["pgpools"][0]["delivery"]["restart"]) == (
        "gentle", "firm",
    )  # fmt: skip

    assert outcome(admin, re.sub(r"\n *restart: firm", "", other)) == ("changed", "changed: pgpools")
    restarted.refresh_from_db()
    assert restarted.restart_command == ""  # by hand

    secrets = {
        "LIFEGUARD_ORDERS_PASSWORD": SECRET,
        "LIFEGUARD_ORDERS_PGPOOL_1_PCP_PASSWORD": acme.pgpools[0].pcp_password,
    }
    Cluster.objects.all().delete()
    assert outcome(admin, text, secrets=secrets)[0] == "created"
    assert PgpoolInstance.objects.get().restart_command == "gentle"


@pytest.mark.parametrize("name", ["theirs", "touch /tmp/x", "script"])
@pytest.mark.parametrize("is_dry_run", [True, False])
def test_a_restart_command_that_is_not_allowed_is_refused_with_its_field(
    restarted: PgpoolInstance, admin: APIClient, name: str, is_dry_run: bool
) -> None:
    text = exported(admin)
    wrong = text.replace("restart: gentle", f"restart: {name}")

    answer = admin.post(REST, {"yaml": wrong, "dry_run": is_dry_run}).json()["results"][0]

    assert (answer["outcome"], list(answer["errors"])) == ("refused", ["pgpools.0.delivery.restart"]), answer
    assert exported(admin) == text


def test_a_restart_command_that_is_registered_stays_where_it_is_no_longer_allowed(
    restarted: PgpoolInstance, admin: APIClient, settings: Any
) -> None:
    text = exported(admin)
    settings.RESTART_COMMANDS = []

    assert outcome(admin, text) == ("unchanged", "is so already")


def test_no_operator_gives_a_pgpool_a_restart_command(
    restarted: PgpoolInstance, admin: APIClient, api_client: Callable[..., APIClient]
) -> None:
    other = exported(admin).replace("restart: gentle", "restart: firm")

    assert api_client("operator").post(REST, {"yaml": other}).status_code == 403
    restarted.refresh_from_db()
    assert restarted.restart_command == "gentle"


def test_a_cluster_comes_back_as_it_was(acme: Scene, admin: APIClient) -> None:
    text, before = exported(admin), list(Cluster.objects.values("slug", "username", "sslmode"))
    secrets = {
        "LIFEGUARD_ORDERS_PASSWORD": SECRET,
        "LIFEGUARD_ORDERS_PGPOOL_1_PCP_PASSWORD": acme.pgpools[0].pcp_password,
    }
    Cluster.objects.all().delete()

    kind, missing = outcome(admin, text)
    assert (kind, Cluster.objects.count()) == ("refused", 0)
    assert "give LIFEGUARD_ORDERS_PASSWORD with the import" in missing
    assert "pgpools.0.pcp.password: give LIFEGUARD_ORDERS_PGPOOL_1_PCP_PASSWORD" in missing
    assert outcome(admin, text, secrets=secrets, dry_run=True)[0] == "created"
    assert Cluster.objects.count() == 0
    assert outcome(admin, text, secrets=secrets) == ("created", "registered, with 1 pgpool")
    assert exported(admin) == text
    assert list(Cluster.objects.values("slug", "username", "sslmode")) == before


def test_changes_are_made_whole_or_not_at_all(acme: Scene, admin: APIClient) -> None:
    text, second = exported(admin), acme.pgpools[1]
    further = f"  - {{name: pgpool-2, host: {second.host}, port: {second.port}}}\n  backends:"
    changed = text.replace("name: Orders", "name: Orders EU").replace("az: us-east-1a", "az: eu-1a")

    assert outcome(admin, changed, dry_run=True) == ("changed", "would change: name, pgpools")
    assert exported(admin) == text
    kind, said = outcome(admin, changed.replace("  backends:", further))
    assert (kind, exported(admin) == text) == ("refused", True)  # the password was not given for a new address
    broken = further.replace(str(second.port), "1")
    kind, said = outcome(admin, changed.replace("  backends:", broken), secrets={"LIFEGUARD_ORDERS_PASSWORD": SECRET})
    assert (kind, exported(admin) == text) == ("refused", True), said
    whole = changed.replace("  backends:", further)
    kind, said = outcome(admin, whole, secrets={"LIFEGUARD_ORDERS_PASSWORD": SECRET})
    assert (kind, said) == ("changed", "changed: name, pgpools, new pgpool pgpool-2")
    assert outcome(admin, whole)[0] == "unchanged"
    assert outcome(admin, changed) == ("unchanged", "is so already; pgpool-2 stands in no file and stays")


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("sslmode: prefer", "sslmode: always", "sslmode"),
        ("has_synthetic_azs: false", "has_synthetic_azs: true", "has_synthetic_azs"),
        ("az: us-east-1a", "zone: us-east-1a", "pgpools.0.zone"),
        ("username: lifeguard", "username: [a]", "username"),
        ("env: LIFEGUARD_ORDERS_PASSWORD", "vault: x", "password"),
        ("env: LIFEGUARD_ORDERS_PASSWORD", "env: {a: b}", "password"),
        ("host: 127.0.0.1\n    port", "host: 127.0.0.9\n    port", "password"),
        ("host: 127.0.0.1\n    port", "host: [1]\n    port", "password"),
        ("node_id: 1", "node_id: {}", "password"),
        ("pgpools:", "pgpools: 5\n  other:", "other"),
    ],
)
def test_what_is_off_is_refused_with_its_field(acme: Scene, admin: APIClient, old: str, new: str, field: str) -> None:
    text = exported(admin)
    assert old in text

    answer = admin.post(REST, {"yaml": text.replace(old, new, 1)}).json()["results"][0]

    assert (answer["outcome"], field in answer["errors"]) == ("refused", True), answer
    assert exported(admin) == text


def test_each_cluster_of_a_file_has_an_outcome_of_its_own(acme: Scene, admin: APIClient) -> None:
    text = exported(admin)
    entry = text.partition("clusters:\n")[2]
    none = "- {name: Billing, username: u, password: p, pgpools: [{host: 127.0.0.1, port: 1}]}\n"

    results = admin.post(REST, {"yaml": f"{text}{none}{entry}- {{}}\n"}).json()["results"]
    assert [(each["slug"], each["outcome"]) for each in results] == [
        ("orders", "unchanged"), ("billing", "refused"), ("orders", "refused"), ("", "refused"),
    ]  # fmt: skip


def test_a_file_that_is_no_registry_and_who_may_not_import_are_refused(
    acme: Scene, api_client: Callable[..., APIClient]
) -> None:
    refused = api_client("admin").post(REST, {"yaml": "clusters: ["})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "yaml")
    for body in (
        {},
        {"yaml": 5},
        {"yaml": "x", "secrets": ["a"]},
        {"yaml": "x", "secrets": {"A": {}}},
        {"yaml": ["x"]},
    ):
        assert api_client("admin").post(REST, body).status_code == 400
    assert api_client("operator").post(REST, {"yaml": "x"}).status_code == 403
    assert api_client("viewer").get(REST).status_code == 200


def test_the_page_previews_imports_and_downloads(acme: Scene, client_for: Callable[..., Client]) -> None:
    admin = client_for("admin")
    download = admin.get("/o/acme/registry/export/")
    assert download["Content-Disposition"] == 'attachment; filename="acme-registry.yaml"'

    def upload(text: str, **more: str) -> tuple[int, str]:
        file = SimpleUploadedFile("registry.yaml", text.encode())
        answer = admin.post("/o/acme/registry/import/", {"file": file, **more})
        return answer.status_code, answer.content.decode()

    text = download.content.decode().replace("name: Orders", "name: Orders EU")
    status, page = upload(text, do="preview", secrets=f"LIFEGUARD_ORDERS_PASSWORD={SECRET}\n")
    assert (status, "would change: name" in page, f"={SECRET}" in page) == (200, True, False)
    assert Cluster.objects.get().name == "Orders"
    status, page = upload(text, do="import")
    assert (status, Cluster.objects.get().name) == (200, "Orders EU")
    for wrong, said in (("clusters: [", "Line 1, column"), ("#" * 1_100_000, "larger than 1 MiB")):
        status, page = upload(wrong)
        assert (status, said in page) == (422, True)
    status, page = upload(text, secrets="hunter2")
    assert (status, "Line 1 must be NAME=secret." in page, "hunter2" in page) == (422, True, False)
    assert client_for("operator").post("/o/acme/registry/import/").status_code == 403


def test_the_commands_do_the_same(acme: Scene, admin: APIClient, tmp_path: Path) -> None:
    said, file = StringIO(), tmp_path / "registry.yaml"
    call_command("export_registry", "acme", stdout=said)
    file.write_text(said.getvalue())
    assert said.getvalue() == export_yaml(Cluster.objects.get().organisation)

    call_command("import_registry", "acme", str(file), by="admin@acme.example", stdout=said)
    assert "orders: unchanged: is so already" in said.getvalue()
    file.write_text(file.read_text().replace("sslmode: prefer", "sslmode: no"))
    with pytest.raises(CommandError, match="1 of 1 clusters were refused"):
        call_command("import_registry", "acme", str(file), by="admin@acme.example", dry_run=True, stdout=said)
    for wrong in (["nowhere", str(file)], ["acme", "/nowhere.yaml"]):
        with pytest.raises(CommandError):
            call_command("import_registry", *wrong, by="admin@acme.example", stdout=said)
