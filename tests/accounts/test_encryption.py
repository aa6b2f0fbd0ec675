"""Secrets at rest: ciphertext in the table, text in Python, and keys that rotate."""

import json
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection

from apps.accounts import encryption
from apps.accounts.encryption import SecretUnreadable
from apps.accounts.key_rotation import BATCH, rotate_everything
from apps.clusters.models import Cluster

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def make_cluster(organisation, slug: str = "orders", password: str = "s3cret") -> Cluster:
    return Cluster.objects.create(
        organisation=organisation, slug=slug, name=slug, username="lifeguard", password=password
    )


def stored() -> list[str]:
    """What stands in the table, past Django's field."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT password FROM clusters_cluster ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def rotated() -> dict[str, tuple[int, int]]:
    return {f"{each.table}.{each.column}": (each.secrets, each.rotated) for each in rotate_everything()}


def test_the_table_holds_ciphertext_and_python_sees_the_text(organisation):
    make_cluster(organisation)

    assert "s3cret" not in stored()[0]
    assert Cluster.objects.get().password == "s3cret"


def test_the_same_secret_is_never_the_same_ciphertext():
    assert encryption.encrypt("s3cret") != encryption.encrypt("s3cret")


def test_a_secret_cannot_be_searched_for(organisation):
    make_cluster(organisation)

    with pytest.raises(TypeError, match="cannot be looked up"):
        Cluster.objects.filter(password="s3cret").exists()


def test_an_older_key_still_decrypts(settings):
    settings.ENCRYPTION_KEYS = [OLD]
    ciphertext = encryption.encrypt("s3cret")
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    assert encryption.decrypt(ciphertext) == "s3cret"
    assert not encryption.is_newest(ciphertext)
    assert encryption.is_newest(encryption.encrypt("s3cret"))


def test_a_lost_key_is_said_and_the_ciphertext_is_not(settings):
    settings.ENCRYPTION_KEYS = [OLD]
    ciphertext = encryption.encrypt("s3cret")
    settings.ENCRYPTION_KEYS = [NEW]

    with pytest.raises(SecretUnreadable, match="LIFEGUARD_ENCRYPTION_KEYS") as refused:
        encryption.decrypt(ciphertext)

    assert ciphertext not in str(refused.value)


def test_rotation_brings_every_secret_under_the_newest_key(organisation, settings):
    settings.ENCRYPTION_KEYS = [OLD]
    for number in range(3):
        make_cluster(organisation, f"old-{number}", f"s3cret-{number}")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    make_cluster(organisation, "new", "s3cret-3")

    counts = rotated()

    assert counts["clusters_cluster.password"] == (4, 3)
    settings.ENCRYPTION_KEYS = [NEW]
    assert [each.password for each in Cluster.objects.order_by("pk")] == [f"s3cret-{number}" for number in range(4)]


def test_rotation_again_changes_nothing(organisation):
    make_cluster(organisation)
    before = stored()

    assert rotated()["clusters_cluster.password"] == (1, 0)
    assert stored() == before


def test_rotation_reaches_past_one_batch(organisation, settings):
    settings.ENCRYPTION_KEYS = [OLD]
    cluster = make_cluster(organisation, "old-0")
    Cluster.objects.bulk_create(
        Cluster(organisation=organisation, slug=f"old-{number}", name="x", username="x", password=cluster.password)
        for number in range(1, BATCH + 2)
    )
    settings.ENCRYPTION_KEYS = [NEW, OLD]

    assert rotated()["clusters_cluster.password"] == (BATCH + 2, BATCH + 2)


def test_every_encrypted_column_is_rotated(db):
    assert {"clusters_cluster.password", "clusters_pgpoolinstance.pcp_password"} <= set(rotated())


def test_the_command_stops_at_a_secret_that_no_key_opens(organisation, settings):
    settings.ENCRYPTION_KEYS = [OLD]
    cluster = make_cluster(organisation)
    settings.ENCRYPTION_KEYS = [NEW]

    with pytest.raises(CommandError, match=f"clusters_cluster {cluster.pk}, password: .*LIFEGUARD_ENCRYPTION_KEYS"):
        call_command("rotate_encryption")


def test_the_command_tells_what_it_did(organisation):
    make_cluster(organisation)
    printed = StringIO()

    call_command("rotate_encryption", "--json", stdout=printed)

    lines = [json.loads(line) for line in printed.getvalue().splitlines()]
    assert {"table": "clusters_cluster", "column": "password", "secrets": 1, "rotated": 0} in lines
