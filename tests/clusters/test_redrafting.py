"""What a rollout wanted that was taken back can be put into the draft again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import draft_rows, parameter_change, redrafting, rollout_actions, rollouts
from apps.clusters.control.drafts import DraftChange, change
from apps.clusters.control.parameter_change import Wish
from apps.clusters.models import Backend, PgpoolInstance, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.rollout_scene import NEW_WEIGHTS, NOW, Scene, scene

pytestmark = pytest.mark.django_db

DRAFT = "/api/v1/clusters/orders/draft/"
WISH = Wish(
    parameters={"client_idle_limit": "60", "delay_threshold": "5000"},
    per_instance={"pgpool-2": {"log_connections": "on"}},
    weights=NEW_WEIGHTS,
)
WANTED = {
    ("", "client_idle_limit"): "60",
    ("", "delay_threshold"): "5000",
    ("pgpool-2", "log_connections"): "on",
    ("", "weights"): {"0": 0, "1": 1, "2": 3},
}


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setattr(rollout_actions, "READ_BACK_PATIENCE_S", 0.05)
    with scene(tmp_path, settings, pgpools=2) as found:
        found.cluster.instances.update(version="4.3.5")
        yield found


def requested(acme: Scene, wish: Wish = WISH) -> Rollout:
    return parameter_change.request_change(caller=acme.caller, cluster=acme.cluster, wish=wish, now=NOW)


def cancelled(acme: Scene, wish: Wish = WISH) -> Rollout:
    rollout = rollouts.cancel(caller=acme.caller, rollout=requested(acme, wish), now=NOW)
    return acme.advance(rollout)


def halted(acme: Scene) -> Rollout:
    acme.pgpools[1].mode = "forget"
    return acme.advance(requested(acme))


def rolled_back(acme: Scene) -> Rollout:
    rollout = acme.advance(requested(acme))
    assert rollout.state == "verified"
    acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=NOW))
    return rollout


def redrafted(acme: Scene, rollout: Rollout) -> dict[tuple[str, str], Any]:
    return redrafting.redraft(caller=acme.caller, rollout=rollout, now=NOW).values


@pytest.mark.parametrize("taken_back", [cancelled, halted, rolled_back])
def test_all_that_it_changed_is_drafted_again(acme: Scene, taken_back: Any) -> None:
    rollout = taken_back(acme)

    assert redrafted(acme, rollout) == WANTED
    assert draft_rows.find(acme.caller, acme.cluster).values == WANTED


def test_weights_of_single_pgpools_are_drafted_for_those(acme: Scene) -> None:
    rollout = cancelled(acme, Wish(weights_per_instance={"pgpool-2": NEW_WEIGHTS}))

    assert redrafted(acme, rollout) == {("pgpool-2", "weights"): {"0": 0, "1": 1, "2": 3}}


def test_what_the_draft_says_already_stays(acme: Scene) -> None:
    rollout = cancelled(acme)
    newer = DraftChange(
        parameters={"delay_threshold": "7", "max_pool": "2"},
        weights_per_instance={"pgpool-1": {"0": 1, "1": 0, "2": 0}},
    )
    change(caller=acme.caller, cluster=acme.cluster, wanted=newer, now=NOW)

    assert redrafted(acme, rollout) == {
        **WANTED,
        ("", "delay_threshold"): "7",
        ("", "max_pool"): "2",
        ("pgpool-1", "weights"): {"0": 1, "1": 0, "2": 0},
    }


def test_a_draft_that_says_something_of_all_of_it_stays_as_it_is(acme: Scene) -> None:
    rollout = cancelled(acme, Wish(parameters={"delay_threshold": "9"}))
    newer = DraftChange(parameters={"delay_threshold": "7"})
    before = change(caller=acme.caller, cluster=acme.cluster, wanted=newer, now=NOW)

    with pytest.raises(redrafting.NotRedrafted, match="Your draft says something else already"):
        redrafted(acme, rollout)

    assert draft_rows.find(acme.caller, acme.cluster) == before


def test_a_draft_that_says_the_same_already_is_the_answer(acme: Scene) -> None:
    rollout = cancelled(acme)
    address, client = f"/api/v1/rollouts/{rollout.pk}/draft/", script("operator")
    first = client.post(address)

    again = client.post(address)

    assert (again.status_code, again.json(), again["ETag"]) == (200, first.json(), first["ETag"])
    assert client.post(address, headers={"If-Match": '"0"'}).status_code == 412


def test_what_is_drafted_for_all_counts_for_each(acme: Scene) -> None:
    rollout = cancelled(acme, Wish(per_instance={"pgpool-2": {"delay_threshold": "9"}}))
    for_all = DraftChange(parameters={"delay_threshold": "9"})
    before = change(caller=acme.caller, cluster=acme.cluster, wanted=for_all, now=NOW)

    assert redrafting.redraft(caller=acme.caller, rollout=rollout, now=NOW) == before


def test_a_rollback_that_was_rolled_back_takes_nothing_back(acme: Scene) -> None:
    rollout = latest = acme.advance(requested(acme))
    offered, client = [], script("operator")
    for _ in range(3):  # each takes back the one before
        latest = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=latest, now=NOW))
        assert latest.state == "verified"
        offered.append(client.get(f"/api/v1/rollouts/{rollout.pk}/").json()["can_redraft"])
        if not offered[-1]:
            with pytest.raises(redrafting.NotRedrafted, match="stands on the pgpools"):
                redrafted(acme, rollout)

    assert offered == [True, False, True]
    assert redrafted(acme, rollout) == WANTED


def test_what_stands_is_not_offered(acme: Scene) -> None:
    rollout = requested(acme)
    with pytest.raises(redrafting.NotRedrafted, match="has not ended yet"):
        redrafted(acme, rollout)
    acme.advance(rollout)
    with pytest.raises(redrafting.NotRedrafted, match="stands on the pgpools"):
        redrafted(acme, rollout)
    back = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=NOW))
    with pytest.raises(redrafting.NotRedrafted, match="carried files that stood somewhere before"):
        redrafted(acme, back)


def test_what_does_not_apply_any_more_is_refused_in_a_sentence(acme: Scene) -> None:
    rollout = cancelled(acme)
    Backend.objects.create(cluster=acme.cluster, node_id=3, hostname="db3.example", port=5432)
    address = f"/o/acme/rollouts/{rollout.pk}/"
    operator = browser("operator")

    answer = operator.post(f"{address}redraft/", follow=True)

    assert answer.redirect_chain[-1][0] == address
    assert "weights" in answer.content.decode()
    assert not draft_rows.find(acme.caller, acme.cluster).count
    PgpoolInstance.objects.filter(cluster=acme.cluster).delete()
    assert script("admin").post(f"/api/v1/rollouts/{rollout.pk}/draft/").json()["type"].endswith("nothing-to-draft")


def test_the_page_offers_it_to_whoever_may_and_leads_to_the_draft(acme: Scene) -> None:
    rollout = cancelled(acme)
    address, offer = f"/o/acme/rollouts/{rollout.pk}/", "Put these changes into the draft again"
    operator, viewer = browser("operator"), browser("viewer")

    assert offer in operator.get(address).content.decode()
    assert offer not in viewer.get(address).content.decode()
    answer = operator.post(f"{address}redraft/", follow=True)

    assert answer.redirect_chain[-1][0] == "/o/acme/clusters/orders/draft/"
    assert "Your draft: 4 changes, not rolled out" in answer.content.decode()
    assert viewer.post(f"{address}redraft/").status_code == 403


def test_it_is_not_offered_while_the_change_stands(acme: Scene) -> None:
    rollout = acme.advance(requested(acme))

    assert "into the draft again" not in browser("operator").get(f"/o/acme/rollouts/{rollout.pk}/").content.decode()


def test_by_rest_it_is_told_and_done(acme: Scene) -> None:
    rollout = rolled_back(acme)
    client = script("operator")
    assert client.get(f"/api/v1/rollouts/{rollout.pk}/").json()["can_redraft"] is True

    answer = client.post(f"/api/v1/rollouts/{rollout.pk}/draft/")

    assert (answer.status_code, answer.json()["count"]) == (200, 4)
    assert client.get(DRAFT).json()["weights"] == {"0": 0, "1": 1, "2": 3}
