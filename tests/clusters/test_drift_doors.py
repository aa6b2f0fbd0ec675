"""Drift at the doors: pages and REST show it, and start what is asked for."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import writes_switch
from apps.clusters.models import Rollout
from apps.clusters.queries.sight import sight_of
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        yield found


def test_pages_and_rest_show_it_and_start_what_is_asked_for(pair: Drifting) -> None:
    pair.look()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", reload=False)
    pair.look()
    base, reader, operator = "/o/acme/clusters/orders/", browser("viewer"), browser("operator")

    assert [reason for reason in (each.drift for each in sight_of(pair.scene.cluster).instances) if reason] == [
        "Edited by hand on pgpool-2: delay_threshold 1000 → 5"
    ]
    assert "See the drift" in reader.get(base).content.decode()
    page = reader.get(f"{base}drift/").content.decode()
    assert "Edited by hand on pgpool-2: delay_threshold 1000 → 5." in page
    assert "Adopt…" not in page
    assert reader.get(f"{base}drift/adopt/").status_code == 403
    answer = script("admin").get("/api/v1/clusters/orders/drift/").json()
    assert (answer["state"], answer["differences"][0]["file"], answer["can_adopt"]) == ("drifted", "5", True)

    asked = operator.get(f"{base}drift/revert/?instance=pgpool-2").content.decode()
    assert "Put the verified file back on pgpool-2?" in asked
    assert "+ delay_threshold = 1000" in " ".join(re.sub("<[^>]+>", " ", asked).split())
    started = operator.post(f"{base}drift/revert/", {"instance": "pgpool-2"})
    assert started["Location"] == f"/o/acme/rollouts/{Rollout.objects.get().pk}/"
    assert operator.post(f"{base}drift/adopt/")["Location"] == f"{base}drift/"


def ways(page: str) -> list[str]:
    """Where the overview offers to go about drift."""
    [line] = re.findall(r"<p[^>]* data-drift-ways>.*?</p>", page)
    return re.findall(r'href="(/[^"]+)"', line)


def test_the_overview_offers_both_ways_to_who_may_and_while_they_can_be(pair: Drifting) -> None:
    base, operator, viewer = "/o/acme/clusters/orders/", browser("operator"), browser("viewer")
    pair.look()
    assert "data-drift-ways" not in operator.get(base).content.decode()
    pair.edit("delay_threshold = 1000", "delay_threshold = 5", reload=False)
    pair.look()

    for address in (base, f"{base}now/"):
        assert ways(operator.get(address).content.decode()) == [
            f"{base}drift/adopt/", f"{base}drift/revert/", f"{base}drift/",
        ]  # fmt: skip
        assert ways(viewer.get(address).content.decode()) == [f"{base}drift/"]
    writes_switch.stop_by_command(organisation=pair.scene.cluster.organisation, reason="", now=NOW)
    assert ways(operator.get(base).content.decode()) == [f"{base}drift/"]
    writes_switch.allow_by_command(organisation=pair.scene.cluster.organisation, reason="", now=NOW)

    adopt, _, _ = ways(operator.get(base).content.decode())
    assert 'type="submit"' in operator.get(adopt).content.decode()
    assert operator.post(adopt)["Location"] == f"/o/acme/rollouts/{Rollout.objects.get().pk}/"


def test_what_rest_cannot_do_it_says(pair: Drifting) -> None:
    pair.look()
    asker = script("operator")
    cases: list[tuple[Any, int, str]] = [
        ({}, 409, "drift-refused"),
        ({"instances": ["pgpool-1"]}, 409, "drift-refused"),
        ({"instances": ["nobody"]}, 400, "invalid"),
        ({"instances": "pgpool-1"}, 400, "invalid"),
        ({"instances": [{"a": [[]]}, None, 1e308]}, 400, "invalid"),
        ({"instances": ["\0"]}, 400, "invalid"),
        ({"note": "x" * 501}, 400, "invalid"),
        ({"pgpools": []}, 400, "invalid"),
        ([], 400, "invalid"),
    ]

    for body, status, kind in cases:
        answer = asker.post("/api/v1/clusters/orders/drift/adopt/", body)
        assert (answer.status_code, answer.json()["type"]) == (status, f"urn:lifeguard:{kind}"), answer.content
    assert not Rollout.objects.exists()
