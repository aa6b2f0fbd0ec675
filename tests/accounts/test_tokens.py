"""API tokens: what each may do, until when, and that the secret is seen once."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken, AuditEntry, Membership, User
from apps.accounts.tokens import TokenRefused, create_token, digest


def later(days: float = 1) -> str:
    return (timezone.now() + timedelta(days=days)).isoformat()


def signed_in(member, role: str) -> APIClient:
    script = APIClient()
    script.force_login(member(role).user)
    return script


def test_a_token_is_stored_as_a_digest_only(caller):
    now = timezone.now()

    token, secret = create_token(caller=caller(), name="ci", scope="read", expires_at=now + timedelta(days=1), now=now)

    row = ApiToken.objects.values().get(pk=token.pk)
    assert row["digest"] == digest(secret)
    assert secret not in str(row)
    assert row["prefix"] == secret[:10]


@pytest.mark.parametrize("days", [0, -1, 366])
def test_a_token_lives_between_now_and_a_year(caller, days):
    now = timezone.now()

    with pytest.raises(TokenRefused, match="expires_at"):
        create_token(caller=caller(), name="ci", scope="read", expires_at=now + timedelta(days=days), now=now)

    assert not ApiToken.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_me_tells_whom_a_token_speaks_for(api_client, role):
    answer = api_client(role, scope="read").get("/api/v1/me/")

    assert answer.status_code == 200
    assert answer.json()["role"] == role
    assert answer.json()["email"] == f"{role}@acme.example"
    assert answer.json()["organisation"] == {"slug": "acme", "name": "Acme"}
    assert answer.json()["token"]["scope"] == "read"


@pytest.mark.parametrize(
    ("header", "detail"),
    [
        ("Bearer lg_unknown", "unknown or was revoked"),
        ("Bearer", "must read: Bearer <token>"),
        ("Bearer two words", "must read: Bearer <token>"),
        ("Bearer \xff", "unknown or was revoked"),
    ],
)
def test_a_bad_authorization_header_is_refused(db, header, detail):
    answer = APIClient(headers={"Authorization": header}).get("/api/v1/me/")

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert answer["Content-Type"] == "application/problem+json"
    assert detail in answer.json()["detail"]


def test_without_signing_in_there_is_no_answer(db):
    answer = APIClient().get("/api/v1/me/")

    assert answer.status_code == 401
    assert answer.json()["type"] == "urn:lifeguard:not-authenticated"


def test_a_token_ends_at_its_expiry(api_client):
    script = api_client()
    ApiToken.objects.update(expires_at=timezone.now())

    answer = script.get("/api/v1/me/")

    assert answer.status_code == 401
    assert "expired" in answer.json()["detail"]


def test_a_revoked_token_is_refused(api_client):
    script = api_client()
    ApiToken.objects.update(revoked_at=timezone.now())

    assert script.get("/api/v1/me/").status_code == 401


def test_the_token_of_a_member_who_left_is_refused(api_client):
    script = api_client()
    Membership.objects.all().delete()

    answer = script.get("/api/v1/me/")

    assert answer.status_code == 401
    assert "left the organisation" in answer.json()["detail"]


def test_the_token_of_a_barred_person_is_refused(api_client):
    script = api_client()
    User.objects.update(is_active=False)

    assert script.get("/api/v1/me/").status_code == 401


def test_a_token_follows_the_role_of_its_member(api_client):
    script = api_client("admin")
    assert script.get("/api/v1/audit/").status_code == 200

    Membership.objects.update(role="viewer")

    assert script.get("/api/v1/audit/").status_code == 403


def test_a_token_speaks_for_its_own_organisation_only(api_client, member, other_organisation):
    script = api_client("admin")
    Membership.objects.create(organisation=other_organisation, user=member("admin").user, role="admin")

    assert script.get("/api/v1/me/").json()["organisation"]["slug"] == "acme"
    assert script.get("/api/v1/me/?organisation=rival").status_code == 404


def test_a_session_of_several_organisations_must_say_which(member, other_organisation):
    script = signed_in(member, "admin")
    Membership.objects.create(organisation=other_organisation, user=member("admin").user, role="viewer")

    unsaid = script.get("/api/v1/me/")

    assert unsaid.status_code == 403
    assert "?organisation=<slug>" in unsaid.json()["detail"]
    assert script.get("/api/v1/me/?organisation=rival").json()["role"] == "viewer"
    assert script.get("/api/v1/me/?organisation=nowhere").status_code == 404


def test_a_session_makes_a_token_and_sees_it_once(member):
    script = signed_in(member, "viewer")

    made = script.post("/api/v1/tokens/", {"name": "ci", "scope": "write", "expires_at": later()})

    assert made.status_code == 201
    secret = made.json()["token"]
    assert APIClient(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/me/").status_code == 200
    assert secret not in script.get("/api/v1/tokens/").content.decode()
    entry = AuditEntry.objects.get(action="token.created")
    assert (entry.actor_name, entry.target_name, entry.after["scope"]) == ("Viewer", "ci", "write")
    assert secret not in str(AuditEntry.objects.values_list())


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scope": "read", "expires_at": later()}, "name"),
        ({"name": "ci", "scope": "all", "expires_at": later()}, "scope"),
        ({"name": "ci", "scope": "read", "expires_at": "soon"}, "expires_at"),
        ({"name": "ci", "scope": "read", "expires_at": later(-1)}, "expires_at"),
        ({"name": "ci", "scope": "read", "expires_at": later(400)}, "expires_at"),
        ({"name": "c" * 81, "scope": "read", "expires_at": later()}, "name"),
    ],
)
def test_a_token_that_cannot_be_made_names_the_field(member, body, field):
    answer = signed_in(member, "admin").post("/api/v1/tokens/", body)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not ApiToken.objects.exists()


def test_a_token_cannot_make_tokens(api_client):
    answer = api_client("admin").post("/api/v1/tokens/", {"name": "ci", "scope": "read", "expires_at": later()})

    assert answer.status_code == 403
    assert "cannot make tokens" in answer.json()["detail"]
    assert ApiToken.objects.count() == 1


def test_everybody_sees_their_own_tokens_and_an_admin_all(api_client):
    names = {role: api_client(role).get("/api/v1/tokens/").json()["results"] for role in ("viewer", "admin")}

    assert [token["name"] for token in names["viewer"]] == ["viewer write"]
    assert [token["name"] for token in names["admin"]] == ["admin write", "viewer write"]


def test_a_token_revokes_itself(api_client):
    script = api_client("viewer")

    answer = script.delete(f"/api/v1/tokens/{ApiToken.objects.get().pk}/")

    assert answer.status_code == 204
    assert script.get("/api/v1/me/").status_code == 401
    assert AuditEntry.objects.filter(action="token.revoked").count() == 1


def test_a_read_token_revokes_nothing(api_client):
    script = api_client("admin", scope="read")

    answer = script.delete(f"/api/v1/tokens/{ApiToken.objects.get().pk}/")

    assert answer.status_code == 403
    assert ApiToken.objects.get().revoked_at is None


def test_a_member_cannot_revoke_the_token_of_another(api_client):
    api_client("admin")
    theirs = ApiToken.objects.get()

    assert api_client("operator").delete(f"/api/v1/tokens/{theirs.pk}/").status_code == 404


def test_a_token_of_another_organisation_is_not_there(api_client, other_organisation):
    api_client("admin", of=other_organisation)
    theirs = ApiToken.objects.get()

    assert api_client("admin").get(f"/api/v1/tokens/{theirs.pk}/").status_code == 404


def test_a_write_by_session_needs_the_csrf_header(member):
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(member("admin").user)

    answer = browser.post("/api/v1/tokens/", {"name": "ci", "scope": "read", "expires_at": later()})

    assert answer.status_code == 403
    assert "CSRF" in answer.json()["detail"]
    assert not ApiToken.objects.exists()


def test_using_a_token_is_remembered(api_client):
    script = api_client()
    assert ApiToken.objects.get().latest_used_at is None

    script.get("/api/v1/me/")

    assert ApiToken.objects.get().latest_used_at is not None


def test_the_page_shows_a_new_token_once(client_for):
    browser: Client = client_for("operator")

    made = browser.post("/o/acme/settings/tokens/create/", {"name": "ci", "scope": "read", "life_days": "30"})

    token = ApiToken.objects.get()
    assert made.status_code == 201
    assert made["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    assert token.prefix in made.content.decode()
    secret = made.content.decode().split("data-secret>")[1].split("<")[0]
    assert digest(secret) == token.digest
    listed = browser.get("/o/acme/settings/tokens/").content.decode()
    assert token.prefix in listed
    assert secret not in listed


def test_the_page_says_what_is_wrong_with_a_token(client_for):
    answer = client_for("operator").post(
        "/o/acme/settings/tokens/create/", {"name": "", "scope": "all", "life_days": "9"}
    )

    assert answer.status_code == 422
    assert "This field is required." in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_the_page_revokes_a_token(client_for, api_client):
    script = api_client("operator")
    browser = client_for("operator")

    answer = browser.post(f"/o/acme/settings/tokens/{ApiToken.objects.get().pk}/revoke/")

    assert answer.status_code == 303
    assert script.get("/api/v1/me/").status_code == 401
    assert "is revoked" in browser.get(answer["Location"]).content.decode()


def test_the_page_does_not_revoke_the_token_of_another(client_for, api_client):
    api_client("admin")

    answer = client_for("operator").post(f"/o/acme/settings/tokens/{ApiToken.objects.get().pk}/revoke/")

    assert answer.status_code == 404
    assert ApiToken.objects.get().revoked_at is None
