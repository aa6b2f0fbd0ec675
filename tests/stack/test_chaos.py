"""A short crash campaign: each program of the product is killed once in the middle of a rollout."""

import pytest

from deploy.bench.subject import running_demo
from deploy.chaos.campaign import Round, campaign
from deploy.chaos.victims import VICTIMS
from tests.product import Product

pytestmark = pytest.mark.timeout(600)


def test_whatever_is_killed_every_pgpool_runs_one_of_the_two_files_and_nothing_is_left(restored: Product) -> None:
    told: list[Round] = []

    rounds = campaign(running_demo(restored.place), rollouts=len(VICTIMS), seed=7, tell=told.append)

    assert rounds == told
    assert {each.victim for each in rounds} == set(VICTIMS)
    assert [each.line for each in rounds if each.faults] == []
    assert any(not each.hit.startswith("nothing") for each in rounds)
