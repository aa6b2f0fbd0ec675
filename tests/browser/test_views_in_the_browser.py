"""Who sees what otherwise: a backend that one pgpool alone gave up, and pgpools whose watchdogs do not agree."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor
from tests.fake_pgpool import FakePgpool
from tests.product import NAMES, Product

pytestmark = pytest.mark.timeout(400)

PG3 = 2
TOLD = Path(__file__).parents[1] / "captured" / "pgpool-4.3.5" / "watchdog"


def cell(page: Page, table: str, row: str, column: str) -> Locator:
    rows = page.locator(f"{table} tbody tr").filter(has=page.locator("th", has_text=row))
    return rows.locator(f"td[data-l='{column}']")


def test_a_backend_that_one_pgpool_gave_up_is_told_with_what_mends_it(
    steered: Product, visit: Callable[..., Visitor]
) -> None:
    page = visit().go("~disagreements/")
    verdict, finding = page.locator("[data-agreement]"), page.locator(".note.warn")
    expect(verdict).to_have_attribute("data-agreement", "agree")
    expect(page.locator("[data-watchdog]")).to_have_attribute("data-watchdog", "off")
    table = "table.sight >> nth=0 >> "
    table, pgpool = "section:not(#watchdog) > table", steered.lab.plan.pgpools[1]

    steered.lab.pgpools.detach(pgpool, PG3)

    expect(verdict).to_have_attribute("data-agreement", "disagree")
    expect(finding).to_contain_text("pgpool-2 holds pg3 for down, but PostgreSQL answers there.")
    expect(finding).to_contain_text("Wrong: pgpool-2.")
    expect(finding).to_contain_text("Attach it on the page of pg3, or by POST …/backends/2/attach/")
    expect(cell(page, table, "pg3", "pgpool-2")).to_contain_text("≠ down")
    expect(cell(page, table, "pg3", "pgpool-1")).not_to_contain_text("≠")
    expect(cell(page, table, "pg3", "PostgreSQL itself")).to_contain_text("answers")

    steered.lab.pgpools.attach(pgpool, PG3)

    expect(verdict).to_have_attribute("data-agreement", "agree")
    expect(finding).to_have_count(0)


@pytest.fixture
def trio(restored: Product) -> Iterator[dict[str, FakePgpool]]:
    """A cluster of three pgpools that tell of their watchdog what real ones told, each of its own."""
    with ExitStack() as running:
        pgpools = {name: running.enter_context(FakePgpool().running()) for name in NAMES}
        for name in NAMES:
            tell(pgpools, name, "all-up")
        body = {
            "name": "Trio",
            "username": "lifeguard",
            "password": "secret",
            "pgpools": [
                {
                    "name": name,
                    "host": pgpool.host,
                    "port": pgpool.port,
                    "pcp": {"port": pgpool.pcp_port, "user": pgpool.pcp_username, "password": pgpool.pcp_password},
                }
                for name, pgpool in pgpools.items()
            ],
        }
        registered = restored.ask("clusters/", method="POST", body=body)
        assert registered.status == 201, registered
        yield pgpools


def tell(pgpools: dict[str, FakePgpool], name: str, scene: str) -> None:
    pgpools[name].watchdog = (TOLD / f"{scene}.{name}.message").read_bytes().removeprefix(b"w ")


def test_watchdogs_that_name_two_leaders_are_told_with_what_mends_it(
    trio: dict[str, FakePgpool], visit: Callable[..., Visitor]
) -> None:
    page = visit().go("~disagreements/", cluster="trio")
    verdict, table = page.locator("[data-watchdog]"), "#watchdog table"
    expect(verdict).to_have_attribute("data-watchdog", "agree")
    expect(page.locator("#watchdog thead").get_by_text("quorum present")).to_have_count(3)
    expect(cell(page, table, "pgpool-1", "pgpool-3")).to_contain_text("leader")
    expect(cell(page, table, "pgpool-2", "pgpool-1")).to_contain_text("standby")

    for name in ("pgpool-2", "pgpool-3"):
        tell(trio, name, "leader-killed")

    split = page.locator(".note.warn").filter(has_text="Split brain")
    expect(split).to_contain_text("pgpool-1 and pgpool-2 each hold themselves for the leader of the watchdog")
    expect(verdict).to_have_attribute("data-watchdog", "disagree")
    expect(cell(page, table, "pgpool-1", "pgpool-1")).to_contain_text("leader")
    expect(cell(page, table, "pgpool-1", "pgpool-2")).to_contain_text("lost")

    for name in NAMES:
        tell(trio, name, "all-up")

    expect(split).to_have_count(0)
    expect(verdict).to_have_attribute("data-watchdog", "agree")
    expect(cell(page, table, "pgpool-1", "pgpool-2")).to_contain_text("leader")
