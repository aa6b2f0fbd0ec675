"""Pages of an organisation: for its members, each up to their role; for everybody else they are not there."""

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client

from apps.accounts.access import Caller
from apps.accounts.models import ApiToken, AuditEntry, Membership
from apps.accounts.roles import Role, reaches

PAGES = ["/o/acme/", "/o/acme/settings/tokens/", "/o/acme/settings/audit/"]


@pytest.mark.parametrize("path", PAGES)
def test_who_is_not_signed_in_is_sent_to_sign_in(organisation, path):
    assert Client().get(path)["Location"] == f"/accounts/login/?next={path}"


@pytest.mark.parametrize(
    ("shown_at", "comes_back_to"),
    [
        ("http://testserver/o/acme/clusters/orders/?window=300", "/o/acme/clusters/orders/%3Fwindow%3D300"),
        ("https://elsewhere.example/o/acme/", "/"),
    ],
)
def test_a_page_whose_session_ended_goes_to_sign_in_as_a_whole_and_back(organisation, shown_at, comes_back_to):
    fragment = Client().get("/o/acme/fleet/sidebar/", headers={"HX-Request": "true", "HX-Current-URL": shown_at})

    assert fragment.status_code == 200
    assert fragment["HX-Redirect"] == f"/accounts/login/?next={comes_back_to}"
    assert fragment.content == b""


@pytest.mark.parametrize("path", PAGES)
def test_a_member_of_another_organisation_finds_nothing(organisation, other_organisation, client_for, path):
    answer = client_for("admin", of=other_organisation).get(path)

    assert answer.status_code == 404
    assert "Acme" not in answer.content.decode()


@pytest.mark.parametrize("path", PAGES)
def test_a_member_who_left_finds_nothing(client_for, path):
    browser = client_for("admin")
    assert browser.get(path).status_code == 200

    Membership.objects.all().delete()

    assert browser.get(path).status_code == 404


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("operator", 403), ("admin", 200)])
def test_the_audit_trail_is_for_admins(client_for, api_client, role, status):
    page = client_for(role).get("/o/acme/settings/audit/")

    assert page.status_code == status
    assert api_client(role).get("/api/v1/audit/").status_code == status
    if status == 403:
        assert f"You have {role} access; this needs the role admin." in page.content.decode()


@pytest.mark.parametrize(
    ("held", "wanted", "may"),
    [
        ("viewer", "viewer", True),
        ("viewer", "operator", False),
        ("operator", "viewer", True),
        ("operator", "operator", True),
        ("operator", "admin", False),
        ("admin", "operator", True),
        ("admin", "admin", True),
    ],
)
def test_a_role_reaches_all_below_it(held, wanted, may):
    assert reaches(held, wanted) is may


def test_a_read_token_never_reaches_beyond_viewer(caller):
    person = caller("admin")
    by_token = Caller(person.user, person.organisation, person.role, ApiToken(scope="read"))

    assert by_token.may(Role.VIEWER)
    with pytest.raises(PermissionDenied, match="a read token"):
        by_token.require(Role.OPERATOR)


def test_the_frame_shows_who_is_signed_in_and_where(client_for):
    page = client_for("operator").get("/o/acme/").content.decode()

    assert "Operator" in page
    assert 'data-live-topics="organisation.' in page
    assert 'action="/accounts/logout/"' in page


def test_the_frame_offers_every_organisation_of_a_person(client_for, member, other_organisation):
    browser = client_for("admin")
    Membership.objects.create(organisation=other_organisation, user=member("admin").user, role="viewer")

    page = browser.get("/o/acme/").content.decode()

    assert 'href="/o/rival/"' in page


def test_the_audit_trail_is_filtered_and_paged(client_for, api_client, organisation):
    for number in range(60):
        AuditEntry.objects.create(
            organisation=organisation,
            actor_name="Maja",
            action="weights.requested" if number % 2 else "cluster.registered",
            target_type="cluster",
            target_id=str(number),
            target_name=f"orders-{number}",
        )
    script = api_client("admin")

    first = script.get("/api/v1/audit/").json()
    second = script.get(first["next"]).json()

    assert [len(first["results"]), len(second["results"])] == [50, 11]  # 60 and the making of the token
    assert second["next"] is None
    ids = [entry["id"] for entry in first["results"] + second["results"]]
    assert ids == sorted(ids, reverse=True)
    assert len(script.get("/api/v1/audit/?action=weights").json()["results"]) == 30
    assert [each["target_name"] for each in script.get("/api/v1/audit/?target=ERS-59").json()["results"]] == [
        "orders-59"
    ]
    page = client_for("admin").get("/o/acme/settings/audit/?target=orders-59").content.decode()
    assert "orders-59" in page
    assert "orders-58" not in page


@pytest.mark.parametrize("key", ["x", "-1", "1.5", str(2**63), "²"])
def test_a_made_up_page_key_is_refused(api_client, client_for, key):
    answer = api_client("admin").get("/api/v1/audit/", {"before": key})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "before"
    assert client_for("admin").get("/o/acme/settings/audit/", {"before": key}).status_code == 404


def test_a_filter_with_a_nul_matches_nothing(api_client, client_for):
    assert api_client("admin").get("/api/v1/audit/?target=%00").json()["results"] == []
    assert client_for("admin").get("/o/acme/settings/audit/?target=%00").status_code == 200


def test_the_audit_trail_of_another_organisation_stays_there(api_client, other_organisation):
    api_client("admin", of=other_organisation)

    shown = api_client("admin").get("/api/v1/audit/").json()["results"]

    assert [entry["actor_name"] for entry in shown] == ["Admin"]
    assert len(shown) == 1


def test_an_audit_entry_tells_from_where_and_by_which_token(caller):
    from apps.accounts import audit

    person = caller("operator")
    token = ApiToken.objects.create(
        organisation=person.organisation, user=person.user, name="ci", prefix="lg_", digest="0" * 64, scope="write",
        expires_at="2030-01-01T00:00:00Z",
    )  # fmt: skip
    by_token = Caller(person.user, person.organisation, person.role, token, "192.0.2.7")

    entry = audit.record(
        caller=by_token, action="weights.requested", target_type="cluster", target_id=7, target_name="orders"
    )

    assert entry.actor_name == "Operator (token ci)"
    assert (entry.address, entry.target_id) == ("192.0.2.7", "7")


@pytest.mark.parametrize(
    ("claimed", "noted"),
    [("192.0.2.7", "192.0.2.7"), ("2001:db8::7", "2001:db8::7"), ("192.0.2.7:4711", None), ("unknown", None)],
)
def test_what_is_no_address_is_noted_as_none(client_for, claimed, noted):
    form = {"name": "ci", "scope": "read", "life_days": "7"}

    answer = client_for("admin").post("/o/acme/settings/tokens/create/", form, REMOTE_ADDR=claimed)

    assert answer.status_code == 201
    assert AuditEntry.objects.get(action="token.created").address == noted
