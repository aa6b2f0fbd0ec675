"""Whether the query cache pays, from the browser: one button, its progress, the chart, the number and the sentence."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.test_every_page import STICKS_OUT
from tests.product import Product, wait_until

pytestmark = pytest.mark.timeout(400)

# How many traces the chart draws: band, pairs, curve, and where the cluster stands.
TRACES = "() => document.querySelectorAll('break-even-chart .chart .scatterlayer .trace').length"


def test_one_button_measures_from_which_ratio_the_cache_pays(
    loadable_product: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    page = visitor.go("~cache/")
    expect(page.get_by_role("heading", name="At what hit ratio does the cache pay for itself?")).to_be_visible()
    app = loadable_product.lab.addresses["app"]
    visitor.go("~benchmarks/allow/")
    page.get_by_label("Database").fill(app["database"])
    page.get_by_label("Role", exact=True).fill(app["username"])
    page.get_by_label("Password of this role").fill(app["password"])
    page.get_by_label("This cluster may be put under load").check()
    page.get_by_role("button", name="Store").click()
    expect(page.locator(".verdict")).to_have_text("Orders may be put under load.")

    button = page.get_by_role("button", name="Calibrate")

    def is_offered() -> bool:
        visitor.go("~cache/")
        return button.count() == 1

    wait_until(is_offered, "the files of the pgpools were read")
    visitor.await_live()
    visitor.expects("status of 422")
    page.get_by_label("Clients", exact=True).fill("2")
    page.get_by_label("Seconds", exact=True).fill("10")
    button.click()
    expect(page.locator(".field[data-invalid]")).to_contain_text("ust be at least 39 s")
    page.get_by_label("Seconds", exact=True).fill("40")
    button.click()

    under_way = page.get_by_label("The calibration under way")
    expect(under_way).to_contain_text(re.compile(r"Run #\d+"))
    visitor.await_live()
    expect(under_way.get_by_role("progressbar")).to_have_attribute("value", re.compile(r"^[1-9]"))
    expect(page.locator("break-even-chart")).to_be_visible()
    expect(under_way).to_have_count(0)
    expect(page.get_by_role("heading", name="What a read takes")).to_be_visible()
    # Whatever seven pairs of a second each can say: a ratio with its interval, or why there is none.
    expect(page.locator("break-even-chart .chart, break-even-chart p").first).to_be_visible()
    said = page.evaluate("document.querySelector('break-even-chart .chart').getAttribute('aria-label')")
    assert re.search(r"pays from \d+(\.\d)? % hits|pays at any|never pays|[Mm]easure|scatter|longer", said), said
    visitor.await_true(f"() => ({TRACES})() >= 1")

    page.get_by_role("link", name="Since the start").click()
    expect(page).to_have_url(re.compile("axis=cumulative"))
    expect(page.get_by_text("lags behind while a cache warms up")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    visitor.await_true(f"() => ({STICKS_OUT})().length === 0")  # once the drawings have followed
