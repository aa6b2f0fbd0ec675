"""Signing in and out, and one-time links."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import AuditEntry, SignInLink, User
from apps.accounts.sign_in_links import create_link
from apps.accounts.tasks import forget_sessions

PASSWORD = "correct horse battery staple"


@pytest.fixture
def person(member) -> User:
    user = member("operator").user
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(browser: Client, email: str, password: str, **more: str):
    return browser.post(reverse("account_login"), {"login": email, "password": password, **more})


def test_the_right_password_leads_to_the_fleet(person):
    browser = Client()

    answer = sign_in(browser, person.email, PASSWORD)

    assert answer.status_code == 302
    assert answer["Location"] == "/"
    assert browser.get("/")["Location"] == "/o/acme/"


def test_the_address_may_be_typed_in_any_case(person):
    assert sign_in(Client(), person.email.upper(), PASSWORD).status_code == 302


@pytest.mark.parametrize(("email", "password"), [("operator@acme.example", "wrong"), ("nobody@acme.example", PASSWORD)])
def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(person, email, password):
    answer = sign_in(Client(), email, password)

    assert answer.status_code == 200
    assert "The email address and/or password you specified are not correct." in answer.content.decode()


def test_a_barred_person_is_not_signed_in(person):
    User.objects.filter(pk=person.pk).update(is_active=False)
    browser = Client()

    sign_in(browser, person.email, PASSWORD)

    assert "_auth_user_id" not in browser.session


def test_after_too_many_wrong_passwords_even_the_right_one_waits(person):
    browser = Client()
    for _ in range(5):
        sign_in(browser, person.email, "wrong")

    answer = sign_in(browser, person.email, PASSWORD)

    assert "_auth_user_id" not in browser.session
    assert "Too many failed login attempts" in answer.content.decode()


def test_signing_in_goes_on_to_the_page_that_was_asked_for(person):
    browser = Client()
    asked = browser.get("/o/acme/settings/tokens/")
    assert asked["Location"] == "/accounts/login/?next=/o/acme/settings/tokens/"

    page = browser.get(asked["Location"]).content.decode()
    answer = sign_in(browser, person.email, PASSWORD, next="/o/acme/settings/tokens/")

    assert 'name="next" value="/o/acme/settings/tokens/"' in page
    assert answer["Location"] == "/o/acme/settings/tokens/"


def test_signing_in_never_leads_to_another_site(person):
    answer = sign_in(Client(), person.email, PASSWORD, next="https://evil.example/")

    assert answer["Location"] == "/"


def test_signing_out_ends_the_session(client_for):
    browser = client_for("viewer")

    answer = browser.post(reverse("account_logout"))

    assert answer["Location"] == reverse("account_login")
    assert browser.get("/o/acme/").status_code == 302


def test_nobody_can_sign_themselves_up_or_ask_for_a_mail():
    assert Client().get("/accounts/signup/").status_code == 404
    assert Client().get("/accounts/password/reset/").status_code == 404


def test_changing_ones_password_keeps_the_session_and_sends_no_mail(person):
    browser = Client()
    browser.force_login(person)
    wanted = {"oldpassword": PASSWORD, "password1": "quite another secret", "password2": "quite another secret"}

    answer = browser.post(reverse("account_change_password"), wanted)

    assert answer["Location"] == "/"
    assert browser.get("/o/acme/").status_code == 200
    assert sign_in(Client(), person.email, "quite another secret").status_code == 302
    assert mail.outbox == []
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target_name, entry.address) == ("password.changed", person.email, "127.0.0.1")
    assert "quite another secret" not in str(AuditEntry.objects.values_list())


@pytest.mark.parametrize("name", ["account_change_password", "account_logout"])
def test_account_pages_show_their_form(person, name):
    browser = Client()
    browser.force_login(person)

    page = browser.get(reverse(name))

    assert page.status_code == 200
    assert "csrfmiddlewaretoken" in page.content.decode()


def test_who_came_by_link_sets_a_first_password(member):
    user = member("viewer").user
    user.set_unusable_password()
    user.save()
    browser = Client()
    browser.force_login(user)

    answer = browser.get(reverse("account_change_password"), follow=True)

    assert answer.redirect_chain == [(reverse("account_set_password"), 302)]
    assert "Set a password" in answer.content.decode()
    wanted = {"password1": "quite another secret", "password2": "quite another secret"}
    assert browser.post(reverse("account_set_password"), wanted).status_code == 302
    assert sign_in(Client(), user.email, "quite another secret").status_code == 302
    assert AuditEntry.objects.get().action == "password.changed"


def test_a_link_signs_in_once(person):
    url = reverse("sign-in-link", args=[create_link(user=person, now=timezone.now())])
    first, second = Client(), Client()

    looked = first.get(url)
    used = first.post(url)
    again = second.post(url)

    assert person.email in looked.content.decode()
    assert "_auth_user_id" not in second.session
    assert used["Location"] == "/"
    assert first.get("/o/acme/").status_code == 200
    assert again.status_code == 410
    assert second.get(url).status_code == 410


def test_looking_at_a_link_does_not_spend_it(person):
    url = reverse("sign-in-link", args=[create_link(user=person, now=timezone.now())])

    Client().get(url)

    assert SignInLink.objects.get().used_at is None
    assert Client().post(url).status_code == 303


def test_a_link_runs_out_after_15_minutes(person):
    url = reverse(
        "sign-in-link", args=[create_link(user=person, now=timezone.now() - timedelta(minutes=15, seconds=1))]
    )

    assert Client().get(url).status_code == 410
    assert Client().post(url).status_code == 410


def test_a_link_of_a_barred_person_does_not_work(person):
    url = reverse("sign-in-link", args=[create_link(user=person, now=timezone.now())])
    User.objects.filter(pk=person.pk).update(is_active=False)

    assert Client().post(url).status_code == 410


def test_the_key_of_a_link_is_not_stored(person):
    key = create_link(user=person, now=timezone.now())

    assert key not in str(SignInLink.objects.values_list().get())


def test_a_member_of_nothing_is_told_so(db):
    browser = Client()
    browser.force_login(User.objects.create_user("alone@acme.example"))

    answer = browser.get("/")

    assert answer.status_code == 403
    assert "You are a member of no organisation yet" in answer.content.decode()


def test_a_session_that_ran_out_is_forgotten_and_no_other(person):
    gone, here = Client(), Client()
    sign_in(gone, person.email, PASSWORD)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    sign_in(here, person.email, PASSWORD)

    forget_sessions()

    assert [session.pk for session in Session.objects.all()] == [here.cookies["sessionid"].value]
