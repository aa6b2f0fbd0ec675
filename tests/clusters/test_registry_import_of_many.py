"""Forty clusters in one file: those that hang are refused by name, and the others get in, whatever their order."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rest_framework.test import APIClient

from apps.clusters.models import Cluster, PgpoolInstance
from apps.clusters.registry import cluster_survey, connection_survey
from tests.clusters.registration_scene import SECRET, Scene, pgpools_running

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

REST = "/api/v1/clusters-registry/"
FORTY = 40
# First, since what was asked one after the other spent its time on these; and some between and behind the others.
HANGING = {*range(10), 21, 39}


@pytest.fixture
def forty(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    # What hangs does so to the end of each step, once; what answers on a busy machine has time enough.
    monkeypatch.setattr(connection_survey, "STEP_DEADLINE_S", 6.0)
    with pgpools_running(tmp_path, settings, count=FORTY) as scene:
        yield scene


@pytest.fixture
def seven(tmp_path: Path, settings: Any) -> Iterator[Scene]:
    with pgpools_running(tmp_path, settings, count=7) as scene:
        yield scene


def entry(scene: Scene, *numbers: int, name: str = "") -> dict[str, Any]:
    """A cluster of these pgpools, without PCP."""
    name = name or f"c{numbers[0]:02}"
    pgpools = [
        {
            "name": f"pgpool-{number}", "host": fake.host, "port": fake.port, "az": "",
            "delivery": {"kind": "local", "path": str(fake.conf)},
        }
        for number in numbers
        for fake in [scene.pgpools[number]]
    ]  # fmt: skip
    return {"name": name, "slug": name, "username": "lifeguard", "password": {"env": "P"}, "pgpools": pgpools}


def imported(client: APIClient, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = yaml.safe_dump({"lifeguard_registry": 1, "clusters": entries})
    answer = client.post(REST, {"yaml": text, "secrets": {"P": SECRET}}, format="json")
    assert answer.status_code == 200, answer.content
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def test_those_that_hang_are_refused_by_name_and_all_others_get_in(
    forty: Scene, api_client: Callable[..., APIClient]
) -> None:
    admin, entries = api_client("admin"), [entry(forty, number) for number in range(FORTY)]
    for number in HANGING:
        forty.pgpools[number].mode = "hang"

    first = imported(admin, entries)
    again = imported(admin, entries)

    good = {f"c{number:02}" for number in range(FORTY) if number not in HANGING}
    assert [each["slug"] for each in first] == [f"c{number:02}" for number in range(FORTY)]
    assert {each["slug"] for each in first if each["outcome"] == "created"} == good
    assert set(Cluster.objects.values_list("slug", flat=True)) == good
    for each in first:
        if each["slug"] not in good:
            assert f"pgpool-{int(each['slug'][1:])} " in each["errors"]["pgpools.0.host"]
            assert "did not answer within" in each["errors"]["pgpools.0.host"]
    assert {each["slug"]: each["outcome"] for each in again} == {
        each["slug"]: "unchanged" if each["slug"] in good else "refused" for each in first
    }

    for number in HANGING:
        forty.pgpools[number].mode = "ok"
    assert {each["outcome"] for each in imported(admin, entries)} == {"created", "unchanged"}
    assert Cluster.objects.count() == FORTY


def test_new_pgpools_of_several_clusters_get_in_beside_one_that_hangs(
    seven: Scene, api_client: Callable[..., APIClient]
) -> None:
    admin = api_client("admin")
    imported(admin, [entry(seven, number) for number in (0, 2, 4)])
    seven.pgpools[1].mode = "hang"
    renamed = entry(seven, 4) | {"name": "Renamed"}

    results = imported(admin, [entry(seven, 0, 1), entry(seven, 2, 3, 5), renamed, entry(seven, 6)])

    seven.pgpools[1].mode = "ok"
    assert [each["outcome"] for each in results] == ["refused", "changed", "changed", "created"], results
    assert results[1]["text"] == "changed: new pgpool pgpool-3, new pgpool pgpool-5"
    names = PgpoolInstance.objects.order_by("name").values_list("name", flat=True)
    assert list(names) == [f"pgpool-{number}" for number in (0, 2, 3, 4, 5, 6)]


def test_one_file_for_two_clusters_belongs_to_the_one_that_stands_first(
    seven: Scene, api_client: Callable[..., APIClient]
) -> None:
    shared = entry(seven, 1)
    shared["pgpools"][0]["delivery"]["path"] = str(seven.pgpools[0].conf)

    results = imported(api_client("admin"), [entry(seven, 0), shared])

    assert [each["outcome"] for each in results] == ["created", "refused"]
    assert "delivered to for another pgpool already" in results[1]["text"]


def test_no_more_pgpools_are_asked_at_once_than_a_registration_asks() -> None:
    """A cluster of more than that goes alone, and still goes."""
    room = cluster_survey._Room(3)
    order: list[str] = []
    with room.taken(2):
        order.append("two")
        with room.taken(1):
            order.append("one")
            assert room._left == 0
    with room.taken(100):
        order.append("hundred")
        assert room._left == 0

    assert (order, room._left) == (["two", "one", "hundred"], 3)
