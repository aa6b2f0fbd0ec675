"""A change that goes on from files that were edited by hand answers for the edit, by whatever road it is asked for."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.clusters.models import ConfigRevision, Rollout
from apps.clusters.queries.validation import validation_answer
from tests.clusters.callers_at_doors import script
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import Clock, Scene, conf_text

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/"
EVEN = {"0": 0, "1": 1, "2": 1}
Answer = Any
Road = Callable[[APIClient], Answer]


def by_weights(client: APIClient) -> Answer:
    return client.put(f"{REST}weights/", {"weights": EVEN, "base": "live"})


def by_nothing_else(client: APIClient) -> Answer:
    return client.put(f"{REST}weights/", {"base": "live"})


def by_parameters(client: APIClient) -> Answer:
    return client.put(f"{REST}parameters/", {"parameters": {"child_life_time": "90"}, "base": "live"})


def by_draft(client: APIClient) -> Answer:
    assert client.patch(f"{REST}draft/", {"parameters": {"child_life_time": "90"}}).status_code == 200
    return client.post(f"{REST}draft/rollout/", {"base": "live"})


ROADS = pytest.mark.parametrize("road", [by_weights, by_nothing_else, by_parameters, by_draft])


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    """Two pgpools of 4.3.5 whose files were looked at, and verified by a rollout."""
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        found.scene.cluster.instances.update(version="4.3.5")
        found.look()
        assert found.scene.advance(found.scene.request()).state == "verified"
        yield found


def append(pair: Drifting, lines: str) -> str:
    """To the file of pgpool-2, by hand. Returns what stands there then."""
    conf = pair.scene.confs[1]
    conf.write_text(conf.read_text() + lines)
    return conf.read_text()


def carried_out(scene: Scene, answer: Answer) -> Rollout:
    assert answer.status_code == 202, answer.content
    return scene.advance(Rollout.objects.get(pk=answer.json()["id"]), clock=Clock())


def read_back(rollout: Rollout, name: str) -> dict[str, str]:
    """Parameters that were read back of one pgpool, but weights -> how they stand."""
    receipt = rollout.steps.get(instance_name=name).receipt["read_back"]
    return {one["name"]: one["state"] for one in receipt["parameters"] if "backend_weight" not in one["name"]}


@ROADS
def test_an_edited_name_that_pgpool_passes_over_fails_the_rollout_and_stays_where_it_was(
    pair: Drifting, road: Road
) -> None:
    edited = append(pair, "client_idle_limit = 60\n")
    pair.scene.pgpools[1].unknown.add("client_idle_limit")

    rollout = carried_out(pair.scene, road(script("operator")))

    assert rollout.state == "rolled_back"
    assert "client_idle_limit is unknown to it" in rollout.halt_reason
    assert read_back(rollout, "pgpool-2")["client_idle_limit"] == "ignored"
    assert pair.scene.confs[1].read_text().startswith(edited)  # defaults of what was asked for beside stay


@ROADS
def test_an_edited_value_is_read_back_on_its_pgpool_alone(pair: Drifting, road: Road) -> None:
    pair.edit("delay_threshold = 1000", "delay_threshold = 5")

    rollout = carried_out(pair.scene, road(script("operator")))

    assert rollout.state == "verified"
    assert read_back(rollout, "pgpool-2")["delay_threshold"] == "live"
    assert "delay_threshold" not in read_back(rollout, "pgpool-1")


def test_what_failed_once_is_still_read_back_by_the_next_change(pair: Drifting) -> None:
    append(pair, "client_idle_limit = 60\n")
    pair.scene.pgpools[1].unknown.add("client_idle_limit")
    operator = script("operator")
    carried_out(pair.scene, by_weights(operator))

    again = carried_out(pair.scene, operator.put(f"{REST}weights/", {"weights": EVEN}))

    assert again.state == "rolled_back"
    assert read_back(again, "pgpool-2") == {"client_idle_limit": "ignored"}


def test_going_back_reads_what_was_edited_to_be_so_already(pair: Drifting) -> None:
    operator = script("operator")
    raised = operator.put(f"{REST}parameters/", {"parameters": {"delay_threshold": "5000"}})
    assert carried_out(pair.scene, raised).state == "verified"
    pair.scene.pgpools[1].kept_on_reload.add("delay_threshold")
    pair.edit("delay_threshold = 5000", "delay_threshold = 1000")

    back = carried_out(pair.scene, operator.post(f"{REST}revisions/1/rollout/", {"base": "live"}))

    assert back.state == "rolled_back"
    assert read_back(back, "pgpool-2") == {"delay_threshold": "rejected"}


@ROADS
def test_a_line_that_was_taken_out_is_written_with_its_default(pair: Drifting, road: Road) -> None:
    pair.edit("delay_threshold = 1000\n", "")

    rollout = carried_out(pair.scene, road(script("operator")))

    assert rollout.state == "verified"
    assert "delay_threshold = 0\n" in pair.scene.confs[1].read_text()
    assert read_back(rollout, "pgpool-2")["delay_threshold"] == "live"


def test_a_preview_shows_the_line_that_comes_back(pair: Drifting) -> None:
    pair.edit("delay_threshold = 1000\n", "")

    found = script("operator").post(f"{REST}weights/preview/", {"weights": EVEN, "base": "live"}).json()

    [_, second] = found["instances"]
    assert "delay_threshold = 0" in [line["text"] for line in second["lines"] if line["sign"] == "+"]


@ROADS
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("delay_treshold = 5\n", ["line 14: delay_treshold is no parameter", "delay_threshold"]),
        (
            "client_idle_limit = 60\nclient_idle_limit = 61\n",
            ["line 14: client_idle_limit stands on lines 14 and 15", "only '61'"],
        ),
        (
            "num_init_children = 32\nreserved_connections = 32\n",
            ["line 15: reserved_connections = 32 leaves no child", "less than 32"],
        ),
    ],
)
def test_what_came_wrong_with_an_edit_is_refused_before_anything_is_touched(
    pair: Drifting, road: Road, lines: str, words: list[str]
) -> None:
    edited = append(pair, lines)
    before = [pgpool.reload_count for pgpool in pair.scene.pgpools]
    revisions = ConfigRevision.objects.count()

    answer = road(script("operator"))

    assert answer.status_code in {400, 409}
    told = answer.json()
    assert f"pgpool-2: {words[0]}" in told["detail"]
    [wrong] = [one for one in told["findings"] if one["severity"] == "error"]
    assert (wrong["instance"], words[1] in wrong["suggestion"]) == ("pgpool-2", True)
    assert Rollout.objects.count() == 1
    assert ConfigRevision.objects.count() == revisions
    assert pair.scene.confs[1].read_text() == edited
    assert [pgpool.reload_count for pgpool in pair.scene.pgpools] == before


def test_a_line_added_at_the_end_leads_to_its_adoption(pair: Drifting) -> None:
    append(pair, "delay_threshold = 20\n")
    operator = script("operator")
    refused = by_weights(operator)
    assert refused.json()["detail"].endswith(
        "Correct the file, or revert it. Or adopt it on the page Drift, after which the line that pgpool uses is the "
        "verified one."
    )

    assert "or the edit adopted first, on the page Drift" in by_parameters(operator).json()["detail"]

    pair.look()
    assert pair.adopt().state == "verified"

    assert carried_out(pair.scene, operator.put(f"{REST}weights/", {"weights": EVEN})).state == "verified"
    wish = {"parameters": {"delay_threshold": "30"}}
    assert carried_out(pair.scene, operator.put(f"{REST}parameters/", wish)).state == "verified"
    assert pair.scene.pgpools[1].values["delay_threshold"] == "30"


def test_what_adoption_refuses_as_well_does_not_lead_there(pair: Drifting) -> None:
    append(pair, "delay_threshold = 20\ndelay_treshold = 5\n")
    operator = script("operator")

    assert by_weights(operator).json()["detail"].endswith("Correct the file, or revert it.")
    assert "page Drift" not in by_parameters(operator).json()["detail"]


def test_validation_says_so_before_anybody_asks_for_it(pair: Drifting) -> None:
    append(pair, "delay_treshold = 5\n")

    found = validation_answer(
        cluster=pair.scene.cluster, raw={"child_life_time": "90"}, may_run_programs=False, is_live=True
    )

    assert not found["ok"]
    errors = [one for one in found["findings"] if one["severity"] == "error"]
    assert [(one["parameter"], one["line"]) for one in errors] == [("delay_treshold", 14)]


def test_a_change_that_mends_the_edit_goes(pair: Drifting) -> None:
    append(pair, "reserved_connections = 32\n")
    for pgpool in pair.scene.pgpools:
        pgpool.values["reserved_connections"] = "0"  # only a restart brings another in
        pgpool.kept_on_reload.add("reserved_connections")

    wish = {"parameters": {"reserved_connections": "0"}, "base": "live"}

    assert carried_out(pair.scene, script("operator").put(f"{REST}parameters/", wish)).state == "verified"


def test_what_was_wrong_when_it_was_registered_is_nobodys_fault(
    db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        found.scene.cluster.instances.update(version="4.3.5")
        for conf, pgpool in zip(found.scene.confs, found.scene.pgpools, strict=True):
            conf.write_text(conf_text() + "frobnicate = 1\n")
            pgpool.unknown.add("frobnicate")
        found.look()
        found.edit("delay_threshold = 1000", "delay_threshold = 5")
        operator = script("operator")

        assert carried_out(found.scene, by_weights(operator)).state == "verified"
        assert carried_out(found.scene, by_parameters(operator)).state == "verified"
