"""The cluster's page is live: figures tick without a reload, nothing jumps, and it goes on without Redis."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.product import Product, wait_until

pytestmark = pytest.mark.timeout(400)

# Of the chart's own data: milliseconds since 1970 at the right end, 0 while nothing is drawn.
LATEST_POINT_MS = """() => {
  const plot = document.querySelector("time-series-chart[metric=reads_per_s_total] .js-plotly-plot");
  const drawn = (plot?.data ?? []).flatMap((trace) => [...(trace.x ?? [])]).filter((x) => x !== null);
  return drawn.reduce((latest, x) => Math.max(latest, new Date(x).getTime()), 0);
}"""
# What a reader's eye holds on to; what stands inside may change its words.
BOXES = """() => Object.fromEntries(
  [...document.querySelectorAll("main section, main .topo > *, main .tn > div, main .js-plotly-plot, main aside")]
    .filter((each) => each.checkVisibility())
    .map((each, index) => {
      const box = each.getBoundingClientRect();
      const name = `${index} ${each.tagName} ${each.id || each.className || each.getAttribute("metric") || ""}`;
      return [name, [box.x, box.y, box.width, box.height].map(Math.round).join(" ")];
    }))"""


def await_verdict(product: Product) -> None:
    """Until the first minute after a change is over, so that its banner does not go away meanwhile."""
    wait_until(
        lambda: product.distribution(300)["seconds"] > 25,
        "the verdict rests on a window",
        told=lambda: product.distribution(300),
    )


def test_shares_and_charts_tick_over_the_websocket_without_a_reload(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go("~")
    page.evaluate("window.isTheSamePage = true")
    visitor.await_live()
    visitor.await_true(f"() => ({LATEST_POINT_MS})() > 0")
    first_ms, first = page.evaluate(LATEST_POINT_MS), page.locator(".topo").inner_text()

    visitor.await_heard("series-points", 3)
    visitor.await_heard("sampled", 2)

    visitor.await_true(f"(first) => ({LATEST_POINT_MS})() > first", first_ms)
    visitor.await_true("(first) => document.querySelector('.topo').innerText !== first", first)
    assert page.evaluate("window.isTheSamePage")
    assert (page.locator(".be .num .b").nth(0).inner_text()).replace("\u00a0", " ") == "0.0 %"
    expect(page.locator("live-status")).to_contain_text("Live")


# What may change the page's height for a reason: an event, a warning, another verdict.
MATTERS = """() => [
  document.querySelectorAll("#happened li").length,
  document.querySelectorAll(".note").length,
  document.querySelector("[data-verdict]")?.dataset.verdict,
  document.querySelector(".top .st")?.textContent,
].join()"""


def test_nothing_jumps_while_samples_arrive(product: Product, visit: Callable[..., Visitor]) -> None:
    await_verdict(product)
    visitor = visit()
    page = visitor.go("~")
    visitor.await_live()
    visitor.await_true(
        "() => [...document.querySelectorAll('time-series-chart')].every((e) => e.querySelector('.main-svg'))"
    )
    visitor.await_heard("sampled")

    def moved() -> dict[str, tuple[str, str | None]] | None:
        """Boxes that are elsewhere after some samples; None when something else happened meanwhile."""
        matters, before = page.evaluate(MATTERS), page.evaluate(BOXES)
        assert len(before) > 20
        found = {}
        for _ in range(4):
            visitor.await_heard("sampled")
            after = page.evaluate(BOXES)
            found |= {name: (box, after.get(name)) for name, box in before.items() if after.get(name) != box}
        return found if page.evaluate(MATTERS) == matters else None

    assert next((found for _ in range(5) if (found := moved()) is not None), "it was never calm") == {}


def reads_shown(page: Page) -> str:
    return page.locator(".topo").inner_text()


def test_without_redis_pages_are_refreshed_and_scripts_are_answered_all_the_same(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    visitor.expects("WebSocket|ws/live")
    page = visitor.go("~")
    visitor.await_live()

    with restored.without_redis():
        seen: Any = restored.get("clusters/orders/")["seen_at"]
        wait_until(lambda: restored.get("clusters/orders/")["seen_at"] > seen, "polling goes on")
        shown = reads_shown(page)
        visitor.await_true("(shown) => document.querySelector('.topo').innerText !== shown", shown)
        shown = reads_shown(page)
        visitor.await_true("(shown) => document.querySelector('.topo').innerText !== shown", shown)

        other = visit()
        other.expects("WebSocket|ws/live")
        other.go()
        expect(other.page.locator("#fleet").get_by_role("link", name="Orders")).to_be_visible()

    visitor.await_live()
    visitor.await_heard("series-points")
    expect(page.locator("live-status")).to_contain_text(re.compile("^Live"))
