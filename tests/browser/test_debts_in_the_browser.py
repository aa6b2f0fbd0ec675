"""A pgpool that was away owes a revision: shown wherever it matters, and given, or let go, with one click."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.product import FIRST_SHARES, Product

pytestmark = pytest.mark.timeout(400)

NEW_SHARES = (0.0, 0.25, 0.75)


@pytest.fixture
def without_one(restored: Product) -> Iterator[Product]:
    """pgpool-3 is dead, as after its host died."""
    restored.lab.kill("pgpool-3")
    yield restored


def roll_out_past_it(product: Product, visitor: Visitor) -> Page:
    """By the form of the weights: somebody is to be asked when pgpool-3 returns."""
    page = visitor.go("~weights/")
    expect(page.locator("#preview")).to_contain_text("pgpool-1")
    visitor.type_percent(1, 25)
    page.get_by_text("How to roll out").click()
    page.get_by_label("A pgpool that cannot be reached").select_option("ask")
    page.get_by_role("button", name="Start rollout").click()

    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert product.shown_shares("pgpool-1") == NEW_SHARES
    return page


def test_what_a_pgpool_owes_is_seen_and_given_with_a_click(without_one: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = roll_out_past_it(without_one, visitor)
    debt = page.locator("[data-debt]")
    expect(page.locator(".ro-grid")).to_contain_text("Owes it")
    expect(debt).to_contain_text("pgpool-3 cannot be reached and owes revision")
    expect(debt).to_contain_text("somebody is asked when it returns")
    visitor.go("~")
    expect(debt).to_contain_text("pgpool-3 cannot be reached and owes revision")
    expect(page.locator(".topo")).to_contain_text("owes a revision")
    expect(debt.get_by_role("button", name="Give it")).to_have_count(0)

    without_one.lab.start("pgpool-3")

    expect(debt).to_contain_text("pgpool-3 is back and owes revision")
    assert without_one.shown_shares("pgpool-3") == FIRST_SHARES
    visitor.go()
    status = page.locator("#fleet tbody tr").first.locator("td").first
    expect(status).to_have_attribute("title", re.compile("pgpool-3 is back and owes revision"))
    visitor.go("~")
    debt.get_by_role("button", name="Give it to pgpool-3").click()

    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert without_one.shown_shares("pgpool-3") == NEW_SHARES
    visitor.go("~")
    expect(page.locator("[data-verdict]")).to_be_visible()
    expect(debt).to_have_count(0)


def test_what_is_let_go_is_never_given(without_one: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = roll_out_past_it(without_one, visitor)
    without_one.lab.start("pgpool-3")
    debt = page.locator("[data-debt]")
    expect(debt).to_contain_text("pgpool-3 is back and owes revision")
    bystander = visit("viewer").go("~")
    expect(bystander.locator("[data-debt]")).to_contain_text("give it, or let it go")
    expect(bystander.locator("[data-debt]").get_by_role("button")).to_have_count(0)

    debt.get_by_role("button", name="Let it go").click()

    expect(page.get_by_text("pgpool-3 owes nothing any more. Nothing was changed there.")).to_be_visible()
    expect(debt).to_have_count(0)
    expect(bystander.locator("[data-debt]")).to_have_count(0)
    assert without_one.shown_shares("pgpool-3") == FIRST_SHARES
    closed = without_one.get("clusters/orders/debts/")["closed"][0]
    assert (closed["instance"], closed["state"]) == ("pgpool-3", "forgiven")
