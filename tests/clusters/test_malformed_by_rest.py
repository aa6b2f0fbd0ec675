"""None of the malformed configurations reaches a node: refused by every road, before anything is touched."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.models import BackendLatest, ConfigRevision, Rollout
from tests.clusters.callers_at_doors import script
from tests.clusters.domain.malformed import BREAKS
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.malformed_by_rest import said_of_the_edit, said_of_the_wish
from tests.clusters.rollout_scene import NOW

pytestmark = pytest.mark.django_db

MORE = "backend_flag0 = 'ALLOW_TO_FAILOVER'\nnum_init_children = 32\n"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    """Two pgpools of 4.3.5, looked at; backends that let others open 97 sessions."""
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        cluster = found.scene.cluster
        cluster.instances.update(version="4.3.5")
        BackendLatest.objects.bulk_create(
            BackendLatest(backend=backend, polled_at=NOW, connection_limit=97) for backend in cluster.backends.all()
        )
        for conf, pgpool in zip(found.scene.confs, found.scene.pgpools, strict=True):
            conf.write_text(conf.read_text() + MORE)
            pgpool.reload()
        found.look()
        yield found


def test_no_malformed_configuration_is_taken_by_any_road(pair: Drifting) -> None:
    admin = script("admin")
    conf = pair.scene.confs[1]
    sound, reloads = pair.scene.texts(), [pgpool.reload_count for pgpool in pair.scene.pgpools]
    revisions = ConfigRevision.objects.count()
    wrong = []

    for case in (broken(sound[1]) for broken in BREAKS):
        wrong += [f"{case.text[-60:]!r}: {one}" for one in said_of_the_wish(admin, case)]
        conf.write_bytes(case.text.encode())
        wrong += [f"{case.text[-60:]!r}: {one}" for one in said_of_the_edit(admin, case, name="pgpool-2")]
        wrong += [] if conf.read_bytes() == case.text.encode() else [f"{case.text[-60:]!r}: the edit was touched"]
        conf.write_text(sound[1])

    assert not wrong, "\n".join(wrong)
    assert pair.scene.texts() == sound
    assert not Rollout.objects.exists()
    assert ConfigRevision.objects.count() == revisions
    assert [pgpool.reload_count for pgpool in pair.scene.pgpools] == reloads
