"""What to change in the cache, from the browser: its words, and one button that puts it into the draft."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.test_every_page import STICKS_OUT
from tests.product import Product

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def drafting(restored: Product) -> Iterator[Product]:
    """Nothing is drafted; a table of the application has been written."""
    backends = restored.lab.backends
    restored.ask("clusters/orders/draft/", method="DELETE")
    with backends.connect(backends.primary, "shop") as superuser:
        superuser.execute("CREATE TABLE stock_level AS SELECT generate_series(1, 5000) AS id")
    yield restored
    restored.ask("clusters/orders/draft/", method="DELETE")
    with backends.connect(backends.primary, "shop") as superuser:
        superuser.execute("DROP TABLE stock_level")


def test_draft_it_puts_advice_and_a_table_into_the_draft(drafting: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go("~cache/")
    advice = page.locator("[data-advice=memcached]")
    expect(advice).to_contain_text("Keep results in one memcached")
    advice.get_by_text("3 lines, by restart").click()
    expect(advice.locator("code").first).to_have_text("memqcache_method = 'memcached'")
    advice.get_by_role("button", name="Draft it").click()
    drafted = page.locator("[id=parameter-memqcache_method]")
    expect(drafted).to_contain_text("every pgpool, by restart")
    expect(drafted).to_contain_text("memcached")

    visitor.go("~cache/")
    visitor.await_live()
    tables = page.locator("#tables")
    tables.get_by_label("Database").fill("shop")
    tables.get_by_role("button", name="Count its writes").click()
    expect(tables.get_by_role("status")).to_contain_text("Workers count the writes to shop")
    row = tables.get_by_role("row").filter(has_text="public.stock_level")
    expect(row).to_contain_text("5,000")
    page.set_viewport_size({"width": 390, "height": 844})
    visitor.await_true(f"() => ({STICKS_OUT})().length === 0")  # once the drawings have followed
    row.get_by_role("button", name="Leave out: stock_level").click()

    expect(page.locator("[id=parameter-cache_unsafe_memqcache_table_list]")).to_contain_text(
        "stock_level,public[.]stock_level"
    )
    drafted_names = [one["parameter"] for one in drafting.get("clusters/orders/draft/")["changes"]]
    assert drafted_names == ["cache_unsafe_memqcache_table_list", "memqcache_method"]


def test_a_viewer_reads_what_to_change_and_drafts_nothing(product: Product, visit: Callable[..., Visitor]) -> None:
    page = visit("viewer").go("~cache/")

    expect(page.locator("[data-advice=memcached]")).to_contain_text("you have viewer access")
    expect(page.get_by_role("button", name="Draft it")).to_have_count(0)
    expect(page.get_by_role("button", name="Count its writes")).to_have_count(0)
