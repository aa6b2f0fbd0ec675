"""Registering a cluster through the form: a test that names what fails, then what was found, then the live page."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import Product

pytestmark = pytest.mark.timeout(400)


def test_a_cluster_is_registered_after_a_test_that_named_the_wrong_password(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    lab = restored.lab.addresses
    visitor = visit()
    page = visitor.go()
    page.get_by_role("link", name="Register cluster").click()
    page.get_by_label("Monitoring role").fill(lab["monitor"]["username"])
    page.get_by_label("Password", exact=True).fill("not the password")
    page.get_by_label("Host", exact=True).fill(lab["pgpools"][0]["host"])
    page.get_by_label("Port", exact=True).fill(str(lab["pgpools"][0]["port"]))

    page.get_by_role("button", name="Test connection").click()

    failed = page.locator("#report li[data-step=failed]")
    expect(page.locator("[data-connection=failed]")).to_be_visible()
    expect(failed.first).to_contain_text(re.compile("authenticat", re.IGNORECASE))
    expect(failed.locator("code").first).to_be_visible()

    page.get_by_label("Password", exact=True).fill(lab["monitor"]["password"])
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("[data-connection=ok]")).to_be_visible()
    expect(page.locator("#report tbody tr")).to_have_count(3)

    page.get_by_label("Name", exact=True).last.fill("Second sight")
    page.get_by_role("button", name="Register cluster").click()

    expect(page).to_have_url(f"{restored.url}/o/demo/clusters/second-sight/")
    visitor.await_live()
    expect(page.locator(".be")).to_have_count(3)
    expect(page.locator(".be").nth(2).locator(".num .b")).to_have_text(re.compile(r"\d\s%$"))
    cluster = restored.get("clusters/second-sight/")
    assert [one["delivery"]["kind"] for one in cluster["pgpools"]] == ["observe"]
    refused = restored.ask("clusters/second-sight/weights/", body={"weights": {"0": 0, "1": 1, "2": 3}}, method="PUT")
    assert refused.status == 409, refused
