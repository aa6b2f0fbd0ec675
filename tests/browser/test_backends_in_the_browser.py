"""A backend out and in by clicks: at once, or drained, and each time its risk is said first."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import sessions
from tests.browser.conftest import Visitor
from tests.product import NAMES, Product, wait_until

pytestmark = pytest.mark.timeout(400)

PG3 = 2
DRAINED_SHARES = (0.0, 1.0, 0.0)


def statuses(product: Product) -> set[str]:
    return {str(product.lab.pgpools.nodes(pgpool)[PG3]["status"]) for pgpool in product.lab.plan.pgpools}


def latest(page: Page, kind: str) -> Locator:
    return page.get_by_role("row", name=re.compile(f"{kind} #")).first


def attach(product: Product, page: Page) -> None:
    page.get_by_role("link", name="Attach", exact=True).click()
    expect(page.get_by_text("Attach pg3?")).to_be_visible()
    page.get_by_role("button", name="Attach pg3").click()

    expect(latest(page, "Attach")).to_contain_text("Done")
    wait_until(lambda: statuses(product) <= {"up", "waiting"}, "every pgpool uses pg3 again")


def test_a_backend_is_detached_and_attached_again_after_its_risk_was_said(
    steered: Product, visit: Callable[..., Visitor]
) -> None:
    page = visit().go(f"~backends/{PG3}/")

    page.get_by_role("link", name="Detach at once").click()
    expect(page.get_by_text("Detach pg3 at once?")).to_be_visible()
    expect(page.locator(".risks")).to_contain_text("session")
    assert "down" not in statuses(steered)
    page.get_by_label("Why").fill("new disk")
    page.get_by_role("button", name="Detach pg3").click()

    expect(latest(page, "Detach")).to_contain_text("Done")
    expect(page.get_by_text("pg3 is down at every pgpool.")).to_be_visible()
    expect(page.get_by_role("cell", name="new disk")).to_be_visible()
    assert statuses(steered) == {"down"}

    attach(steered, page)


def test_a_backend_is_drained_once_its_sessions_have_ended_and_attached_again(
    steered: Product, visit: Callable[..., Visitor]
) -> None:
    page = visit().go(f"~backends/{PG3}/")
    with sessions.reading_from(steered.lab, steered.lab.plan.pgpools[1], PG3):
        page.get_by_role("link", name="Drain", exact=True).click()
        expect(page.get_by_text("Drain pg3?")).to_be_visible()
        expect(page.locator(".risks li").first).to_be_visible()
        assert "down" not in statuses(steered)
        page.get_by_role("button", name="Drain pg3").click()

        verdict = page.locator("[data-operation-state]")
        expect(verdict).to_have_attribute("data-operation-state", "waiting")
        steps = page.locator("section").filter(has=page.get_by_role("heading", name="Drain, pgpool by pgpool"))
        expect(steps.locator("tr", has_text="pgpool-2")).to_contain_text(re.compile(r"\b\d+ sessions?\b"))
        expect(page.get_by_role("button", name="Cancel the drain")).to_be_visible()
        expect(page.get_by_role("button", name="Detach anyway")).to_be_visible()
        assert "down" not in statuses(steered)
        assert {name: steered.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, DRAINED_SHARES)

    expect(latest(page, "Drain")).to_contain_text("Done")
    expect(page.get_by_text("pg3 is down at every pgpool.")).to_be_visible()
    assert statuses(steered) == {"down"}

    attach(steered, page)
    expect(page.get_by_role("link", name="Drain", exact=True)).to_be_visible()
