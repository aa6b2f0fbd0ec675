"""Errors: problem+json for scripts, pages for people, and neither tells more than it should."""

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from django.test import Client, RequestFactory
from rest_framework import exceptions
from rest_framework.test import APIClient

from controlplane import home
from controlplane.problems import DEEPEST, SHAPE, Problem, problem_answer

JSON = "application/problem+json"


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (Http404("There is no cluster orders."), 404, "not-found"),
        (PermissionDenied("You have viewer access."), 403, "permission-denied"),
        (exceptions.NotAuthenticated(), 401, "not-authenticated"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method-not-allowed"),
        (exceptions.Throttled(wait=3), 429, "throttled"),
        (RequestDataTooBig("Request body exceeded the limit."), 413, "too-large"),
        (OperationalError("connection refused"), 503, "unavailable"),
        (Problem("rollout-running", 409, "Busy", "Rollout 7 is running.", rollout=7), 409, "rollout-running"),
    ],
)
def test_an_error_is_a_problem(error, status, kind):
    answer = problem_answer(error, {})

    assert answer is not None
    assert (answer.status_code, answer.content_type) == (status, JSON)
    assert answer.data["type"] == f"urn:lifeguard:{kind}"
    assert answer.data["status"] == status
    assert set(SHAPE["required"]) <= set(answer.data)


def test_who_sent_no_token_is_told_how_to_send_one():
    answer = problem_answer(exceptions.NotAuthenticated(), {})

    assert answer is not None
    assert "Authorization: Bearer <token>; tokens are made in Settings" in answer.data["detail"]


def test_a_problem_carries_its_facts():
    answer = problem_answer(Problem("rollout-running", 409, "Busy", "Rollout 7 is running.", rollout=7), {})

    assert answer is not None
    assert (answer.data["rollout"], answer.data["detail"]) == (7, "Rollout 7 is running.")


def test_an_invalid_body_names_every_field():
    errors = {"pgpools": [{}, {"port": ["must be 1 to 65535"]}], "name": ["is missing"], "non_field_errors": ["is odd"]}

    answer = problem_answer(exceptions.ValidationError(errors), {})

    assert answer is not None
    assert answer.data["errors"] == [
        {"field": "pgpools.1.port", "reason": "must be 1 to 65535"},
        {"field": "name", "reason": "is missing"},
        {"field": "body", "reason": "is odd"},
    ]


def test_an_unexpected_error_rises():
    assert problem_answer(RuntimeError("boom"), {}) is None


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("{", "not valid JSON"),
        ('{"name": "a", "name": "b"}', "'name' stands there twice"),
        ('{"name": NaN}', "NaN is no number in JSON"),
        ('{"name": Infinity}', "Infinity is no number in JSON"),
        ("\udcff".encode("utf-8", "surrogatepass"), "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_body_that_is_no_json_is_refused(member, body, detail):
    script = APIClient()
    script.force_login(member("admin").user)

    answer = script.post("/api/v1/tokens/", body, content_type="application/json")

    assert answer.status_code == 400
    assert answer["Content-Type"] == JSON
    assert detail in answer.json()["detail"]


def test_a_body_that_is_nested_too_deep_is_refused_with_its_field(member):
    script = APIClient()
    script.force_login(member("admin").user)

    def told(depth):
        body = f'{{"name": {"[" * depth}{"]" * depth}}}'
        return script.post("/api/v1/tokens/", body, content_type="application/json").json()

    assert "deeper" not in told(DEEPEST)["detail"]
    assert told(DEEPEST + 1)["errors"] == [{"field": "name", "reason": "is nested deeper than 32 levels"}]


@pytest.mark.parametrize("body", ["[]", '"text"', "7", "null"])
def test_a_body_that_is_no_object_is_refused(member, body):
    script = APIClient()
    script.force_login(member("admin").user)

    answer = script.post("/api/v1/tokens/", body, content_type="application/json")

    assert answer.status_code == 400
    assert answer["Content-Type"] == JSON


def test_an_unknown_address_of_the_interface_is_a_problem(db):
    answer = Client().get("/api/v1/nothing/")

    assert answer.status_code == 404
    assert answer["Content-Type"] == JSON
    assert answer.json()["type"] == "urn:lifeguard:not-found"


def test_an_unknown_page_does_not_list_the_addresses_there_are(db):
    page = Client().get("/nothing/")

    assert page.status_code == 404
    assert "There is nothing at this address." in page.content.decode()
    assert "tried" not in page.content.decode()


def test_a_failure_is_a_page_without_any_template_logic(db):
    page = home.failed(RequestFactory().get("/o/acme/"))

    assert page.status_code == 500
    assert "This page failed" in page.content.decode()
    assert 'href="/static/failed.css"' in page.content.decode()
    assert "{%" not in page.content.decode()


def test_a_failure_of_the_interface_is_a_problem():
    answer = home.failed(RequestFactory().get("/api/v1/me/"))

    assert answer.status_code == 500
    assert answer["Content-Type"] == JSON


def test_a_form_of_an_earlier_session_is_refused_in_words(client_for, member):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(member("admin").user)

    page = browser.post("/o/acme/settings/tokens/create/", {"name": "ci", "scope": "read", "life_days": "30"})

    assert page.status_code == 403
    assert "This form is from an earlier session." in page.content.decode()


def test_every_page_forbids_foreign_scripts_and_frames(client_for):
    answer = client_for("viewer").get("/o/acme/settings/tokens/")

    policy = answer["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer["X-Frame-Options"] == "DENY"
    assert "<script>" not in answer.content.decode()
    assert " onclick=" not in answer.content.decode()


@pytest.mark.parametrize(
    ("options", "status", "kind"),
    [({}, 413, "too-large"), ({"headers": {"host": "elsewhere.example"}}, 400, "refused")],
)
def test_what_django_itself_refuses_is_a_problem_too(api_client, options, status, kind):
    script = api_client("admin")

    answer = script.generic("POST", "/api/v1/clusters/", b" " * 3_000_000, "application/json", **options)

    assert (answer.status_code, answer["Content-Type"]) == (status, JSON)
    assert answer.json()["type"] == f"urn:lifeguard:{kind}"


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_address_without_its_slash_keeps_its_method(api_client, method):
    script = api_client("admin")

    answer = getattr(script, method)("/api/v1/tokens")

    assert answer.status_code == 308
    assert answer["Location"] == "/api/v1/tokens/"


@pytest.mark.parametrize("accepted", [JSON, "application/json", "text/html, application/problem+json; q=0.5", "*/*"])
@pytest.mark.parametrize(
    ("address", "status", "told_as"), [("me/", 200, "application/json"), ("clusters/none/", 404, JSON)]
)
def test_who_takes_problems_takes_the_answer_too(api_client, accepted, address, status, told_as):
    answer = api_client("viewer").get(f"/api/v1/{address}", headers={"accept": accepted})

    assert (answer.status_code, answer["Content-Type"]) == (status, told_as)


def test_who_takes_no_json_is_told_so(api_client):
    answer = api_client("viewer").get("/api/v1/me/", headers={"accept": "text/html"})

    assert (answer.status_code, answer["Content-Type"]) == (406, JSON)
