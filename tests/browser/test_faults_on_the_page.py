"""What breaks in the cluster is seen on its page, without a reload."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import Product

pytestmark = pytest.mark.timeout(400)


def test_a_paused_standby_shows_its_lag_and_a_stopped_one_is_down_and_named_by_the_verdict(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    page = visitor.go("~")
    visitor.await_live()
    pg2, pg3 = page.locator(".be").nth(1), page.locator(".be").nth(2)
    expect(pg2).to_contain_text(re.compile(r"0\.\d\ss behind"))

    restored.lab.pause_replay("pg2")
    expect(pg2).to_contain_text(re.compile(r"\b([2-9]|\d\d)(\.\d)?\ss behind"))

    restored.lab.stop("pg3")
    expect(pg3).to_contain_text("down")
    expect(page.locator("[data-verdict]")).to_contain_text("pg3 is down")
    expect(page.locator(".top").get_by_text("Healthy")).to_have_count(0)
    expect(page.locator("#happened")).to_contain_text("pg3 went down")

    restored.lab.repair()
    expect(pg3).not_to_contain_text("down")
    expect(pg2).to_contain_text(re.compile(r"\b0\.\d\ss behind"))


def test_a_frozen_pgpool_is_shown_as_such_while_the_others_go_on(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    page = visitor.go("~")
    visitor.await_live()
    frozen = page.locator(".tn.pp > div").nth(1)
    expect(frozen).to_contain_text("reads/s")

    restored.lab.freeze("pgpool-2")

    expect(frozen).to_contain_text(re.compile("hanging|unreachable"))
    expect(page.locator(".tn.pp > div").nth(0)).to_contain_text("reads/s")
    visitor.await_heard("sampled", 2)
    visitor.go()
    expect(page.locator("#fleet tbody tr").first).to_contain_text("2/3")
