"""None of the malformed configurations reaches a real pgpool: its file, its hash and what it uses stay as they were."""

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.clusters.models import BackendLatest, InstanceConfig, Rollout
from apps.clusters.polling import file_watch
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.clusters.domain.malformed import BREAKS
from tests.clusters.malformed_by_rest import said_of_the_edit, said_of_the_wish
from tests.clusters.polling_scene import wait_until
from tests.lab.registered import register_lab

pytestmark = [pytest.mark.lab, pytest.mark.django_db(transaction=True)]

RESERVED_FOR_SUPERUSERS = 3


def folders(lab: Lab) -> dict[str, str]:
    """Every pgpool.conf, and whatever stands beside one under a name that begins so, with its hash."""
    found = [path for pgpool in lab.plan.pgpools for path in Path(pgpool.conf).parent.glob("pgpool.conf*")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def values_in_use(lab: Lab) -> list[dict[str, str]]:
    """What a new session of each pgpool shows of every parameter."""
    found = []
    for pgpool in lab.plan.pgpools:
        with lab.pgpools.connect(pgpool) as connection:
            found.append({name: value for name, value, *_ in connection.execute("PGPOOL SHOW ALL")})
    return found


def test_no_malformed_configuration_reaches_a_real_pgpool(
    restored_lab: Lab, settings: Any, transactional_db: None
) -> None:
    lab = restored_lab
    cluster, _ = register_lab(lab, settings)
    cluster.instances.update(version=lab.binaries.pgpool_version_text)
    limit = lab.plan.max_connections - RESERVED_FOR_SUPERUSERS
    BackendLatest.objects.bulk_create(
        BackendLatest(backend=backend, polled_at=timezone.now(), connection_limit=limit)
        for backend in cluster.backends.all()
    )

    def is_looked_at() -> bool:
        file_watch.look(holder="test", clock=timezone.now)
        return InstanceConfig.objects.exclude(looked_at=None).count() == 3

    wait_until(is_looked_at, "every file was looked at")
    InstanceConfig.objects.update(looked_at=timezone.now() + timedelta(days=1))  # no look of its own meanwhile
    admin, conf = script("admin"), Path(lab.plan.pgpools[1].conf)
    sound, hashes, in_use = conf.read_bytes(), folders(lab), values_in_use(lab)
    is_later = lab.binaries.pgpool_version >= (4, 6)
    wrong = []

    for case in (broken(sound.decode()) for broken in BREAKS):
        if case.is_taken_later and is_later:
            continue
        wrong += [f"{case.text[-60:]!r}: {one}" for one in said_of_the_wish(admin, case)]
        wrong += [] if folders(lab) == hashes else [f"{case.text[-60:]!r}: a file was written"]
        edit = case.text.encode()
        conf.write_bytes(edit)  # as a person does; its pgpool is told nothing
        wrong += [f"{case.text[-60:]!r}: {one}" for one in said_of_the_edit(admin, case, name="pgpool-2")]
        edited = {**hashes, str(conf): hashlib.sha256(edit).hexdigest()}
        wrong += [] if folders(lab) == edited else [f"{case.text[-60:]!r}: the edited file was touched"]
        conf.write_bytes(sound)

    assert not wrong, "\n".join(wrong)
    assert folders(lab) == hashes
    assert values_in_use(lab) == in_use
    assert not Rollout.objects.exists()
