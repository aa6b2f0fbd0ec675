"""What is known of every pgpool.conf, and how weights are read from one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import revisions
from apps.clusters.domain import pgpool_conf
from tests.clusters.rollout_scene import Scene, conf_text, scene


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with scene(tmp_path, settings, pgpools=1) as found:
        yield found


@pytest.mark.parametrize(
    ("weights", "read"),
    [
        (("0", "1", "2"), {0: 0, 1: 1, 2: 2}),
        (("0", "0.25", "'2'"), {0: 0, 1: 0.25, 2: 2}),
        (("abc", "1", ""), {0: 0, 1: 1, 2: 0}),  # pgpool takes a text and an empty value for 0
    ],
)
def test_weights_are_read_as_pgpool_reads_them(weights: tuple[str, str, str], read: dict[int, float]) -> None:
    conf = pgpool_conf.parse(conf_text(weights=weights))

    assert revisions.weights_of(conf) == read


def test_a_backend_without_a_weight_line_has_pgpools_default() -> None:
    text = "\n".join(line for line in conf_text().split("\n") if "backend_weight1" not in line)

    assert revisions.weights_of(pgpool_conf.parse(text)) == {0: 0, 1: 1, 2: 1}


@pytest.mark.parametrize(
    ("state", "is_touched", "known"),
    [
        ("pending", False, "old"),
        ("skipped", False, "old"),
        ("restored", True, "old"),
        ("verified", True, "new"),
        ("failed", True, "either"),
        ("restore_pending", True, "either"),
        ("failed", False, "old"),
    ],
)
@pytest.mark.django_db
def test_what_is_known_of_a_file_depends_on_how_its_rollout_ended(
    acme: Scene, state: str, is_touched: bool, known: str
) -> None:
    rollout = acme.request()
    rollout.steps.update(state=state, is_touched=is_touched)
    file = rollout.revision.files.get()

    found = revisions.known_files(acme.cluster)[acme.instances[0].pk]

    expected = {"old": {file.base_sha256}, "new": {file.sha256}, "either": {file.base_sha256, file.sha256}}
    assert set(found.sha256s) == expected[known]


@pytest.mark.django_db
def test_a_file_that_no_revision_has_seen_differs_from_nothing(acme: Scene) -> None:
    live = revisions.read_live(acme.cluster, revisions.writable_instances(acme.cluster))

    assert revisions.known_files(acme.cluster) == {}
    assert revisions.differences(live, {}) == []
