"""Going back to an older revision through its page: the lines first, then a rollout like any other."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import FIRST_SHARES, FIRST_WEIGHTS, NAMES, Product

pytestmark = pytest.mark.timeout(400)

NEW_SHARES = (0.0, 0.25, 0.75)


def test_an_older_revision_is_gone_back_to_from_its_page(restored: Product, visit: Callable[..., Visitor]) -> None:
    older = restored.change_weights(FIRST_WEIGHTS)["revision"]
    restored.change_weights({"0": 0, "1": 1, "2": 3})
    page = visit().go("~history/")

    page.get_by_role("link", name=str(older), exact=True).click()
    expect(page).to_have_url(re.compile(rf"/revisions/{older}/$"))
    page.get_by_role("link", name="Go back to this revision").click()
    expect(page.get_by_text(f"The files of revision {older}, on 3 pgpools")).to_be_visible()
    expect(page.locator(".diff .del").first).to_contain_text("backend_weight")
    expect(page.locator(".diff .add").first).to_contain_text("backend_weight")
    assert restored.shown_shares("pgpool-1") == NEW_SHARES
    page.get_by_role("button", name=f"Go back to revision {older}").click()

    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, FIRST_SHARES)


def test_a_viewer_reads_an_older_revision_and_is_not_offered_to_go_back(
    product: Product, visit: Callable[..., Visitor]
) -> None:
    page = visit("viewer").go("~revisions/1/")

    expect(page.get_by_role("heading", name="The whole files")).to_be_visible()
    expect(page.get_by_role("link", name="Go back to this revision")).to_have_count(0)
