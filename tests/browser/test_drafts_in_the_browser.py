"""Parameters and weights gathered page by page, seen line by line, rolled out together, verified, with a receipt."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import NAMES, Product

pytestmark = pytest.mark.timeout(400)

NARROW = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture
def gathered(restored: Product) -> Iterator[Product]:
    """Nothing is drafted."""
    restored.ask("clusters/orders/draft/", method="DELETE")
    yield restored
    restored.ask("clusters/orders/draft/", method="DELETE")


@pytest.mark.usefixtures("marked_wrong")
def test_a_draft_is_gathered_on_three_pages_and_rolled_out(gathered: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    draft_a_parameter(visitor)
    draft_functions(visitor)
    page = visitor.go("~weights/")
    page.get_by_role("button", name="Even split").click()
    page.get_by_role("button", name="Add to my draft").click()

    expect(page.get_by_role("heading", name="Your draft: 3 changes, not rolled out")).to_be_visible()
    expect(page.locator("#drafted")).to_contain_text("33.3")
    expect(page.locator("#review .diff .add").first).to_contain_text("backend_weight")
    page.get_by_text("How to roll out").click()
    page.get_by_text("Guards").click()
    visitor.expects("status of 422")
    page.get_by_label("Replay lag, seconds").fill("soon")
    page.get_by_role("button", name="Roll out 3 changes").click()
    expect(page.get_by_text("or empty for off")).to_be_visible()
    page.get_by_label("Replay lag, seconds").fill("30")
    page.get_by_label("Note for the history").fill("together")
    page.get_by_role("button", name="Roll out 3 changes").click()

    expect(page).to_have_url(re.compile(r"/o/demo/rollouts/\d+/$"))
    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    rollout_id = int(page.url.rstrip("/").rpartition("/")[2])
    assert gathered.rollout(rollout_id)["plan"]["guards"]["replay_lag_s"] == 30
    receipts = gathered.get(f"rollouts/{rollout_id}/receipts/")["receipts"]
    assert {one["instance"] for one in receipts} == set(NAMES)
    page = visitor.go("~draft/")
    expect(page.get_by_role("heading", name="Your draft is empty")).to_be_visible()
    for name in NAMES:
        text = gathered.conf(name).read_text(encoding="utf-8")
        assert "client_idle_limit = 300" in text
        assert "takes_note" in text


def draft_a_parameter(visitor: Visitor) -> None:
    page = visitor.go("~configuration/")
    row = page.locator("tr[id=client_idle_limit]")
    expect(page.locator("details.group").first).to_be_visible()
    expect(row).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("client_idle")
    expect(row).to_be_visible()
    expect(page.locator("tr[id=max_pool]")).to_be_hidden()
    page.get_by_role("searchbox").fill("")
    expect(row).to_be_hidden()

    visitor.go("~configuration/#client_idle_limit")
    page.reload()  # the page was open: an address that differs in its end only is not loaded anew
    expect(row).to_be_visible()
    row.get_by_role("link", name="Change client_idle_limit").click()
    page.get_by_label("New value").fill("300")
    page.get_by_role("button", name="Add to the draft").click()
    expect(page.locator("[id=parameter-client_idle_limit]")).to_contain_text("300")


def draft_functions(visitor: Visitor) -> None:
    page = visitor.survey_functions("shop")
    expect(page.get_by_text("Writes, and is sent to standbys")).to_be_visible()
    page.get_by_role("button", name="Add to my draft").click()
    expect(page.locator("[id=parameter-write_function_list]")).to_contain_text("every pgpool")


def test_the_configuration_is_short_on_a_phone_and_opens_by_group(visit: Callable[..., Visitor]) -> None:
    page = visit(**NARROW).go("~configuration/")

    expect(page.locator("details.group").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollHeight") < 3000
    page.get_by_label("Group").select_option(label="Health check")
    expect(page).to_have_url(re.compile("group=health_check"))
    expect(page.locator("tr[id=health_check_period]")).to_be_visible()
    expect(page.locator("details.group")).to_have_count(1)
