"""The main job in the browser: move weights, see the change line by line, roll it out, see reads follow, go back."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor, register_branch
from tests.product import FIRST_SHARES, FIRST_WEIGHTS, NAMES, Product

pytestmark = pytest.mark.timeout(400)


def row(page: Page, node_id: int) -> Locator:
    return page.locator(f".we[data-node-id='{node_id}']")


def percents(page: Page) -> list[float]:
    return [float(row(page, node_id).locator("input[name]").input_value()) for node_id in range(3)]


def slide(page: Page, node_id: int, percent: float) -> None:
    row(page, node_id).locator("input[type=range]").fill(f"{percent}")


def test_sliders_always_add_up_respect_locks_and_presets(visit: Callable[..., Visitor]) -> None:
    page = visit().show_weights()
    assert percents(page) == [0, 50, 50]

    slide(page, 1, 20)
    assert percents(page)[1] == 20
    assert sum(percents(page)) == 100
    expect(page.locator("[data-sum]")).to_have_text(re.compile(r"^100(\.0)?\s%$"))

    row(page, 1).get_by_role("button", name="Lock").click()
    slide(page, 2, 30)
    assert percents(page) == [50, 20, 30]

    page.get_by_role("button", name="Even split").click()
    assert sum(percents(page)) == pytest.approx(100, abs=0.11)
    assert percents(page) == pytest.approx([33.3, 33.3, 33.3], abs=0.11)
    page.get_by_role("button", name="Standbys only").click()
    assert percents(page) == [0, 50, 50]

    row(page, 0).locator("input[name]").fill("10")
    row(page, 0).locator("input[name]").press("Tab")
    assert percents(page) == [10, 45, 45]
    page.get_by_role("button", name="Reset to what runs now").click()
    assert percents(page) == [0, 50, 50]


def test_the_weights_of_a_new_cluster_come_by_themselves(restored: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    register_branch(restored)

    page = visitor.go("~weights/", cluster="branch")

    expect(page.get_by_role("button", name="Start rollout")).to_be_enabled()
    assert percents(page) == [0, 50, 50]
    expect(page.locator("#preview")).to_contain_text("pgpool-1")
    page.get_by_role("button", name="Even split").click()
    expect(page.locator("#preview .diff .add").first).to_contain_text("backend_weight0 = 1")


def test_moved_weights_are_shown_as_a_diff_rolled_out_verified_followed_and_taken_back(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    page = visit().show_weights()
    slide(page, 1, 0)
    assert percents(page)[1] == 0
    page.get_by_role("button", name="Standbys only").click()
    slide(page, 1, 10)
    assert percents(page) == pytest.approx([0, 10, 90], abs=10)
    row(page, 0).get_by_role("button", name="Lock").click()
    slide(page, 1, 0)
    shares = tuple(round(percent / 100, 4) for percent in percents(page))

    expect(page.locator("#preview .diff .add").first).to_contain_text("backend_weight1 = 0")
    expect(page.locator("#preview .diff .del").first).to_contain_text("backend_weight1 = 1")
    expect(page.locator("#preview details")).to_have_count(3)
    page.get_by_label("Note for the history").fill("move it by hand")
    page.get_by_role("button", name="Start rollout").click()

    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    rollout_url = page.url
    verdict = page.locator("[data-rollout-state]")
    expect(verdict).to_have_attribute("data-rollout-state", "verified")
    expect(page.locator(".ro-grid").get_by_text("Verified", exact=True)).to_have_count(3)
    expect(page.get_by_role("log")).to_contain_text("Read back on 3 new sessions")
    assert shares == (0.0, 0.0, 1.0)
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, shares)
    expect(verdict).to_have_attribute("data-converged", "1")

    page.get_by_role("navigation", name="Orders").get_by_role("link", name="Overview").click()
    expect(page.locator(".be").nth(2).locator(".num .b")).to_have_text(re.compile(r"^(9\d\.\d|100(\.0)?)\s%$"))
    expect(page.locator("#happened")).to_contain_text("verified on pgpool-1, pgpool-2, pgpool-3")

    page.goto(rollout_url)
    expect(page.locator("#changes .diff .add").first).to_contain_text("backend_weight1 = 0")
    page.get_by_role("link", name="Roll back 3 instances").click()
    expect(page.locator(".diff .del").first).to_contain_text("backend_weight1 = 0")
    page.get_by_role("button", name="Roll back 3 instances").click()
    expect(page).not_to_have_url(re.compile(r"/rollback/$"))
    expect(page).not_to_have_url(rollout_url)
    expect(verdict).to_have_attribute("data-rollout-state", "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, FIRST_SHARES)


def test_a_file_edited_by_hand_stops_the_change_until_it_is_taken_as_it_is(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    restored.change_weights(FIRST_WEIGHTS)
    visitor = visit()
    visitor.expects("409")
    page = visitor.show_weights()
    restored.edit_by_hand("pgpool-3", "log_disconnections = on")

    slide(page, 1, 40)
    expect(page.locator("#preview")).to_contain_text("changed elsewhere")
    page.get_by_role("button", name="Start rollout").click()

    changed = page.get_by_role("alert")
    expect(changed).to_contain_text("The configuration was changed elsewhere.")
    expect(changed).to_contain_text("pgpool-3: log_disconnections")
    assert restored.shown_shares("pgpool-1") == FIRST_SHARES
    assert percents(page)[1] == 40  # what was typed is not lost

    page.get_by_role("button", name="Start from the live files").click()

    expect(page.locator("[data-rollout-state]")).to_have_attribute("data-rollout-state", "verified")
    assert restored.shown_shares("pgpool-3")[1] == pytest.approx(0.4, abs=0.001)
    assert "log_disconnections = on" in restored.conf("pgpool-3").read_text(encoding="utf-8")
