"""A pgpool that lets Lifeguard open no session is there: nothing is written before that is mended, nor is it owed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.control import rollouts
from apps.clusters.models import PublishedFile, RevisionDebt
from apps.clusters.outside.delivery.outcomes import sha256_of
from tests.clusters.owing import NEW_TEXT, OLD_TEXT, OWE, owing
from tests.clusters.rollout_scene import NOW, Clock, Scene
from tests.fake_pgpool import Mode

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with owing(tmp_path, settings, monkeypatch) as found:
        yield found


@pytest.mark.parametrize("plan", [None, OWE])
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("wrong_password", 'password authentication failed for user "lifeguard"'),
        ("refuse", "closes every connection at once"),
        ("all_down", "accepts no client: all of its backends are down"),
    ],
)
def test_nothing_is_written_anywhere_while_one_turns_lifeguard_away(
    acme: Scene, plan: object, mode: Mode, said: str
) -> None:
    acme.pgpools[1].mode = mode

    rollout = acme.advance(acme.request(plan=plan))

    assert (rollout.state, acme.states(rollout)) == ("failed", ["skipped", "failed"])
    assert acme.texts() == [OLD_TEXT] * 2
    assert not rollout.steps.filter(is_touched=True).exists()
    assert [pgpool.reload_count for pgpool in acme.pgpools] == [0, 0]
    assert rollout.halt_reason.startswith("pgpool-2: It lets Lifeguard open no session: ")
    assert said in rollout.halt_reason
    assert "It owes" not in rollout.halt_reason
    assert not RevisionDebt.objects.exists()


def test_nothing_is_published_for_it_either(acme: Scene) -> None:
    acme.cluster.instances.update(delivery_kind="manual", delivery_path="", delivery_target=None)
    for instance in acme.instances:
        PublishedFile.objects.create(instance=instance, text=OLD_TEXT, sha256=sha256_of(OLD_TEXT.encode()))
    acme.pgpools[1].mode = "wrong_password"

    rollout = acme.advance(acme.request())

    assert (rollout.state, acme.states(rollout)) == ("failed", ["skipped", "failed"])
    assert {file.text for file in PublishedFile.objects.all()} == {OLD_TEXT}


def test_what_passes_by_the_next_try_keeps_nobody(acme: Scene) -> None:
    rollout = acme.request()
    acme.pgpools[1].mode = "refuse"

    def let_in(look: int) -> None:
        if rollout.steps.filter(position=1, error__contains="no session").exists():
            acme.pgpools[1].mode = "ok"

    acme.advance(rollout, clock=Clock(when_looked=let_in))

    assert rollout.log.filter(is_problem=True, instance_name="pgpool-2").count() == 1
    assert (rollout.state, acme.texts()) == ("verified", [NEW_TEXT] * 2)


@pytest.mark.parametrize("plan", [None, {"absent": "owe"}])
def test_a_way_back_goes_past_it_and_it_owes_nothing(acme: Scene, plan: object) -> None:
    rollout = acme.advance(acme.request())
    acme.pgpools[1].mode = "wrong_password"

    back = rollouts.request_rollback(caller=acme.caller, rollout=rollout, plan=plan, now=NOW)
    acme.advance(back)

    assert (back.state, acme.states(back)) == ("failed", ["verified", "failed"])
    assert acme.texts() == [OLD_TEXT] * 2
    assert not RevisionDebt.objects.exists()
