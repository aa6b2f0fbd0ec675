"""A file that somebody else brings to its host: shown and served exactly, waited for, verified, and told of after."""

import json
import urllib.request
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import NAMES, Product

pytestmark = pytest.mark.timeout(400)

MOVED_SHARES = (0.0, 0.25, 0.75)


def fetched(product: Product, address: str) -> str:
    """As curl of whatever applies the file."""
    request = urllib.request.Request(  # noqa: S310  always http://127.0.0.1
        f"{product.url}{address}", headers={"Authorization": f"Bearer {product.said['api_token']}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return str(answer.read().decode())


def test_what_is_published_is_waited_for_and_verified_once_it_is_applied(
    branch: Product, visit: Callable[..., Visitor]
) -> None:
    visitor, conf = visit(), branch.conf("pgpool-1")
    before = conf.read_text(encoding="utf-8")
    page = visitor.go("~weights/", cluster="branch")
    expect(page.locator("#preview")).to_contain_text("pgpool-1")
    visitor.type_percent(1, 25)
    page.get_by_role("button", name="Start rollout").click()

    step = page.locator(".ro-grid")
    expect(step).to_contain_text("is published for pgpool-1")
    expect(step).to_contain_text("Published")
    expect(step).to_contain_text("By others")
    rollout = page.url
    assert (conf.read_text(encoding="utf-8"), branch.shown_shares("pgpool-1")) == (before, (0.0, 0.5, 0.5))
    step.get_by_role("link", name="What is published").click()
    expect(page.get_by_text("Whoever applies this file on its host reloads pgpool")).to_be_visible()
    shown = page.get_by_label("pgpool.conf of pgpool-1").text_content()
    served = fetched(branch, page.get_by_label("Where to fetch it").locator("code").inner_text())
    assert shown is not None
    lines = zip(shown.splitlines(), served.splitlines(), strict=True)
    assert {mine.partition(" ")[0] for mine, exact in lines if mine != exact} <= {
        "sr_check_password", "health_check_password", "recovery_password", "wd_authkey"
    }  # fmt: skip

    branch.lab.account.file(conf, served)
    branch.lab.pgpools.reload(branch.lab.plan.pgpools[0])

    page.goto(rollout)
    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert branch.shown_shares("pgpool-1") == MOVED_SHARES
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as JSON").click()
    [receipt] = json.loads(download.value.path().read_text("utf-8"))["receipts"]
    assert receipt["instance"] == NAMES[0]
    assert {each["state"] for each in receipt["values"]} == {"live"}
