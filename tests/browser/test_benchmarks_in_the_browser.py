"""A benchmark run from the browser: allowed, started by a form, watched to its end."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.test_every_page import STICKS_OUT
from tests.product import Product

pytestmark = pytest.mark.timeout(400)

# Where a reader is in a tail of 20 px a line, three lines high: at first, after a line more; having scrolled up, after
# a line came, after two came and two went, after all went.
READ_IN_A_TAIL = """async () => {
  const tail = document.createElement("log-tail");
  const box = document.createElement("pre");
  box.className = "code printed";
  box.style.maxHeight = "60px";
  tail.append(box);
  const show = async (from, until) => {
    box.textContent = Array.from({ length: until - from }, (_, index) => `line ${from + index}`).join("\\n");
    await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
    return box.scrollTop;
  };
  const isAtEnd = () => box.scrollHeight - box.clientHeight - box.scrollTop < 1;
  document.querySelector("main").append(tail);
  const found = [];
  for (const until of [20, 21]) found.push((await show(0, until)) > 0 && isAtEnd());
  box.scrollTop = 100;
  found.push(await show(0, 22), await show(2, 24), await show(90, 110));
  tail.remove();
  return found;
}"""
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

    assert page.evaluate(READ_IN_A_TAIL) == [True, True, 100, 60, 0]
    page.get_by_role("link", name="Run again").click()
    page.get_by_label("Measured for, s").fill("100")
    page.get_by_role("button", name="Put Orders under load").click()
    expect(page.locator("log-tail")).to_contain_text(re.compile(r"progress: \d+\.\d s, .* tps"))
    visitor.await_true(f"() => ({STICKS_OUT})().length === 0")
    page.get_by_role("link", name="Stop and keep what is measured").click()
    page.get_by_role("button", name="Stop run").click()
    expect(page.locator("[data-run-state=stopped]")).to_be_visible()
    expect(page.get_by_text("What is here is partial")).to_be_visible()
    expect(page.locator("log-tail")).to_have_count(0)
    expect(page.locator("#outputs .printed")).to_contain_text("progress: 1.0 s")
