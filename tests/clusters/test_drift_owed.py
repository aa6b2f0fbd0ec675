"""Adopting and reverting where a pgpool is away: what it owes, and what it is given when it returns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import debt_settlement
from apps.clusters.control.drift_changes import DriftRefused
from apps.clusters.control.live_configs import NobodyReached
from apps.clusters.models import InstanceConfig, InstanceLatest, RevisionDebt, Rollout
from apps.clusters.queries.confirmed_weights import revision_in_force
from tests.clusters.drift_plan_scene import (
    ASK,
    OWE,
    WAS,
    adopted,
    away,
    back,
    both_edited,
    carried_out,
    edited,
    host_gone,
    reverted,
    settled,
)
from tests.clusters.drifting import Drifting
from tests.clusters.rollout_scene import conf_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    with both_edited(tmp_path, settings, monkeypatch) as found:
        yield found


def test_one_that_is_away_and_could_not_owe_it_is_in_the_way(pair: Drifting) -> None:
    host_gone(pair)
    silent = {"polled_at": pair.now, "state": "unreachable", "state_since": pair.now}
    InstanceLatest.objects.update_or_create(instance=pair.scene.instances[1], defaults=silent)
    pair.look()
    InstanceConfig.objects.filter(instance=pair.scene.instances[1]).update(fault="line 3: no such name")

    told = pair.answer()
    assert told["adopt_reason"] == "Not all at once: pgpool-2 cannot be. Take them one by one."
    assert told["can_revert"]
    InstanceConfig.objects.filter(instance=pair.scene.instances[0]).update(
        is_other_text=False, state="in_step", differences=[]
    )
    assert not pair.answer()["can_revert"]


def test_a_pgpool_that_is_away_owes_the_adoption_of_its_edit(pair: Drifting) -> None:
    host_gone(pair)

    rollout = adopted(pair, OWE)

    assert (rollout.state, pair.scene.states(rollout)) == ("verified", ["verified", "owed"])
    back(pair)
    settlement = settled(pair)
    assert (settlement.state, settlement.steps.get().instance_name) == ("verified", "pgpool-2")
    assert pair.scene.texts() == [edited(1), edited(2)]
    assert pair.scene.pgpools[1].values["delay_threshold"] == "2"
    assert pair.look()["state"] == "in_step"


def test_who_is_reverted_owes_the_adoption_of_that_edit_no_more(pair: Drifting) -> None:
    host_gone(pair)
    adopted(pair, OWE)
    back(pair)
    pair.look()

    assert reverted(pair, None, "pgpool-2").state == "verified"

    assert RevisionDebt.objects.get().state == "superseded"
    debt_settlement.settle_returned(now=pair.now)
    assert not Rollout.objects.filter(state="pending").exists()
    assert pair.scene.texts() == [edited(1), conf_text()]


def test_an_edit_that_no_pgpool_took_is_wanted_by_nobody(pair: Drifting) -> None:
    for pgpool in pair.scene.pgpools:
        pgpool.mode = "forget"

    rollout = adopted(pair)

    assert (rollout.state, pair.scene.states(rollout)) == ("failed", ["failed"] * 2)
    in_force = revision_in_force(cluster=pair.scene.cluster)
    assert in_force is not None
    assert (in_force.number, rollout.revision.number) == (1, 2)


def test_a_pgpool_that_is_away_owes_the_file_that_was_verified(pair: Drifting) -> None:
    host_gone(pair)

    rollout = reverted(pair, ASK)

    assert (rollout.state, pair.scene.states(rollout)) == ("verified", ["verified", "owed"])
    back(pair)
    debt_settlement.settle_returned(now=pair.now)
    assert pair.scene.texts() == [conf_text(), edited(2)]
    given = debt_settlement.give(caller=pair.scene.caller, debt=RevisionDebt.objects.get(), now=pair.now)
    assert carried_out(pair, given).state == "verified"
    assert pair.scene.texts() == [conf_text()] * 2
    assert pair.look()["state"] == "in_step"


def test_a_reversion_that_was_owed_leaves_open_what_was_owed_before(pair: Drifting) -> None:
    reverted(pair)
    away(pair)
    newer = carried_out(pair, pair.scene.request(plan={"strategy": "all_at_once", **OWE}))
    pair.edit(WAS, "delay_threshold = 7", number=1, reload=False)
    pair.edit(WAS, "delay_threshold = 7", number=2, reload=False)
    pair.look()

    assert reverted(pair, OWE).state == "verified"

    back(pair)
    assert settled(pair).state == "verified"
    assert RevisionDebt.objects.get(state="open").step.rollout == newer
    assert settled(pair).state == "verified"
    assert pair.scene.texts() == [conf_text(weights=("0", "1", "3"))] * 2


def test_one_that_owes_already_and_whose_file_cannot_be_read_waits_for_its_return(pair: Drifting) -> None:
    reverted(pair)
    away(pair)
    carried_out(pair, pair.scene.request(plan={"strategy": "all_at_once", **OWE}))
    for number in (1, 2):
        pair.edit(WAS, "delay_threshold = 7", number=number, reload=False)
    pair.look()
    host_gone(pair)

    with pytest.raises(DriftRefused, match="pgpool-2 cannot be reached and owes a revision already: adopt the others"):
        adopted(pair, OWE)

    assert adopted(pair, OWE, "pgpool-1").state == "verified"


def test_at_least_one_has_to_be_reached(pair: Drifting) -> None:
    host_gone(pair)

    with pytest.raises(NobodyReached):
        adopted(pair, OWE, "pgpool-2")
