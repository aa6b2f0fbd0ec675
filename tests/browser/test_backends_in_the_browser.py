"""A backend out and in by clicks, each time after its risk was said."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor
from tests.product import Product, wait_until

pytestmark = pytest.mark.timeout(400)

PG3 = 2


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
