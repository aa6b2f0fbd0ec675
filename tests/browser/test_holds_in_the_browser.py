"""A rollout that holds after its canary is planned, paused, resumed and cancelled by clicks."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.product import FIRST_SHARES, Product

pytestmark = pytest.mark.timeout(400)

NEW_SHARES = (0.0, 0.25, 0.75)


def start_with_a_canary(visitor: Visitor) -> Page:
    """pgpool-2 first, then a hold that no test waits for, and that no busy moment of this machine ends."""
    page = visitor.show_weights()
    visitor.type_percent(1, 25)
    page.get_by_text("How to roll out").click()
    page.get_by_label("Order", exact=True).select_option(label="One first, then the others")
    page.get_by_label("Which one first", exact=True).select_option("pgpool-2")
    page.get_by_label("Seconds to watch", exact=True).fill("3600")
    page.get_by_text("Guards").click()
    for limit in ("Replay lag, seconds", "Errors per read, times as many", "Round trip, times as long"):
        page.get_by_label(limit).fill("")
    page.get_by_label("No pgpool and no backend may be lost").uncheck()
    page.get_by_label("Reads may not move away from the new weights").uncheck()
    page.get_by_role("button", name="Start rollout").click()
    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    return page


def test_a_hold_is_paused_resumed_and_cancelled_with_clicks(restored: Product, visit: Callable[..., Visitor]) -> None:
    page = start_with_a_canary(visit())
    verdict = page.locator("[data-rollout-state]")
    expect(verdict).to_have_text("Watching before the next follow: 1 of 3 pgpools verified.")
    expect(page.get_by_text(re.compile(r"The next pgpools follow at \d"))).to_be_visible()
    assert [restored.shown_shares(name) for name in ("pgpool-2", "pgpool-1")] == [NEW_SHARES, FIRST_SHARES]

    page.get_by_role("button", name="Pause rollout").click()

    expect(verdict).to_have_attribute("data-rollout-state", "paused")
    expect(page.get_by_text("no other rollout of this cluster can begin until it is resumed")).to_be_visible()
    expect(page.get_by_role("button", name="Pause rollout")).to_have_count(0)

    page.get_by_role("button", name="Resume rollout").click()

    expect(verdict).to_have_attribute("data-rollout-state", "running")
    expect(verdict).to_have_text("Watching before the next follow: 1 of 3 pgpools verified.")
    expect(page.get_by_role("log")).to_contain_text("Resumed by")
    assert restored.shown_shares("pgpool-1") == FIRST_SHARES

    page.get_by_role("button", name="Cancel rollout").click()

    expect(verdict).to_have_attribute("data-rollout-state", "rolled_back")
    steps = page.locator(".ro-grid")
    expect(steps.get_by_text("Old file is back")).to_have_count(1)
    expect(steps.get_by_text("Not touched")).to_have_count(2)
    assert {restored.shown_shares(name) for name in ("pgpool-1", "pgpool-2", "pgpool-3")} == {FIRST_SHARES}
    assert restored.changed_files() == []
