"""Adopting an edit that removed a line: its default is written out, and nothing else is written or put back."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import debt_settlement, drift_changes, presence, rollouts, weight_change
from apps.clusters.models import ClusterEvent, InstanceLatest, PgpoolInstance, Rollout
from apps.clusters.queries.rollouts import rollout_answer
from tests.clusters.callers_at_doors import browser
from tests.clusters.drifting import Drifting, drifting_pair
from tests.clusters.rollout_scene import Clock, conf_text
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

EDITED = conf_text().replace("delay_threshold = 1000", "log_connections = on")
WHOLE = f"{EDITED}delay_threshold = 0\n"


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drifting]:
    """The line delay_threshold was removed on pgpool-2, and another one added."""
    monkeypatch.setattr(presence, "DEADLINE_S", 1.0)
    with drifting_pair(tmp_path, settings, monkeypatch) as found:
        found.look()
        found.edit("delay_threshold = 1000", "log_connections = on", reload=False)
        found.look()
        yield found


def asked(pair: Drifting, **more: Any) -> dict[str, Any]:
    return {"caller": pair.scene.caller, "cluster": pair.scene.cluster, "now": pair.now, **more}


def carried_out(pair: Drifting, rollout: Rollout) -> Rollout:
    pair.now += timedelta(seconds=5)
    return pair.scene.advance(rollout, clock=Clock(now=pair.now))


def cancelled_when(pair: Drifting, rollout: Rollout, state: str) -> None:
    def cancel(look: int) -> None:
        if rollout.steps.filter(state=state).exists() and not Rollout.objects.get().is_cancel_requested:
            rollouts.cancel(caller=pair.scene.caller, rollout=rollout, now=pair.now)

    pair.scene.advance(rollout, clock=Clock(now=pair.now, when_looked=cancel))


def sentence(pair: Drifting, rollout: Rollout) -> str:
    return rollout_answer(rollout=rollout, caller=pair.scene.caller, now=pair.now)["sentence"]


def test_the_pages_say_and_show_what_is_written(pair: Drifting) -> None:
    page = text_of(browser("operator").get("/o/acme/clusters/orders/drift/adopt/"))
    assert "except that a line you removed is written out with its default" in page
    for line in ("- delay_threshold = 1000", "+ delay_threshold = 0", "+ log_connections = on"):
        assert line in page

    rollout = pair.adopt()

    assert (rollout.state, pair.scene.texts()[1]) == ("verified", WHOLE)
    page = text_of(browser("viewer").get(f"/o/acme/rollouts/{rollout.pk}/"))
    assert "Default written" in page
    assert "Left as found" not in page
    assert "A line that was removed is written out with its default." in page
    assert "- delay_threshold = 1000" in page


def test_where_it_is_not_adopted_the_edit_stays_with_the_default(pair: Drifting) -> None:
    pair.scene.pgpools[1].mode = "forget"

    rollout = pair.adopt()

    assert (rollout.state, pair.scene.texts()[1]) == ("failed", WHOLE)
    assert sentence(pair, rollout) == "Failed. Nothing was written but the defaults of removed lines."
    assert ClusterEvent.objects.filter(kind="rollout").latest("pk").title == (
        "revision 2 was not adopted on pgpool-2; what was edited there is left as it is; "
        "the defaults of removed lines were written out on pgpool-2"
    )
    with pytest.raises(weight_change.BaseChanged, match="pgpool-2"):
        pair.scene.request()
    pair.scene.pgpools[1].mode = "ok"
    assert pair.look()["state"] == "drifted"
    assert pair.adopt().state == "verified"
    assert pair.look()["state"] == "in_step"


def test_cancelling_puts_nothing_back(pair: Drifting) -> None:
    rollout = drift_changes.request_adoption(**asked(pair))

    cancelled_when(pair, rollout, "written")

    assert (rollout.state, pair.scene.states(rollout)) == ("cancelled", ["skipped"])
    assert pair.scene.texts()[1] == WHOLE
    assert sentence(pair, rollout) == "Cancelled. Nothing was written but the defaults of removed lines."


def test_what_was_verified_when_it_is_cancelled_is_adopted(pair: Drifting) -> None:
    pair.edit("delay_threshold = 1000\n", "", number=1, reload=False)
    pair.look()
    rollout = drift_changes.request_adoption(**asked(pair))

    cancelled_when(pair, rollout, "verified")

    assert (rollout.state, pair.scene.states(rollout)) == ("failed", ["verified", "skipped"])
    assert pair.scene.texts()[1] == EDITED
    assert [each["state"] for each in pair.look()["instances"]] == ["in_step", "drifted"]


def test_rolling_it_back_takes_the_whole_edit_back(pair: Drifting) -> None:
    rollout = pair.adopt()

    back = rollouts.request_rollback(caller=pair.scene.caller, rollout=rollout, now=pair.now)

    assert carried_out(pair, back).state == "verified"
    assert pair.scene.texts()[1] == f"{conf_text()}log_connections = off\n"
    assert pair.scene.pgpools[1].values["delay_threshold"] == "1000"
    assert pair.look()["state"] == "in_step"


def test_a_pgpool_that_is_away_owes_it(pair: Drifting) -> None:
    pair.edit("delay_threshold = 1000", "delay_threshold = 7", number=1, reload=False)
    pair.look()
    instance, pgpool = pair.scene.instances[1], pair.scene.pgpools[1]
    PgpoolInstance.objects.filter(pk=instance.pk).update(port=1, pcp_port=1)

    rollout = carried_out(pair, drift_changes.request_adoption(**asked(pair, plan={"absent": "owe"})))

    assert (rollout.state, pair.scene.states(rollout)) == ("verified", ["verified", "owed"])
    assert pair.scene.texts()[1] == EDITED
    PgpoolInstance.objects.filter(pk=instance.pk).update(port=pgpool.port, pcp_port=pgpool.pcp_port)
    pair.now += timedelta(minutes=1)
    seen = {"polled_at": pair.now, "answered_at": pair.now, "state": "answering", "state_since": pair.now}
    InstanceLatest.objects.update_or_create(instance=instance, defaults=seen)
    debt_settlement.settle_returned(now=pair.now)
    assert carried_out(pair, pair.scene.cluster.rollouts.latest("pk")).state == "verified"
    assert pair.scene.texts()[1] == WHOLE
    assert pair.look()["state"] == "in_step"
