"""Signing in as a person does."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.product import Product

pytestmark = pytest.mark.timeout(400)


def test_a_wrong_password_is_refused_in_words_and_the_right_one_opens_the_fleet(
    product: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit(None)
    page = visitor.page

    visitor.sign_in(product.said["email"], "not the password")

    expect(page.get_by_role("alert")).to_contain_text("not correct")
    expect(page).to_have_url(f"{product.url}/accounts/login/")

    visitor.sign_in(product.said["email"], product.said["password"])

    expect(page).to_have_url(f"{product.url}/o/demo/")
    expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
    expect(page.locator("#fleet").get_by_role("link", name="Orders")).to_be_visible()


def test_a_page_asked_for_before_signing_in_is_shown_afterwards(
    product: Product, visit: Callable[..., Visitor]
) -> None:
    visitor = visit(None)
    page = visitor.go("~weights/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()

    page.get_by_label("Email").fill(product.said["email"])
    page.get_by_label("Password").fill(product.said["password"])
    page.get_by_role("button", name="Sign in").click()

    expect(page).to_have_url(f"{product.url}/o/demo/clusters/orders/weights/")


def test_a_sign_in_link_works_once(product: Product, visit: Callable[..., Visitor]) -> None:
    link = json.loads(product.manage("sign_in_link", f"--email={product.said['email']}", "--json"))["url"]
    first, second = visit(None), visit(None)

    first.page.goto(link)
    first.page.get_by_role("button", name="Sign in as").click()
    expect(first.page.get_by_role("heading", name="Fleet")).to_be_visible()

    second.expects("410|404")
    second.page.goto(link)
    expect(second.page.get_by_role("heading", name="does not work any more")).to_be_visible()
