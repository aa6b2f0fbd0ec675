"""A real browser before the whole product; whatever a page's console complains of fails the test that saw it."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from psycopg.rows import TupleRow

from deploy.screenshots import browser as chromium
from tests.product import Product, wait_until

PATIENCE_MS = 60_000
# STABLE as it is, pgpool sends it to a standby, where it fails.
MARKED_WRONG = "CREATE FUNCTION takes_note() RETURNS void LANGUAGE sql STABLE AS 'CREATE TABLE noted (at int)'"
COUNT_EVENTS = """
window.heard = {};
document.addEventListener("DOMContentLoaded", () => ["sampled", "series-points", "series-gap"].forEach((name) =>
  document.body.addEventListener(name, () => { window.heard[name] = (window.heard[name] ?? 0) + 1; })));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module: Playwright keeps an event loop in this thread, which other tests must not find there."""
    expect.set_options(timeout=PATIENCE_MS)
    with chromium() as running:
        yield running


@dataclass
class Visitor:
    """One person's browser window. problems: what its console complained of; `expects` names what is meant to be."""

    product: Product
    page: Page
    problems: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expects(self, pattern: str) -> None:
        """A complaint that matches is what this test is about."""
        self.expected.append(pattern)

    def go(self, path: str = "", *, cluster: str = "orders") -> Page:
        """A page of the demo's organisation, or with "~" before it a page of the cluster."""
        path = f"clusters/{cluster}/{path[1:]}" if path.startswith("~") else path
        self.page.goto(f"{self.product.url}/o/demo/{path}")
        return self.page

    def sign_in(self, email: str, password: str) -> None:
        self.page.goto(f"{self.product.url}/accounts/login/")
        self.page.get_by_label("Email").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()

    def show_weights(self) -> Page:
        """The editor once it has read the files, and none of an earlier test's weights is seen any more."""
        self.product.await_first_weights()
        page = self.go("~weights/")
        expect(page.locator("#preview")).to_contain_text("pgpool-1")
        return page

    def type_percent(self, node_id: int, percent: int) -> None:
        field = self.page.locator(f".we[data-node-id='{node_id}'] input[name]")
        field.fill(str(percent))
        field.press("Tab")

    def survey_functions(self, database: str) -> Page:
        page = self.go("~functions/")
        page.get_by_label("Database").fill(database)
        page.get_by_role("button", name="Survey its functions").click()
        return page

    def await_live(self) -> None:
        """Until the page says that it is live."""
        expect(self.page.locator("live-status .live")).to_have_attribute("data-state", "live")

    def await_true(self, expression: str, arg: Any = None) -> None:
        """Playwright's own waiting evaluates a string in the page, which our content security policy forbids."""
        ends_at = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(expression, arg):
            assert time.monotonic() < ends_at, f"did not become true: {expression} of {arg!r}"
            self.page.wait_for_timeout(100)

    def await_heard(self, name: str, count: int = 1) -> None:
        """Until the page has heard so many more of these events."""
        heard = int(self.page.evaluate("(name) => window.heard[name] ?? 0", name))
        self.await_true("([name, count]) => (window.heard[name] ?? 0) >= count", [name, heard + count])

    @property
    def complaints(self) -> list[str]:
        return [one for one in self.problems if not any(re.search(pattern, one) for pattern in self.expected)]


@pytest.fixture
def visit(product: Product, browser: Browser, people: "People") -> Iterator[Callable[..., Visitor]]:
    """visit() is a new window of an admin, visit("viewer") of a viewer, visit(None) of somebody not signed in."""
    opened: list[tuple[BrowserContext, Visitor]] = []

    def make(role: str | None = "admin", **options: Any) -> Visitor:
        window = {"viewport": {"width": 1440, "height": 1000}, "reduced_motion": "reduce", **options}
        context = browser.new_context(storage_state=people.state(browser, role) if role else None, **window)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(COUNT_EVENTS)
        visitor = Visitor(product, context.new_page())
        listen(visitor)
        opened.append((context, visitor))
        return visitor

    yield make
    for context, _ in opened:
        context.close()
    complaints = [one for _, visitor in opened for one in visitor.complaints]
    assert complaints == []


def listen(visitor: Visitor) -> None:
    """A violation of the content security policy is an error in the console too."""
    page = visitor.page
    page.on("pageerror", lambda error: visitor.problems.append(f"{page.url}: {error}"))
    page.on(
        "console",
        lambda said: (
            visitor.problems.append(f"{page.url}: {said.text} ({said.location.get('url')})")
            if said.type in ("error", "warning")
            else None
        ),
    )


@pytest.fixture
def steered(restored: Product) -> Product:
    """With auto_failback on, pgpool would attach a detached standby by itself."""
    body = {"parameters": {"auto_failback": "off"}}
    asked = restored.ask("clusters/orders/parameters/", method="PUT", body=body)
    assert asked.status == 202, asked
    restored.await_rollout(asked.content["id"], "verified")
    return restored


@pytest.fixture
def branch(restored: Product) -> Product:
    register_branch(restored)
    wait_until(lambda: None not in shown_by(restored), "its weights are seen", told=lambda: shown_by(restored))
    return restored


def register_branch(restored: Product) -> None:
    """A cluster of its own: pgpool-1, whose file is published here and brought to its host by others."""
    addresses = restored.lab.addresses
    pgpool = restored.lab.plan.pgpools[0]
    body = {
        "name": "Branch",
        "username": addresses["monitor"]["username"],
        "password": addresses["monitor"]["password"],
        "pgpools": [
            {
                "name": "pgpool-1",
                "host": pgpool.host,
                "port": pgpool.port,
                "delivery": {"kind": "manual", "text": restored.conf("pgpool-1").read_text(encoding="utf-8")},
            }
        ],
    }
    registered = restored.ask("clusters/", method="POST", body=body)
    assert registered.status == 201, registered


def shown_by(product: Product) -> list[float | None]:
    return [node["weight_share"] for node in product.get("clusters/branch/nodes/")["nodes"]] or [None]


@pytest.fixture
def marked_wrong(restored: Product) -> Iterator[psycopg.Connection[TupleRow]]:
    """The database shop has a function that writes and is marked STABLE. A session of its owner, on the primary."""
    with restored.lab.backends.connect(restored.lab.plan.backends[0], "shop") as session:
        session.execute(MARKED_WRONG)
        yield session
        session.execute("DROP FUNCTION takes_note()")


@dataclass
class People:
    """Who has signed in: each role once, through the page; later windows of the role take its session over."""

    product: Product
    states: dict[str, Any] = field(default_factory=dict)

    def credentials(self, role: str) -> tuple[str, str]:
        if role == "admin":
            return self.product.said["email"], self.product.said["password"]
        return self.product.member(role)

    def state(self, browser: Browser, role: str) -> Any:
        if role not in self.states:
            context = browser.new_context()
            context.set_default_timeout(PATIENCE_MS)
            visitor = Visitor(self.product, context.new_page())
            visitor.sign_in(*self.credentials(role))
            expect(visitor.page.get_by_role("heading", name="Fleet")).to_be_visible()
            self.states[role] = context.storage_state()
            context.close()
        return self.states[role]


@pytest.fixture(scope="session")
def people(product: Product) -> People:
    return People(product)
