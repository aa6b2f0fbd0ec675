"""A cluster that is switched to observe only: watched as before, offered nothing that writes, and back again."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import FIRST_WEIGHTS, Product

pytestmark = pytest.mark.timeout(400)

SENTENCE = "Branch is observe only: Lifeguard watches it and never writes to its pgpools."
CONTROLS = (
    ("~", "Change weights"),
    ("~weights/", "Different on each pgpool"),
    ("~backends/2/", "Drain"),
    ("~backends/2/", "Detach at once"),
    ("~configuration/", "Change max_pool"),
    ("~restarts/", "Restart pgpools all the same"),
)


def see_controls(visitor: Visitor, count: int) -> None:
    """Each of them so often, folded away or not."""
    for path, name in CONTROLS:
        page = visitor.go(path, cluster="branch")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("link", name=name, include_hidden=True)).to_have_count(count)


def test_a_cluster_that_is_observed_only_offers_nothing_that_writes_and_refuses_what_was_open(
    branch: Product, visit: Callable[..., Visitor]
) -> None:
    visitor, earlier = visit(), visit()
    see_controls(visitor, 1)
    opened = earlier.go("~weights/", cluster="branch")
    expect(opened.locator("#preview")).to_contain_text("pgpool-1")

    page = visitor.go("~settings/", cluster="branch")
    panel = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Observe only"))
    panel.get_by_text("Watch Branch and never write to it").click()
    panel.get_by_label("Type branch to confirm").fill("branch")
    panel.get_by_role("button", name="Observe only").click()

    expect(page.get_by_text("Branch is observe only. How its files were delivered is forgotten.")).to_be_visible()
    see_controls(visitor, 0)
    visitor.go("~weights/", cluster="branch")
    expect(page.get_by_role("button", name="Start rollout")).to_be_disabled()
    expect(page.locator("#why-not")).to_contain_text("observe only")
    earlier.expects("status of 422")
    earlier.type_percent(1, 25)
    opened.get_by_role("button", name="Start rollout").click()
    expect(opened.get_by_role("alert").filter(has_text=SENTENCE)).to_be_visible()
    refused = branch.ask("clusters/branch/weights/", method="PUT", body={"weights": FIRST_WEIGHTS})
    assert (refused.status, refused.content["detail"]) == (409, SENTENCE)
    assert branch.get("clusters/branch/rollouts/")["results"] == []
    visitor.go("~", cluster="branch")
    visitor.await_live()
    expect(page.locator(".be")).to_have_count(3)

    visitor.go("~settings/", cluster="branch")
    page.get_by_role("button", name="Make changes possible again").click()

    expect(page.get_by_text("Changes are possible again, once every pgpool has a delivery.")).to_be_visible()
    assert branch.get("clusters/branch/")["observe_only"] is False
