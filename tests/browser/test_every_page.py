"""What holds for every page: nothing sticks out of a narrow window, dark is dark, keys work, roles are respected."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.product import FIRST_WEIGHTS, Product

pytestmark = pytest.mark.timeout(400)

PAGES = (
    "", "~", "~weights/", "~weights/each/", "~role-weights/", "~configuration/", "~draft/", "~history/", "~drift/",
    "~disagreements/", "~restarts/", "~restarts/start/", "~functions/", "~cache/",
    "~backends/2/", "~backends/2/detach/", "~events/", "~settings/",
    "benchmarks/", "benchmarks/new/", "~benchmarks/allow/", "~benchmarks/endpoints/", "benchmarks/comparisons/",
    "benchmarks/comparisons/new/", "benchmarks/comparisons/pick/", "benchmarks/campaigns/new/", "benchmarks/imports/",
    "rollouts/", "registry/", "writes/", "ssh-key/", "clusters/register/", "settings/tokens/", "settings/audit/",
)  # fmt: skip
NARROW = {"viewport": {"width": 360, "height": 760}}
# The window's width, and what lies beyond it without an ancestor that scrolls or cuts it off.
STICKS_OUT = """() => {
  const isHeld = (element) => {
    for (let each = element.parentElement; each && each !== document.body; each = each.parentElement)
      if (getComputedStyle(each).overflowX !== "visible") return true;
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1 && each.checkVisibility() && !isHeld(each))
    .map((each) => `${each.tagName}.${each.getAttribute("class")}: ${each.textContent.trim().slice(0, 40)}`);
}"""


def luminance(page: Page, property_name: str) -> float:
    """Of a colour of the body, 0 (black) to 1 (white)."""
    return float(
        page.evaluate(
            """(name) => {
              const context = document.createElement("canvas").getContext("2d");
              context.fillStyle = getComputedStyle(document.body)[name];
              context.fillRect(0, 0, 1, 1);
              const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
              return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
            }""",
            property_name,
        )
    )


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_a_narrow_window(visit: Callable[..., Visitor], path: str) -> None:
    page = visit(**NARROW).go(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle") if path != "~" else page.locator(".js-plotly-plot").first.wait_for()

    assert page.evaluate(STICKS_OUT) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_tab_of_a_page_is_in_view_on_a_narrow_screen(visit: Callable[..., Visitor]) -> None:
    page = visit(**NARROW).go("~settings/")

    expect(page.get_by_role("navigation", name="Orders").get_by_role("link", name="Settings")).to_be_in_viewport()


def test_a_rollout_is_not_wider_than_its_window(restored: Product, visit: Callable[..., Visitor]) -> None:
    rollout = restored.change_weights(FIRST_WEIGHTS)

    page = visit(**NARROW).go(f"rollouts/{rollout['id']}/")

    expect(page.locator("[data-rollout-state=verified]")).to_be_visible()
    assert page.evaluate(STICKS_OUT) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".reads-stand")).to_contain_text("session")
    assert page.evaluate(STICKS_OUT) == []


def test_a_system_that_is_dark_gets_dark_pages_and_the_switch_turns_them_light_for_good(
    visit: Callable[..., Visitor],
) -> None:
    visitor = visit(color_scheme="dark")
    page = visitor.go()
    assert luminance(page, "backgroundColor") < 0.2
    assert luminance(page, "color") > 0.6

    page.locator("[data-theme-switch]:visible").first.click()
    assert luminance(page, "backgroundColor") > 0.8
    visitor.go("~")
    assert luminance(page, "backgroundColor") > 0.8
    assert luminance(page, "color") < 0.4


def test_the_fleet_is_walked_by_keys_and_filtered_as_one_types(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go()
    row = page.locator("#fleet tbody tr").first
    expect(row).to_be_visible()

    page.keyboard.press("/")
    page.keyboard.type("no such cluster")
    expect(row).to_be_hidden()
    expect(page.get_by_text("No cluster of this view has these words.")).to_be_visible()
    expect(page).to_have_url(f"{visitor.product.url}/o/demo/?q=no+such+cluster")
    page.get_by_role("searchbox", name="Filter clusters").fill("ord")
    expect(row).to_be_visible()
    expect(page.get_by_text("No cluster of this view has these words.")).to_be_hidden()
    page.keyboard.press("Escape")

    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("tr[data-cur]")).to_have_count(1)
    page.keyboard.press("w")
    expect(page).to_have_url(f"{visitor.product.url}/o/demo/clusters/orders/weights/")

    visitor.go()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{visitor.product.url}/o/demo/clusters/orders/")


def test_the_palette_goes_anywhere(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.go("rollouts/")
    # The clusters come into the side bar by themselves.
    expect(page.locator(".side").get_by_role("link", name="Orders")).to_be_visible()

    page.keyboard.press("Control+k")
    palette = page.locator("dialog[data-dialog=palette]")
    expect(palette).to_be_visible()
    page.keyboard.type("orde")
    expect(palette.get_by_role("link")).to_have_count(1)
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{visitor.product.url}/o/demo/clusters/orders/")


def test_a_viewer_sees_everything_and_can_change_nothing(visit: Callable[..., Visitor]) -> None:
    visitor = visit("viewer")
    page = visitor.go("~")
    expect(page.locator("[data-verdict]")).to_be_visible()
    expect(page.get_by_role("link", name="Change weights")).to_have_count(0)
    expect(page.get_by_role("link", name="See the weights")).to_be_visible()

    visitor.go("~weights/")
    expect(page.get_by_role("button", name="Start rollout")).to_be_disabled()
    expect(page.get_by_role("main")).to_contain_text("operator")

    visitor.go("~settings/")
    expect(page.get_by_text("You have viewer access")).to_be_visible()
    expect(page.get_by_role("button", name="Test and store")).to_have_count(0)

    visitor.go()
    expect(page.get_by_role("link", name="Register cluster")).to_have_count(0)
    visitor.expects("403")
    visitor.go("clusters/register/")
    expect(page.get_by_role("heading", name="Register a cluster")).to_have_count(0)
