"""manage.py create_member, create_token, sign_in_link: what they make, print and refuse."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken, AuditEntry, Membership, Organisation, SignInLink, User

pytestmark = pytest.mark.django_db
MAJA = ["--email", "Maja@Acme.example", "--organisation", "acme"]


def run(*arguments: str) -> str:
    printed = StringIO()
    call_command(*arguments, stdout=printed)
    return printed.getvalue()


def told(*arguments: str) -> dict[str, Any]:
    return json.loads(run(*arguments, "--json"))


def test_a_member_is_made_with_their_organisation_and_a_password():
    answer = told("create_member", *MAJA, "--role", "admin", "--create-organisation", "Acme", "--generate")

    membership = Membership.objects.select_related("user", "organisation").get()
    assert membership.user.email == answer["email"] == "maja@acme.example"
    assert (membership.organisation.slug, membership.organisation.name, membership.role) == ("acme", "Acme", "admin")
    assert answer["is_new"] is True
    assert Client().login(email="maja@acme.example", password=answer["password"])
    actions = AuditEntry.objects.order_by("pk").values_list("action", "actor_name")
    assert list(actions) == [
        ("organisation.created", "operator of the installation"),
        ("member.added", "operator of the installation"),
    ]
    assert answer["password"] not in str(AuditEntry.objects.values_list())


def test_asking_again_changes_the_role_and_keeps_the_password(organisation):
    first = told("create_member", *MAJA, "--role", "viewer", "--generate")

    second = told("create_member", *MAJA, "--role", "operator")

    assert (second["is_new"], second["role"], second["password"]) == (False, "operator", None)
    assert Client().login(email="maja@acme.example", password=first["password"])
    assert User.objects.count() == 1
    changed = AuditEntry.objects.get(action="member.changed")
    assert (changed.before, changed.after["role"]) == ({"role": "viewer"}, "operator")


def test_a_password_may_come_from_standard_input(organisation, monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("a long enough secret\n"))

    printed = run("create_member", *MAJA, "--role", "viewer", "--password-stdin")

    assert "a long enough secret" not in printed
    assert Client().login(email="maja@acme.example", password="a long enough secret")


def test_without_a_password_nobody_signs_in_by_one(organisation):
    run("create_member", *MAJA, "--role", "viewer")

    assert not User.objects.get().has_usable_password()


def test_a_weak_password_is_refused_and_nothing_is_made(monkeypatch):
    monkeypatch.setattr("sys.stdin", StringIO("short\n"))

    with pytest.raises(CommandError, match="too short"):
        run("create_member", *MAJA, "--role", "viewer", "--create-organisation", "Acme", "--password-stdin")

    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--email", "maja", "--organisation", "acme", "--role", "viewer"], "valid email"),
        (["--email", "m@acme.example", "--organisation", "other", "--role", "viewer"], "no organisation other"),
        (
            ["--email", "m@acme.example", "--organisation", "a b", "--role", "viewer", "--create-organisation", "A"],
            "slug",
        ),
        (["--email", "m@acme.example", "--organisation", "acme", "--role", "owner"], "invalid choice"),
    ],
)
def test_an_odd_member_is_refused(organisation, arguments, complaint):
    with pytest.raises(CommandError, match=complaint):
        run("create_member", *arguments)

    assert not User.objects.exists()
    assert Organisation.objects.count() == 1


def test_a_printed_link_signs_in(member, settings):
    person = member("viewer").user

    answer = told("sign_in_link", "--email", person.email.upper())

    assert answer["url"].startswith(f"{settings.PUBLIC_URL}/accounts/sign-in/")
    assert Client().post(answer["url"].removeprefix(settings.PUBLIC_URL)).status_code == 303
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor_name) == ("sign_in_link.created", "operator of the installation")
    assert answer["url"].split("/")[-2] not in str(AuditEntry.objects.values_list())
    assert run("sign_in_link", "--email", person.email).startswith(settings.PUBLIC_URL)


def test_there_is_no_link_for_who_cannot_sign_in(member):
    User.objects.filter(pk=member("viewer").user.pk).update(is_active=False)

    with pytest.raises(CommandError, match="Nobody"):
        run("sign_in_link", "--email", "viewer@acme.example")

    assert not SignInLink.objects.exists()


def test_a_printed_token_works(member):
    person = member("operator").user
    wanted = ["--email", person.email, "--organisation", "acme", "--name", "ci", "--scope", "write"]

    answer = told("create_token", *wanted, "--days", "2")

    script = APIClient(headers={"Authorization": f"Bearer {answer['token']}"})
    assert script.get("/api/v1/me/").json()["role"] == "operator"
    assert ApiToken.objects.get().scope == answer["scope"] == "write"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--organisation", "acme", "--days", "366"], "too far away"),
        (["--organisation", "acme", "--days", "0"], "has passed"),
        (["--organisation", "rival"], "no member of rival"),
    ],
)
def test_an_odd_token_is_refused(member, arguments, complaint):
    person = member("operator").user

    with pytest.raises(CommandError, match=complaint):
        run("create_token", "--email", person.email, "--name", "ci", *arguments)

    assert not ApiToken.objects.exists()
