"""What becomes of debts when rollouts are rolled back, and when changes are made while one is open."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import backend_operations, debt_settlement, rollouts, weight_change
from apps.clusters.models import Rollout
from apps.clusters.queries import debts as debt_queries
from tests.clusters.owing import LATER, NEW_TEXT, OLD_TEXT, OWE, away, back, debt_of, owed, owing, settled
from tests.clusters.rollout_scene import NOW, Clock, Scene, conf_text

pytestmark = pytest.mark.django_db

NEWER = {"0": 1, "1": 1, "2": 1}
NEWER_TEXT = conf_text(weights=("1", "1", "1"))


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with owing(tmp_path, settings, monkeypatch) as found:
        yield found


def rolled_back(acme: Scene, rollout: Rollout, *, now: datetime = LATER) -> Rollout:
    rollback = rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=now)
    return acme.advance(rollback, clock=Clock(now=now))


def test_a_rollback_that_puts_nothing_back_leaves_the_debt(acme: Scene) -> None:
    rollout = owed(acme)
    away(acme, 0)

    rollback = rolled_back(acme, rollout)

    assert rollback.state == "failed"
    assert acme.texts() == [NEW_TEXT, OLD_TEXT]
    assert debt_of(rollout).state == "open"
    for number in range(2):
        back(acme, number)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_what_the_newer_revision_brought_along_is_owed_again_without_it(acme: Scene) -> None:
    first = owed(acme)
    back(acme)
    newer = acme.advance(acme.request(NEWER))
    assert (acme.states(newer), debt_of(first).state) == (["verified"] * 2, "superseded")

    assert rolled_back(acme, newer).state == "verified"

    assert acme.texts() == [NEW_TEXT, OLD_TEXT]
    assert debt_of(first).state == "open"
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def given_the_newer_one(acme: Scene) -> tuple[Rollout, Rollout]:
    """pgpool-2 owed two revisions, was given both by the newer one, and is away again."""
    first, second = owed(acme), owed(acme, NEWER)
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEWER_TEXT] * 2
    away(acme)
    return first, second


def test_who_owes_a_rollback_owes_the_older_revision_after_it(acme: Scene) -> None:
    first, second = given_the_newer_one(acme)

    rollback = rolled_back(acme, second, now=NOW + timedelta(minutes=1))
    assert acme.states(rollback) == ["verified", "owed"]
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT, OLD_TEXT]

    assert (debt_of(rollback).state, debt_of(first).state) == ("settled", "open")
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_one_debt_gives_way_where_an_older_one_is_owed_again(acme: Scene) -> None:
    first, second = given_the_newer_one(acme)
    third = acme.advance(acme.request(NEWER, plan=OWE))
    assert debt_of(third).state == "open"
    back(acme)

    assert rolled_back(acme, second).state == "verified"

    assert (debt_of(first).state, debt_of(third).state) == ("open", "superseded")
    assert acme.texts() == [NEW_TEXT, OLD_TEXT]


def test_what_was_given_and_rolled_back_is_owed_and_asked_about(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)
    settlement = settled(acme)

    rolled_back(acme, settlement)

    debt = debt_of(rollout)
    assert (debt.state, debt.needs_person) == ("open", True)
    assert acme.texts() == [NEW_TEXT, OLD_TEXT]
    debt_settlement.settle_returned(now=LATER)
    assert not acme.cluster.rollouts.filter(state__in=Rollout.ACTIVE).exists()
    (told,) = debt_queries.open_debts(cluster=acme.cluster)
    assert (told["needs_person"], told["can_give"], told["given_by"]) == (True, True, None)
    acme.advance(debt_settlement.give(caller=acme.caller, debt=debt, now=LATER))
    assert acme.texts() == [NEW_TEXT] * 2


def test_rolling_a_rollback_back_makes_it_owed_again(acme: Scene) -> None:
    rollout = owed(acme)
    rollback = rolled_back(acme, rollout)
    assert debt_of(rollout).state == "taken_back"

    rolled_back(acme, rollback, now=LATER + timedelta(minutes=1))

    assert debt_of(rollout).state == "open"
    back(acme)
    assert settled(acme).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_a_rollback_that_made_an_older_one_owed_again_is_not_rolled_back(acme: Scene) -> None:
    first, second = owed(acme), owed(acme, NEWER)
    rollback = rolled_back(acme, second)
    assert debt_of(first).state == "open"

    with pytest.raises(rollouts.RollbackRefused, match=rf"pgpool-2 \(revision 2\).*Go back to {second.revision} "):
        rolled_back(acme, rollback)


def test_one_that_is_gone_and_has_nothing_of_it_keeps_no_other_from_the_way_back(acme: Scene) -> None:
    rollout = owed(acme)
    acme.instances[1].delete()

    assert rolled_back(acme, rollout).state == "verified"

    assert acme.texts()[0] == OLD_TEXT


def test_a_drain_leaves_out_nothing_that_is_owed(acme: Scene) -> None:
    owed(acme)
    back(acme)

    operation = backend_operations.request(
        caller=acme.caller, cluster=acme.cluster, backend=acme.cluster.backends.get(node_id=1), kind="drain", now=LATER
    )

    assert operation.rollout is not None
    acme.advance(operation.rollout)
    assert acme.texts() == [conf_text(weights=("0", "0", "3"))] * 2


def test_going_on_from_live_files_takes_what_is_owed(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)

    preview = weight_change.preview(cluster=acme.cluster, base="live")
    acme.advance(acme.request(None, base="live"))

    assert [each["changed_lines"] for each in preview["instances"]] == [0, 1]
    assert acme.texts() == [NEW_TEXT] * 2
    assert debt_of(rollout).state == "superseded"


def test_a_settlement_that_is_confirmed_undone_late_counts_one_try(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)
    debt_settlement.settle_returned(now=LATER)
    settlement = acme.cluster.rollouts.latest("pk")

    def silence(look: int) -> None:
        if settlement.steps.filter(state="written").exists():
            away(acme)

    assert acme.advance(settlement, clock=Clock(now=LATER, when_looked=silence)).state == "failed"
    assert debt_of(rollout).tries == 1
    back(acme)
    late = Clock(now=LATER + timedelta(minutes=20))

    assert acme.advance(settlement, clock=late).state == "rolled_back"
    assert debt_of(rollout).tries == 1


def test_a_file_that_cannot_be_read_is_not_asked_for_at_every_look(acme: Scene) -> None:
    rollout = owed(acme)
    gone = acme.confs[1].rename(acme.confs[1].with_suffix(".gone"))
    back(acme)
    debt_settlement.settle_returned(now=LATER)
    assert (debt_of(rollout).needs_person, debt_of(rollout).retry_at) == (False, LATER + timedelta(seconds=30))
    gone.rename(acme.confs[1])

    debt_settlement.settle_returned(now=LATER + timedelta(seconds=29))
    assert not acme.cluster.rollouts.filter(state__in=Rollout.ACTIVE).exists()

    assert settled(acme, now=LATER + timedelta(seconds=30)).state == "verified"
