"""Weights by role, a registry as a file, and the switch that stops all writes, by hand."""

from collections.abc import Callable

import pytest
import yaml
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.conftest import Visitor
from tests.product import NAMES, Product

pytestmark = pytest.mark.timeout(400)

# As the tick stores it that sees a promotion.
A_PROPOSAL = """
from django.utils import timezone
from apps.clusters.models import Cluster, RoleProposal
orders = Cluster.objects.get(slug="orders")
RoleProposal.objects.create(cluster=orders, at=timezone.now(), primary_node_id=0, previous_node_id=1)
"""


def test_weights_by_role_are_wanted_proposed_and_rolled_out(restored: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go("~role-weights/")
    page.get_by_label("Reads on the primary, %").fill("20")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("heading", name="The primary takes 20.0 % of the reads")).to_be_visible()
    assert restored.shown_shares("pgpool-1") == (0.0, 0.5, 0.5)

    restored.manage("shell", "-c", A_PROPOSAL)
    visitor.go("~")
    proposal = page.locator("[data-role-proposal]")
    expect(proposal).to_contain_text("20 %, 40 %, 40 %")
    proposal.get_by_role("button", name="Roll out these weights").click()

    expect(page.locator("[data-rollout-state]")).to_have_attribute("data-rollout-state", "verified")
    assert {name: restored.shown_shares(name) for name in NAMES} == dict.fromkeys(NAMES, (0.2, 0.4, 0.4))
    visitor.go("~")
    expect(page.get_by_role("link", name="Change weights")).to_be_visible()
    expect(proposal).to_have_count(0)


def test_a_registry_file_registers_the_clusters_that_are_new(restored: Product, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go("registry/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    exported = download.value.path().read_text("utf-8")
    assert restored.lab.addresses["monitor"]["password"] not in exported
    secret = f"LIFEGUARD_AFTERNOON_PASSWORD={restored.lab.addresses['monitor']['password']}"

    given = {"name": "afternoon.yaml", "mimeType": "application/yaml", "buffer": with_a_second(exported)}
    assert upload(page, given, secret, do="Preview") == {"orders": "Unchanged", "afternoon": "Created"}
    expect(page.get_by_text("nothing was stored")).to_be_visible()
    assert upload(page, given, secret, do="Import") == {"orders": "Unchanged", "afternoon": "Created"}
    assert upload(page, given, "", do="Import") == {"orders": "Unchanged", "afternoon": "Unchanged"}

    visitor.go("~", cluster="afternoon")
    expect(page.locator(".be")).to_have_count(3)


def with_a_second(exported: str) -> bytes:
    """The file, and in it one more cluster that watches the same servers and writes to none of them."""
    registry = yaml.safe_load(exported)
    second = yaml.safe_load(exported)["clusters"][0]
    second |= {"name": "Afternoon", "slug": "afternoon", "password": {"env": "LIFEGUARD_AFTERNOON_PASSWORD"}}
    second["pgpools"] = [
        {name: pgpool[name] for name in ("name", "host", "port", "az")} | {"delivery": {"kind": "observe"}}
        for pgpool in second["pgpools"]
    ]
    registry["clusters"].append(second)
    return yaml.safe_dump(registry, sort_keys=False).encode()


def upload(page: Page, given: FilePayload, secret: str, *, do: str) -> dict[str, str]:
    """Slug -> what became of it."""
    page.get_by_label("Registry file").set_input_files(given)
    page.get_by_label("Secrets").fill(secret)
    page.get_by_role("button", name=do).click()
    head = "What importing would do" if do == "Preview" else "What was imported"
    expect(page.get_by_role("heading", name=head)).to_be_visible()
    rows = page.locator("#results tbody tr").all()
    return {row.locator("td").nth(0).inner_text(): row.locator("td").nth(1).inner_text() for row in rows}


def test_writes_stopped_by_one_are_seen_at_once_on_anothers_page(
    restored: Product, visit: Callable[..., Visitor]
) -> None:
    other = visit("viewer")
    bystander = other.go("~weights/")
    other.await_live()
    page = visit().go("writes/")
    banner = bystander.get_by_role("alert").filter(has_text="Writes are stopped")
    expect(banner).to_have_count(0)

    page.get_by_label("Why, for those who meet the banner").fill("storage maintenance")
    page.get_by_role("button", name="Stop all writes").click()

    expect(banner).to_contain_text("storage maintenance")
    refused = restored.put_weights({"0": 1, "1": 1, "2": 1})
    assert refused.status == 409, refused
    assert restored.changed_files() == []

    page.get_by_role("button", name="Allow writes").click()
    expect(banner).to_have_count(0)
