"""Comparisons, a sweep, a pooler, messaging, a campaign: asked for by forms, measured for real, read on their pages."""

import re
from collections.abc import Callable, Iterable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.browser.test_every_page import STICKS_OUT
from tests.product import Product, wait_until

pytestmark = pytest.mark.timeout(600)

REPETITIONS = 6
RUNS_WITHIN_S = 300


def ticked(page: Page, *topologies: str) -> None:
    """These and no others."""
    for box in page.locator("input[name=topology]").all():
        if box.is_enabled():
            box.set_checked(box.get_attribute("value") in topologies)


def filled(page: Page, **numbers: int) -> None:
    for name, value in numbers.items():
        page.locator(f"[name={name}]").fill(str(value))


def put_under_load(page: Page) -> str:
    """The path of what was begun."""
    page.get_by_role("button", name="Put Orders under load").click()
    refused = page.locator(".wrong, .note.crit")
    expect(page.get_by_role("heading", level=1).filter(has_text="#").or_(refused).first).to_be_visible()
    expect(refused).to_have_text([])
    return page.url.partition("/o/demo/")[2]


def await_done(product: Product, paths: Iterable[str]) -> None:
    for path in paths:
        wait_until(lambda: product.get(path)["state"] == "done", f"{path} is done", within_s=RUNS_WITHIN_S)  # noqa: B023


def test_what_a_dba_sends_to_their_boss(loadable_product: Product, visit: Callable[..., Visitor]) -> None:
    product, visitor = loadable_product, visit()
    app = product.lab.addresses["app"]
    product.ask("clusters/orders/benchmarks/", method="PUT", body={"is_on": True, **app})

    page = visitor.go("benchmarks/comparisons/new/?cluster=orders")
    ticked(page, "primary", "standbys", "pgpool:pgpool-1", "pgpools")
    filled(page, repetitions=REPETITIONS, clients=3, duration_s=1, warm_up_s=0, parameter_scale=1)
    four = put_under_load(page)

    visitor.go("benchmarks/comparisons/new/?cluster=orders")
    page.get_by_label("What differs").select_option("pgpools")
    filled(page, repetitions=2, clients=3, duration_s=1, warm_up_s=0, parameter_scale=1)
    sweep = put_under_load(page)

    visitor.go("~benchmarks/endpoints/")
    page.get_by_role("button", name="Try it").first.click()
    expect(page.get_by_text(re.compile("PostgreSQL|answers")).first).to_be_visible()
    visitor.go("benchmarks/comparisons/new/?cluster=orders")
    ticked(page, "primary", "endpoint:pgbouncer")
    filled(page, repetitions=2, clients=3, duration_s=1, warm_up_s=0, parameter_scale=1)
    pooled = put_under_load(page)

    visitor.go("benchmarks/campaigns/new/?cluster=orders")
    ticked(page, "primary", "pgpools")
    page.locator("[name=name]").fill("Nightly reads")
    filled(page, repetitions=2, clients=3, duration_s=1, warm_up_s=0, parameter_scale=1)
    page.get_by_role("button", name="Measure it by this schedule").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nightly reads")
    expect(page.locator("#plan")).to_contain_text("through all pgpools")
    campaign = page.url.partition("/o/demo/")[2]
    page.get_by_role("button", name="Begin a round now").click()
    expect(page.get_by_text("A round has begun.")).to_be_visible()

    visitor.go("benchmarks/new/?cluster=orders&workload=pubsub")
    page.get_by_role("radio", name=re.compile(r"^Primary direct \(")).check()
    filled(
        page, duration_s=2, warm_up_s=0, parameter_writers=1, parameter_groups=1, parameter_readers_per_group=1,
        parameter_partitions=1, parameter_throttle_per_s=100, clients=2,
    )  # fmt: skip
    messaging = put_under_load(page)

    await_done(product, [four, sweep, pooled, messaging])
    wait_until(
        lambda: [one["state"] for one in product.get(campaign)["rounds"]] == ["done"],
        "the round is over", within_s=RUNS_WITHIN_S,
    )  # fmt: skip

    visitor.go(four)
    expect(page.locator(".verdict")).to_contain_text("primary direct")
    expect(page.locator(".forest tbody tr")).to_have_count(4)
    expect(page.locator(".forest")).to_contain_text(f"{REPETITIONS} runs")
    expect(page.locator("course-overlay .ro > span")).to_have_count(4)
    expect(page.get_by_text("These share one machine").first).to_be_visible()
    visitor.go(sweep)
    expect(page.locator("#sweep")).to_contain_text("The rate is highest at pgpools =")
    expect(page.locator("sweep-chart .chart[aria-label*='highest']")).to_be_visible()
    visitor.go(pooled)
    expect(page.locator(".forest")).to_contain_text("pgbouncer")
    visitor.go(messaging)
    expect(page.locator(".verdict")).to_contain_text("messages/s on the primary")
    expect(page.locator(".figs")).to_contain_text("Received")
    visitor.go(campaign)
    expect(page.locator("campaign-trend .ro > span")).to_have_count(2)
    expect(page.locator("#rounds tbody tr")).to_have_count(1)
    page.set_viewport_size({"width": 360, "height": 760})
    visitor.await_true(f"() => ({STICKS_OUT})().length === 0")
