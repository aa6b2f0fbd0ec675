"""A benchmark run from the browser: allowed, started by a form, watched to its end."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.test_every_page import STICKS_OUT
from tests.product import Product

pytestmark = pytest.mark.timeout(400)

# How many seconds the chart shows.
DRAWN = "() => Number(document.querySelector('run-chart[metric=tps] .chart')?.dataset.points ?? 0)"


def test_a_run_is_allowed_started_and_watched_to_its_end(
    loadable_product: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    page = visitor.go("~benchmarks/allow/")
    app = loadable_product.lab.addresses["app"]
    page.get_by_label("Database").fill(app["database"])
    page.get_by_label("Role", exact=True).fill(app["username"])
    page.get_by_label("Password of this role").fill(app["password"])
    page.get_by_label("This cluster may be put under load").check()
    page.get_by_role("button", name="Store").click()
    expect(page.locator(".verdict")).to_have_text("Orders may be put under load.")

    visitor.go("benchmarks/")
    page.get_by_role("link", name=re.compile("^(Start the first|New) run$")).click()
    page.get_by_label("Clients", exact=True).fill("2")
    page.get_by_role("combobox", name="Workload").select_option("pgbench-tpcb-like")
    expect(page.get_by_role("heading", name="pgbench, TPC-B-like")).to_be_visible()
    expect(page.get_by_role("radio", name=re.compile(r"^Standby \d direct")).first).to_be_disabled()
    page.get_by_role("radio", name=re.compile(r"^Primary direct \(")).check()
    expect(page.get_by_label("Clients", exact=True)).to_have_value("2")  # typed before the workload was chosen
    page.get_by_label("Measured for, s").fill("4")
    page.get_by_label("Warm-up before it, s").fill("0")
    page.get_by_label("Scale").fill("1")
    page.get_by_role("button", name="Put Orders under load").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Run #")
    page.evaluate("window.isTheSamePage = true")
    visitor.await_live()
    expect(page.locator("[data-run-state=done]")).to_be_visible()
    visitor.await_true(f"() => ({DRAWN})() >= 3")
    assert page.evaluate("window.isTheSamePage")
    expect(page.locator(".verdict")).to_contain_text("on the primary with 2 clients")
    expect(page.get_by_role("heading", name="Where a transaction spends its time")).to_be_visible()
    expect(page.get_by_text("These share one machine")).to_be_visible()
    expect(page.get_by_role("link", name="Run again")).to_be_visible()
    expect(page.get_by_role("link", name="Stop and keep")).to_have_count(0)

    page.get_by_role("button", name="Show as table").first.click()
    expect(page.locator("run-chart[metric=tps] table")).to_contain_text("mean until then")
    page.set_viewport_size({"width": 360, "height": 760})
    # Charts take their new width a moment later.
    visitor.await_true(f"() => ({STICKS_OUT})().length === 0")
