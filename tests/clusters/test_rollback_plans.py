"""Rolling back by a plan: all at once unless told, by REST and by the page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.models import Rollout
from tests.clusters.callers_at_doors import browser, script
from tests.clusters.owing import owing
from tests.clusters.rollout_scene import Scene
from tests.clusters.test_registration_pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with owing(tmp_path, settings, monkeypatch) as found:
        yield found


def verified(pair: Scene, absent: str = "refuse") -> Rollout:
    return pair.advance(pair.request(plan={"absent": absent}))


def plan_of(rollout_id: int) -> dict[str, Any]:
    plan = Rollout.objects.get(pk=rollout_id).plan
    return {name: plan[name] for name in ("strategy", "canary", "absent", "on_return")}


@pytest.mark.parametrize("absent", ["refuse", "owe"])
def test_unless_told_all_at_once_and_as_the_rollout_with_who_is_away(pair: Scene, absent: str) -> None:
    rollout, operator = verified(pair, absent), script("operator")
    usual = {"strategy": "all_at_once", "canary": "", "absent": absent, "on_return": None}

    answer = operator.post(f"/api/v1/rollouts/{rollout.pk}/rollback/")

    assert answer.status_code == 202, answer.content
    assert plan_of(answer.json()["id"]) == usual
    assert pair.advance(Rollout.objects.latest("pk")).state == "verified"


def test_rest_takes_a_plan_and_refuses_what_is_none(pair: Scene) -> None:
    rollout, operator = verified(pair, "owe"), script("operator")
    address = f"/api/v1/rollouts/{rollout.pk}/rollback/"

    for wrong, field in (
        ({"canary": "pgpool-9", "strategy": "canary"}, "plan.canary"),
        ({"absent": "skip"}, "plan.absent"),
    ):
        refused = operator.post(address, {"plan": wrong}, format="json")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field)
    assert operator.post(address, {"plans": {}}, format="json").status_code == 400
    plan = {"strategy": "canary", "canary": "pgpool-2", "on_return": "ask"}
    answer = operator.post(address, {"plan": plan}, format="json")

    assert answer.status_code == 202, answer.content
    assert plan_of(answer.json()["id"]) == {**plan, "absent": "owe"}
    assert [step["instance"] for step in answer.json()["steps"]] == ["pgpool-2", "pgpool-1"]


def test_the_page_takes_a_plan_and_begins_with_the_usual_one(pair: Scene) -> None:
    rollout, operator = verified(pair, "owe"), browser("operator")
    address = f"/o/acme/rollouts/{rollout.pk}/rollback/"

    page = operator.get(address)
    assert "How to roll out all pgpools at once, unless told" in text_of(page)
    assert '<option value="all_at_once" selected>' in page.content.decode()
    assert '<option value="owe" selected>' in page.content.decode()
    refused = operator.post(address, {"plan_strategy": "one_by_one", "plan_hold_s": "soon"})
    assert refused.status_code == 422
    assert "Nothing was changed." in text_of(refused)
    given = {"plan_strategy": "one_by_one", "plan_hold_s": "60", "plan_absent": "refuse"}
    assert operator.post(address, given).status_code == 303
    assert plan_of(Rollout.objects.latest("pk").pk) == {
        "strategy": "one_by_one", "canary": "", "absent": "refuse", "on_return": None,
    }  # fmt: skip
