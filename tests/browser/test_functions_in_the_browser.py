"""Functions that write and are marked wrongly: read on a click, told with the statement that mends them."""

from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import expect
from psycopg.rows import TupleRow

from tests.browser.conftest import Visitor
from tests.product import Product

pytestmark = pytest.mark.timeout(400)

NO_SUCH = "The functions of no_such_database could not be read."


def test_a_function_that_is_marked_wrongly_is_told_until_its_remedy_was_carried_out(
    marked_wrong: psycopg.Connection[TupleRow], visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    page = visitor.survey_functions("no_such_database")
    failed = page.get_by_role("alert").filter(has_text=NO_SUCH)
    expect(failed).to_contain_text("no_such_database")

    visitor.survey_functions("shop")

    finding = page.get_by_role("row").filter(has_text="public.takes_note()")
    expect(finding).to_contain_text("Writes, and is sent to standbys")
    expect(finding).to_contain_text("STABLE")
    expect(failed).to_have_count(0)
    remedy = finding.locator("code").inner_text()
    assert remedy.startswith("ALTER FUNCTION public.takes_note()")

    marked_wrong.execute(remedy)  # type: ignore[call-overload,unused-ignore]  # a text of the page, not of this file
    visitor.survey_functions("shop")

    expect(page.locator("[data-marks]")).to_have_attribute("data-marks", "right")
    expect(page.get_by_text("Writes, and is sent to standbys")).to_have_count(0)


def test_a_viewer_reads_what_was_found_and_asks_for_nothing(product: Product, visit: Callable[..., Visitor]) -> None:
    page = visit("viewer").go("~functions/")

    expect(page.get_by_text("Asking for a survey needs the role operator; you have viewer access.")).to_be_visible()
    expect(page.get_by_role("button", name="Survey its functions")).to_have_count(0)
    expect(page.get_by_role("button", name="Add to my draft")).to_have_count(0)
