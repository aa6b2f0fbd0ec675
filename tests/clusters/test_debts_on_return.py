"""What becomes of a debt when its pgpool returns: as somebody said it, also once a newer one stands in its place."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import debt_settlement, parameter_change, rollouts
from apps.clusters.models import RevisionDebt, Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.owing import ASK, LATER, OWE, away, back, owed, owing, settled
from tests.clusters.rollout_scene import Clock, Scene, conf_text
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/weights/"
PAGE = "/o/acme/clusters/orders/weights/"
NEWER = {"0": 1, "1": 1, "2": 1}


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with owing(tmp_path, settings, monkeypatch) as found:
        yield found


def debt(pair: Scene, plan: object = OWE) -> RevisionDebt:
    """What pgpool-2 owes since this request."""
    owed(pair, plan=plan)
    return open_debt()


def open_debt() -> RevisionDebt:
    return RevisionDebt.objects.get(state="open")


def carried_out(pair: Scene, rollout: Rollout) -> Rollout:
    return pair.advance(rollout, clock=Clock(now=LATER))


def rolled_back(pair: Scene, rollout: Rollout) -> Rollout:
    return carried_out(pair, rollouts.request_rollback(caller=pair.caller, rollout=rollout, now=LATER))


@pytest.mark.parametrize(
    ("said", "expected"),
    [({}, "ask"), ({"on_return": None}, "ask"), ({"on_return": "give"}, "give"), ({"on_return": "ask"}, "ask")],
)
def test_by_rest_a_newer_debt_asks_as_the_older_one_unless_it_is_said(
    pair: Scene, said: dict[str, str | None], expected: str
) -> None:
    older = debt(pair, ASK)

    answer = script("operator").put(REST, {"weights": NEWER, "plan": {**OWE, **said}}, format="json")
    assert answer.status_code == 202, answer.content
    pair.advance(Rollout.objects.latest("pk"))

    newer = open_debt()
    assert (newer.earlier.get(), newer.on_return) == (older, expected)
    assert answer.json()["plan"]["on_return"] == said.get("on_return")


@pytest.mark.parametrize(("chosen", "expected"), [("owe", "ask"), ("give", "give"), ("ask", "ask")])
def test_by_the_form_a_newer_debt_asks_as_the_older_one_unless_it_is_said(
    pair: Scene, chosen: str, expected: str
) -> None:
    debt(pair, ASK)
    given = {f"weight_{node}": "1" for node in range(3)} | {"plan_strategy": "all_at_once", "plan_absent": chosen}

    answer = browser("operator").post(PAGE, given)
    assert answer.status_code == 303
    pair.advance(Rollout.objects.latest("pk"))

    assert open_debt().on_return == expected
    back(pair)
    debt_settlement.settle_returned(now=LATER)
    assert pair.cluster.rollouts.filter(settles__isnull=False).count() == (expected == "give")


def test_without_an_older_debt_it_is_given(pair: Scene) -> None:
    assert debt(pair).on_return == "give"


def test_the_page_of_the_rollout_shows_what_is_owed_apart_from_what_it_wrote(pair: Scene) -> None:
    number = debt(pair).step.rollout_id
    reader = browser("viewer")
    page = f"/o/acme/rollouts/{number}/"

    wrote, _, apart = text_of(reader.get(page)).partition("What is owed")
    _, _, wrote = wrote.partition("What it wrote to pgpool.conf")
    assert ("pgpool-1" in wrote, "pgpool-2" in wrote) == (True, False)
    assert "pgpool-1" not in apart
    assert "Not written yet: nobody could reach this pgpool." in apart
    assert "pgpool-2 cannot be reached and owes revision 2; it is given it when it returns." in apart
    assert "+ backend_weight2 = 3 # of node 2" in " ".join(apart.split())

    back(pair)
    assert settled(pair).state == "verified"
    later = text_of(reader.get(page))
    assert "What is owed" not in later
    assert "pgpool-2 returned and was given revision 2." in later.partition("What it did not write")[2]


def test_the_page_that_rolls_back_leaves_out_who_has_nothing_of_it(pair: Scene) -> None:
    number = debt(pair).step.rollout_id

    page = text_of(browser("operator").get(f"/o/acme/rollouts/{number}/rollback/"))

    shown = page.partition("What it writes to pgpool.conf")[2].partition("How to roll out")[0]
    assert ("pgpool-1" in shown, "pgpool-2" in shown) == (True, False)


def test_what_a_rollback_owes_again_is_given_although_it_wrote_a_default_out(pair: Scene) -> None:
    debt(pair)
    back(pair)
    wish = parameter_change.Wish(parameters={"log_connections": "on"})
    newer = parameter_change.request_change(caller=pair.caller, cluster=pair.cluster, wish=wish, now=LATER)
    assert carried_out(pair, newer).state == "verified"

    assert rolled_back(pair, newer).state == "verified"
    written_out = "log_connections = off"
    assert written_out in pair.texts()[1]
    assert not open_debt().needs_person

    assert settled(pair).state == "verified"
    assert not RevisionDebt.objects.filter(state="open").exists()
    assert [written_out in text for text in pair.texts()] == [True, True]
    assert pair.weights() == [{0: 0.0, 1: 1.0, 2: 3.0}] * 2


def test_so_it_is_where_the_rollback_itself_was_owed(pair: Scene) -> None:
    debt(pair)
    back(pair)
    wish = parameter_change.Wish(parameters={"log_connections": "on"})
    newer = parameter_change.request_change(caller=pair.caller, cluster=pair.cluster, wish=wish, plan=OWE, now=LATER)
    assert carried_out(pair, newer).state == "verified"
    away(pair)
    earlier = LATER - timedelta(minutes=1)  # before it is seen again
    rollback = rollouts.request_rollback(caller=pair.caller, rollout=newer, now=earlier)
    assert pair.states(pair.advance(rollback, clock=Clock(now=earlier))) == ["verified", "owed"]
    back(pair)
    assert settled(pair).state == "verified"
    written_out = "log_connections = off"
    assert written_out in pair.texts()[1]

    assert settled(pair).state == "verified"
    assert not RevisionDebt.objects.filter(state="open").exists()
    assert pair.weights() == [{0: 0.0, 1: 1.0, 2: 3.0}] * 2


def test_what_was_edited_after_a_rollback_is_asked_about(pair: Scene) -> None:
    debt(pair)
    back(pair)
    newer = carried_out(pair, pair.request(NEWER))
    rolled_back(pair, newer)
    by_hand = conf_text().replace("delay_threshold = 1000", "delay_threshold = 5")
    pair.confs[1].write_text(by_hand)

    debt_settlement.settle_returned(now=LATER)

    assert (open_debt().needs_person, pair.texts()[1]) == (True, by_hand)
