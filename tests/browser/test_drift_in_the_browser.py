"""A pgpool.conf edited by hand is seen on the page by itself, and reverted or adopted with two clicks."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import Product

pytestmark = pytest.mark.timeout(400)


def test_an_edit_by_hand_shows_up_and_is_reverted_with_two_clicks(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    page = visit().go("~drift/")
    expect(page.locator("[data-drift]")).to_have_attribute("data-drift", "in_step")

    conf = restored.conf("pgpool-2")
    restored.lab.account.file(
        conf, conf.read_text(encoding="utf-8").replace("sr_check_period = 1", "sr_check_period = 7")
    )

    verdict = page.get_by_role("heading", name="Edited by hand on pgpool-2: sr_check_period 1 → 7.")
    expect(verdict).to_be_visible()
    page.get_by_role("link", name="Revert pgpool-2").click()
    expect(page.locator(".diff .add").first).to_contain_text("sr_check_period = 1")
    page.get_by_role("button", name="Revert pgpool-2").click()

    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert "sr_check_period = 1\n" in conf.read_text(encoding="utf-8")


@pytest.mark.parametrize(("way", "line"), [("Adopt", "sr_check_period = 7"), ("Revert", "sr_check_period = 1")])
def test_two_clicks_from_the_page_of_its_cluster_are_enough(
    restored: Product, visit: Callable[..., Visitor], way: str, line: str
) -> None:
    visitor, reader = visit(), visit("viewer")
    expect(visitor.go("~drift/").locator("[data-drift]")).to_have_attribute("data-drift", "in_step")
    page = visitor.go("~")
    expect(page.locator("[data-drift-ways]")).to_have_count(0)

    conf = restored.conf("pgpool-2")
    edited = conf.read_text(encoding="utf-8").replace("sr_check_period = 1", "sr_check_period = 7")
    restored.lab.account.file(conf, edited)
    page.get_by_role("link", name=f"{way} what was edited by hand").click()
    expect(page.locator(".diff .add").first).to_contain_text(line)
    offered = reader.go("~").locator("[data-drift-ways]").get_by_role("link")
    expect(offered).to_have_text(["See the drift"])
    page.get_by_role("button", name=f"{way} all").click()

    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert f"{line}\n" in conf.read_text(encoding="utf-8")
    expect(visitor.go("~drift/").locator("[data-drift]")).to_have_attribute("data-drift", "in_step")
    expect(visitor.go("~").locator("[data-drift-ways]")).to_have_count(0)
