"""Without a mouse: what has the focus shows it, dialogs let go again. What is chosen stands in the address."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Visitor
from tests.product import Product

pytestmark = pytest.mark.timeout(400)

WALKED = ("~weights/", "~restarts/start/", "~settings/", "registry/")
MOST_STEPS = 90
PARAMETERS = "tr[data-q]:not([hidden]) a.code"
# Of what has the focus: "" at the end of the page, else its tag and words, and whether its outline can be seen.
FOCUSED = """() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return ["", true];
  const style = getComputedStyle(focused);
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const name = focused.getAttribute("aria-label") ?? (focused.textContent.trim() || focused.getAttribute("name"));
  return [`${focused.tagName} ${name}`.slice(0, 60), isSeen];
}"""


@pytest.mark.parametrize("path", WALKED)
def test_what_has_the_focus_shows_it(visit: Callable[..., Visitor], path: str) -> None:
    page = visit().go(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    unseen, walked = [], 0
    for _ in range(MOST_STEPS):
        page.keyboard.press("Tab")
        name, is_seen = page.evaluate(FOCUSED)
        if not name:
            break
        walked += 1
        if not is_seen:
            unseen.append(name)

    assert walked > 10
    assert unseen == []


def test_the_list_of_clusters_comes_anew_and_leaves_the_focus_where_it_is(visit: Callable[..., Visitor]) -> None:
    page = visit().go("~settings/")
    link = page.locator(".side-live a").first
    link.focus()

    with page.expect_response(lambda answer: "sidebar" in answer.url):
        page.evaluate("document.body.dispatchEvent(new CustomEvent('fleet-changed'))")
    expect(page.locator(".side-live.htmx-request, .side-live.htmx-swapping")).to_have_count(0)

    expect(link).to_be_focused()


def test_the_first_key_leads_past_the_navigation(visit: Callable[..., Visitor]) -> None:
    page = visit().go("~drift/")
    expect(page.locator("[data-drift]")).to_be_visible()

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")

    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_a_dialog_takes_the_focus_keeps_it_and_gives_it_back(visit: Callable[..., Visitor]) -> None:
    page = visit().go("~configuration/")
    opener = page.get_by_role("button", name="Go to…")
    opener.focus()
    page.keyboard.press("Enter")
    palette = page.locator("dialog[data-dialog=palette]")
    expect(palette.get_by_role("searchbox")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
        assert not page.evaluate("document.querySelector('main').contains(document.activeElement)")

    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    expect(opener).to_be_focused()

    page.keyboard.press("?")
    shortcuts = page.get_by_role("dialog", name="Shortcuts")
    expect(shortcuts).to_be_visible()
    page.keyboard.press("Escape")
    expect(shortcuts).to_be_hidden()


@pytest.mark.parametrize(
    ("path", "leave"),
    [("~restarts/start/", "Leave them as they are"), ("~backends/2/detach/", "Back to pg3")],
)
def test_what_asks_before_it_acts_is_left_by_keys_and_nothing_was_done(
    product: Product, visit: Callable[..., Visitor], path: str, leave: str
) -> None:
    page = visit().go(path)
    way_out = page.get_by_role("link", name=leave)
    expect(way_out).to_be_visible()

    reach(page, leave)
    page.keyboard.press("Enter")

    expect(way_out).to_have_count(0)
    assert product.get("clusters/orders/restarts/")["restart"] is None
    assert product.node(2)["status"] in ("up", "waiting")


def reach(page: Page, name: str) -> None:
    for _ in range(MOST_STEPS):
        page.keyboard.press("Tab")
        if str(page.evaluate(FOCUSED)[0]).endswith(name):
            return
    pytest.fail(f"{name} cannot be reached with the Tab key")


@pytest.mark.parametrize(
    ("path", "shown", "chosen"),
    [
        ("?view=all&q=ord", "nav.views [aria-current], #fleet tbody tr:not([hidden]) a.name", ["All1", "Orders"]),
        (
            "~configuration/?show=all&group=health_check&q=period",
            f"nav.views [aria-current], select[name=group] option:checked, {PARAMETERS}",
            ["Health check", "health_check_period"],
        ),
        ("~configuration/#max_pool", "details[open] tr[id=max_pool] a.code", ["max_pool"]),
        ("~draft/?name=max_pool#add", "#add h2", ["Change max_pool"]),
        ("~?window=3600&lag=bytes", ".seg [aria-current]", ["1 h", "bytes"]),
        ("~restarts/start/?instance=pgpool-2", "label:has(input[name=instances]:checked)", ["pgpool-2"]),
    ],
)
def test_an_address_shows_the_same_when_it_is_loaded_again(
    visit: Callable[..., Visitor], path: str, shown: str, chosen: list[str]
) -> None:
    visitor = visit()
    page = visitor.go(path)
    there = page.locator(shown)
    expect(there.filter(has_text=chosen[-1]).first).to_be_attached()
    address, before = page.url, words(there)
    assert [one for one in chosen if one not in before] == []

    page.reload()

    expect(there).to_have_text(before)
    assert page.url == address


def words(there: Locator) -> list[str]:
    return [" ".join(each.split()) for each in there.all_text_contents()]


def test_a_filter_that_is_typed_is_part_of_the_address(visit: Callable[..., Visitor]) -> None:
    page = visit().go("~configuration/")
    row = page.locator("tr[id=client_idle_limit]")
    page.get_by_role("searchbox", name="Filter parameters").fill("client_idle")
    expect(row).to_be_visible()

    page.reload()

    expect(page.get_by_role("searchbox", name="Filter parameters")).to_have_value("client_idle")
    expect(row).to_be_visible()
    expect(page.locator("tr[id=max_pool]")).to_be_hidden()
