"""How long a cache takes to warm up, from the browser: keys and a rate are typed, the sentence and the chart follow."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.browser.test_every_page import STICKS_OUT

pytestmark = pytest.mark.timeout(400)

SPOKEN = "() => document.querySelector('warm-up-chart .chart')?.getAttribute('aria-label') ?? ''"
LABELS = {"keys": "Keys: SELECTs", "per_s": "Cacheable SELECTs", "every_s": "Seconds between"}
LINES = "() => document.querySelectorAll('warm-up-chart .chart .scatterlayer .trace').length"


def work_out(page: Page, **typed: str) -> None:
    for name, text in typed.items():
        page.get_by_label(LABELS[name]).fill(text)
    page.get_by_role("button", name="Work it out").click()


def test_typed_keys_and_a_rate_change_the_sentence_and_the_chart(visit: Callable[..., Visitor]) -> None:
    visitor = visit("viewer")
    page = visitor.go("~cache/?axis=cumulative")
    told = page.locator("#warm-up-told")
    expect(page.get_by_role("heading", name="How long does it take to warm up?")).to_be_visible()
    visitor.await_live()

    work_out(page, keys="50000", per_s="420")
    expect(told).to_contain_text("At 420 cacheable reads/s over 50,000 keys")
    expect(page).to_have_url(re.compile(r"/cache/\?axis=cumulative&keys=50000&per_s=420$"))
    visitor.await_true(f"() => ({SPOKEN})().includes('over 50,000 keys')")
    visitor.await_true(f"() => ({LINES})() >= 2")

    work_out(page, keys="2000", every_s="30")
    expect(told).to_contain_text("At 420 cacheable reads/s over 2,000 keys")
    # 12,600 reads over 2,000 keys between two writes, 6.3 a key: 1 − (1 − e^−6.3) / 6.3 = 84 %
    expect(told).to_contain_text("With a write every 30\u00a0s, each of which drops all entries of the table, 84 % of")
    visitor.await_true(f"() => ({SPOKEN})().includes('over 2,000 keys') && ({SPOKEN})().includes('With a write every')")

    page.reload()
    expect(told).to_contain_text("At 420 cacheable reads/s over 2,000 keys")
    expect(page.get_by_label("Seconds between")).to_have_value("30")
    page.set_viewport_size({"width": 390, "height": 844})
    visitor.await_true(f"() => ({STICKS_OUT})().length === 0")  # once the drawing has followed


def test_what_cannot_be_is_told_beside_its_field(visit: Callable[..., Visitor]) -> None:
    visitor = visit("viewer")
    visitor.expects("status of 422")
    page = visitor.go("~cache/?keys=50000&per_s=420")
    visitor.await_live()

    work_out(page, per_s="0")

    wrong = page.locator("#warm-up .field[data-invalid]")
    expect(wrong).to_contain_text("'0' is not possible; expected a number from 0.001 to 1,000,000,000.")
    expect(page.locator("warm-up-chart")).to_have_count(0)
    work_out(page, per_s="10")
    expect(page.locator("#warm-up-told")).to_contain_text("At 10 cacheable reads/s over 50,000 keys")
    expect(wrong).to_have_count(0)
    visitor.await_true(f"() => ({LINES})() >= 2")


def test_it_is_a_plain_form_without_scripts(visit: Callable[..., Visitor]) -> None:
    page = visit("viewer", java_script_enabled=False).go("~cache/")

    work_out(page, keys="50000", per_s="420")

    expect(page).to_have_url(re.compile(r"/cache/\?keys=50000&per_s=420&write_every_s=#warm-up$"))
    expect(page.locator("#warm-up-told")).to_contain_text("At 420 cacheable reads/s over 50,000 keys")
