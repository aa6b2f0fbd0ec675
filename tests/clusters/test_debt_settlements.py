"""What a pgpool owes is given when it returns, on somebody's word, or never."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import AuditEntry
from apps.clusters.control import debt_settlement, rollouts
from tests.clusters.owing import ASK, LATER, NEW_TEXT, OWE, WANTED, back, debt_of, owed, owing, settled, titles
from tests.clusters.rollout_scene import Clock, Scene, conf_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with owing(tmp_path, settings, monkeypatch) as found:
        yield found


def test_it_is_given_when_it_returns(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)

    settlement = settled(acme)

    assert settlement.state == "verified"
    assert settlement.steps.get().instance_name == "pgpool-2"
    assert settlement.steps.get().receipt["read_back"]["lb_weight"] == {"0": 0.0, "1": 0.25, "2": 0.75}
    assert acme.weights() == [WANTED] * 2
    assert debt_of(rollout).state == "settled"
    assert titles()[-1] == "pgpool-2 returned and was given revision 2"
    assert AuditEntry.objects.filter(action="debt.given").count() == 1


def test_nothing_is_given_before_it_is_seen_to_answer(acme: Scene) -> None:
    rollout = owed(acme)

    debt_settlement.settle_returned(now=LATER)

    assert acme.cluster.rollouts.latest("pk") == rollout


def test_it_is_given_once_however_many_workers_look(acme: Scene) -> None:
    owed(acme)
    back(acme)

    for _ in range(3):
        debt_settlement.settle_returned(now=LATER)

    assert acme.cluster.rollouts.filter(settles__isnull=False).count() == 1


def test_where_somebody_is_to_be_asked_it_is_told_once_and_given_on_their_word(acme: Scene) -> None:
    rollout = owed(acme, plan=ASK)
    back(acme)

    for _ in range(2):
        debt_settlement.settle_returned(now=LATER)

    assert titles().count("pgpool-2 is back and owes revision 2: give it, or let it go") == 1
    assert acme.texts()[1] == conf_text()

    given = debt_settlement.give(caller=acme.caller, debt=debt_of(rollout), now=LATER)
    assert acme.advance(given).state == "verified"
    assert acme.texts() == [NEW_TEXT] * 2


def test_a_debt_that_is_let_go_is_never_given(acme: Scene) -> None:
    rollout = owed(acme, plan=ASK)
    back(acme)

    debt_settlement.forgive(caller=acme.caller, debt=debt_of(rollout), now=LATER)
    debt_settlement.settle_returned(now=LATER)

    assert acme.texts()[1] == conf_text()
    assert (debt_of(rollout).state, debt_of(rollout).closed_by_name) == ("forgiven", "Ann")
    assert AuditEntry.objects.filter(action="debt.forgiven").count() == 1
    with pytest.raises(debt_settlement.DebtRefused, match="let go"):
        debt_settlement.give(caller=acme.caller, debt=debt_of(rollout), now=LATER)


def test_a_file_edited_meanwhile_is_asked_about_and_never_written_over(acme: Scene) -> None:
    rollout = owed(acme)
    by_hand = conf_text().replace("delay_threshold = 1000", "delay_threshold = 5")
    acme.confs[1].write_text(by_hand)
    back(acme)

    debt_settlement.settle_returned(now=LATER)

    debt = debt_of(rollout)
    assert (debt.state, debt.needs_person) == ("open", True)
    assert "edited by hand" in debt.reason
    assert acme.texts()[1] == by_hand
    with pytest.raises(debt_settlement.EditedMeanwhile):
        debt_settlement.give(caller=acme.caller, debt=debt, now=LATER)
    assert titles()[-1] == "pgpool-2 is back and owes revision 2, which was not given"


def test_a_newer_revision_leaves_out_nothing_that_was_owed(acme: Scene) -> None:
    first = owed(acme)
    second = acme.advance(acme.request({"0": 1, "1": 1, "2": 1}, plan=OWE))

    assert (debt_of(first).state, debt_of(second).state) == ("superseded", "open")
    back(acme)
    third = acme.advance(acme.request({"0": 0, "1": 1, "2": 3}))

    assert acme.states(third) == ["verified"] * 2
    assert debt_of(second).state == "superseded"
    assert acme.weights() == [WANTED] * 2


def test_what_was_given_late_is_rolled_back_with_the_others(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)
    settled(acme)

    rollback = acme.advance(rollouts.request_rollback(caller=acme.caller, rollout=rollout, now=LATER))

    assert acme.states(rollback) == ["verified"] * 2
    assert acme.texts() == [conf_text()] * 2


def test_a_settlement_that_fails_is_tried_again_and_then_asked_about(acme: Scene) -> None:
    rollout = owed(acme)
    back(acme)
    acme.pgpools[1].mode = "lie"

    now = LATER
    for tries in range(1, 4):
        debt_settlement.settle_returned(now=now)
        clock = Clock(now=now)
        assert acme.advance(acme.cluster.rollouts.latest("pk"), clock=clock).state == "rolled_back"
        assert debt_of(rollout).tries == tries
        debt_settlement.settle_returned(now=clock.now)
        now = clock.now + timedelta(minutes=10)

    debt = debt_of(rollout)
    assert (debt.state, debt.needs_person) == ("open", True)
    assert acme.cluster.rollouts.filter(settles=debt).count() == 3
