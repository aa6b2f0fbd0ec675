"""A rolling restart by hand: what waits is said, the risk before anything is done, then one pgpool after the other."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import FIRST_WEIGHTS, Product, wait_until

pytestmark = pytest.mark.timeout(400)

WAITING = ("pgpool-2", "pgpool-3")


@pytest.fixture
def waiting(restored: Product) -> Iterator[Product]:
    """Two files say max_pool = 2, and their pgpools use 1 until they are restarted."""
    body = {"per_instance": {name: {"max_pool": "2"} for name in WAITING}}
    asked = restored.ask("clusters/orders/parameters/", method="PUT", body=body)
    assert asked.status == 202, asked
    restored.await_rollout(asked.content["id"], "verified")
    yield restored
    # Only another restart takes it back.
    for name in WAITING:
        conf = restored.conf(name)
        restored.lab.account.file(conf, restored.first_files[conf])
        restored.lab.restart(conf)
    asked = restored.put_weights(FIRST_WEIGHTS, base="live", note="as it was")
    assert asked.status == 202, asked
    restored.await_rollout(asked.content["id"], "verified")
    wait_until(lambda: not restored.get("clusters/orders/restarts/")["waiting"], "nothing waits for a restart")


def test_pgpools_that_wait_are_restarted_one_after_the_other(waiting: Product, visit: Callable[..., Visitor]) -> None:
    page = visit().go("~restarts/")
    expect(page.get_by_role("heading", name="pgpool-2, pgpool-3 wait for a restart.")).to_be_visible()
    expect(page.get_by_role("region", name="What waits for a restart").get_by_role("row")).to_have_count(3)

    page.get_by_role("link", name="Restart one after another…").click()
    expect(page.get_by_text("Restart pgpool-2, then pgpool-3?")).to_be_visible()
    expect(page.locator(".risks")).to_contain_text("The other pgpools serve meanwhile.")
    expect(page.get_by_label("pgpool-1")).not_to_be_checked()
    assert waiting.get("clusters/orders/restarts/")["restart"] is None
    assert [waiting.shown_parameter(name, "max_pool") for name in WAITING] == ["1", "1"]
    page.get_by_label("Why").fill("two per child")
    page.get_by_role("button", name="Restart one after another").click()

    verdict, done = page.locator("[data-restart]"), page.locator("tr[data-restart-step=done]")
    expect(verdict).to_have_attribute("data-restart", "running")
    expect(page.get_by_text("two per child")).to_be_visible()
    expect(done.filter(has_text="pgpool-2")).to_be_visible()
    expect(done.filter(has_text="pgpool-3")).to_be_visible()
    expect(verdict).to_have_attribute("data-restart", "none")
    expect(page.get_by_role("heading", name="No pgpool waits for a restart.")).to_be_visible()
    expect(done).to_have_count(2)
    expect(done.first).to_contain_text("max_pool is 2")
    assert [waiting.shown_parameter(name, "max_pool") for name in (*WAITING, "pgpool-1")] == ["2", "2", "1"]
