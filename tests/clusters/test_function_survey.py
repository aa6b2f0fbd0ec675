"""A survey of functions: a row that any worker carries out, on a real PostgreSQL; what pages and REST say of it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.clusters.control import function_survey
from apps.clusters.models import Backend, Cluster, FunctionSurvey
from tests.clusters.callers_at_doors import browser, member, script

pytestmark = pytest.mark.django_db

REST = "/api/v1/clusters/orders/functions/"
FUNCTIONS = """
CREATE SCHEMA survey;
CREATE TABLE survey.log (at int);
CREATE FUNCTION survey.logs() RETURNS void LANGUAGE sql STABLE AS 'INSERT INTO survey.log VALUES (1)';
CREATE FUNCTION survey.asks() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN PERFORM survey.logs(); RETURN 1; END';
CREATE FUNCTION survey.runs(what text) RETURNS void LANGUAGE plpgsql STABLE AS 'BEGIN EXECUTE what; END';
CREATE FUNCTION survey.runs_volatile(what text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE what; END';
CREATE FUNCTION survey.plain() RETURNS int LANGUAGE sql AS 'SELECT 1';
"""


@pytest.fixture
def place(db: None) -> Iterator[dict[str, Any]]:
    """Lifeguard's own server stands for a backend; the functions are dropped again."""
    facts = connection.get_connection_params()
    wanted = {name: facts[name] for name in ("dbname", "user", "password", "host", "port") if facts.get(name)}
    with psycopg.connect(**wanted, autocommit=True) as session:
        session.execute("DROP SCHEMA IF EXISTS survey CASCADE")
        session.execute(FUNCTIONS)
        yield wanted
        session.execute("DROP SCHEMA survey CASCADE")


@pytest.fixture
def cluster(place: dict[str, Any]) -> Cluster:
    operator = member("operator")
    made = Cluster.objects.create(
        organisation=operator.organisation,
        slug="orders",
        name="Orders",
        username=place["user"],
        password=place.get("password", ""),
    )
    Backend.objects.create(cluster=made, node_id=0, hostname="127.0.0.1", port=1, application_name="down")
    Backend.objects.create(
        cluster=made, node_id=1, hostname=place["host"], port=int(place["port"]), application_name="pg2"
    )
    return made


def test_a_survey_is_asked_for_carried_out_and_shown(cluster: Cluster, place: dict[str, Any]) -> None:
    asker = script("admin")
    assert asker.get(REST).json() == {
        "latest": None, "shown": None, "verdict": "not_read", "databases": [],
        "sentence": "The functions of Orders have not been read yet.",
        "reading": "Not read yet: nobody has asked for a survey.",
        "proposal": {"write_function_list": None, "unlisted": [], "read": [], "unread": None, "warning": ""},
        "trusted": {"sentence": "", "functions": []},
    }  # fmt: skip
    viewer, address = browser("viewer"), "/o/acme/clusters/orders/functions/"
    assert "have not been read yet" in viewer.get(address).content.decode()

    answer = asker.post(f"{REST}survey/", {"database": place["dbname"]})
    assert (answer.status_code, answer.json()["state"]) == (202, "pending")
    assert asker.post(f"{REST}survey/", {"database": "other"}).json()["id"] == answer.json()["id"]
    [due] = function_survey.due_survey_ids()
    function_survey.carry_out(survey_id=due, holder="worker", now=timezone.now())

    shown = asker.get(REST).json()["shown"]
    assert (shown["state"], shown["backend"], function_survey.due_survey_ids()) == ("done", "pg2", [])
    kinds = {one["name"]: one["kind"] for one in shown["result"]["findings"] if one["schema"] == "survey"}
    assert kinds == {
        "logs": "marked_wrong", "asks": "marked_wrong", "plain": "could_be_balanced",
        "runs": "unreadable", "runs_volatile": "unreadable",
    }  # fmt: skip
    items = shown["result"]["write_function_list"].split(",")
    assert {"logs", "survey[.]asks", "nextval", "pg_advisory_lock"} <= set(items)
    assert not {"plain", "random", "now"} & set(items)
    # Every server has a database postgres, which nobody has read here.
    assert set(shown["result"]["databases"]) >= {place["dbname"], "postgres"}
    assert not any(name.startswith("template") for name in shown["result"]["databases"])
    proposal = asker.get(REST).json()["proposal"]
    assert (proposal["read"], "postgres" in proposal["unread"]) == ([place["dbname"]], True)
    page = viewer.get(address).content.decode()
    trusted = asker.get(REST).json()["trusted"]
    assert [(one["name"], one["volatility"]) for one in trusted["functions"] if one["schema"] == "survey"] == [
        ("runs", "STABLE")
    ]
    assert trusted["sentence"] in page
    assert f'data-trusted="{len(trusted["functions"])}"' in page
    assert f'<span class="mono">survey.runs(what text)</span> of {place["dbname"]}, STABLE: runs a statement' in page
    assert "ALTER FUNCTION survey.logs() VOLATILE;" in page
    assert f"Read {shown['result']['read']} functions of {place['dbname']}." in page
    assert 'data-marks="wrong"' in page


def test_a_database_that_cannot_be_read_is_told(cluster: Cluster) -> None:
    asker = script("admin")
    asker.post(f"{REST}survey/", {"database": "nowhere"})
    function_survey.carry_out(survey_id=function_survey.due_survey_ids()[0], holder="worker", now=timezone.now())

    found = asker.get(REST).json()
    assert (found["latest"]["state"], "nowhere" in found["latest"]["error"]) == ("failed", True)
    assert (found["verdict"], found["shown"]) == ("not_read", None)
    assert found["reading"] == "Not read yet: nowhere could not be read."
    page = browser("viewer").get("/o/acme/clusters/orders/functions/now/").content.decode()
    assert "The functions of nowhere could not be read." in page
    assert "The functions of Orders have not been read yet." in page
    assert "marked wrong." not in page


def surveyed(cluster: Cluster, database: str, *, read: int, unreadable: int = 0) -> None:
    finding = {"kind": "unreadable", "schema": "public", "name": "c", "arguments": "", "language": "c",
               "volatility": "STABLE", "why": "written in c", "remedy": ""}  # fmt: skip
    FunctionSurvey.objects.create(
        cluster=cluster, database=database, state="done", requested_by_name="Ann", requested_at=timezone.now(),
        finished_at=timezone.now(), backend_name="pg2",
        result={"read": read, "findings": [finding] * unreadable, "write_function_list": None,
                "read_only_function_list": "", "unlisted": []},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("read", "unreadable", "verdict"), [(0, 0, "nothing_to_mark"), (3, 3, "unclear"), (3, 1, "unclear")]
)
def test_no_function_is_said_to_be_marked_right_that_was_not_read(
    cluster: Cluster, read: int, unreadable: int, verdict: str
) -> None:
    surveyed(cluster, "shop", read=read, unreadable=unreadable)

    found = script("admin").get(REST).json()

    assert found["verdict"] == verdict
    page = browser("viewer").get("/o/acme/clusters/orders/functions/").content.decode()
    assert found["sentence"] in page
    assert "is right to go by the catalog" not in page


def test_functions_that_are_trusted_to_their_marks_are_counted_in_every_database(cluster: Cluster) -> None:
    surveyed(cluster, "shop", read=5, unreadable=4)
    surveyed(cluster, "stock", read=3, unreadable=1)
    surveyed(cluster, "shop", read=5, unreadable=2)

    found = script("admin").get(REST).json()["trusted"]

    assert [one["database"] for one in found["functions"]] == ["shop", "shop", "stock"]
    assert found["sentence"].startswith("3 functions of 2 databases that could not be read are trusted to their marks")
    page = browser("viewer").get("/o/acme/clusters/orders/functions/").content.decode()
    assert found["sentence"] in page
    assert page.count('<span class="mono">public.c()</span> of ') == 3


def test_what_was_read_is_told_of_every_database(cluster: Cluster) -> None:
    surveyed(cluster, "shop", read=200)
    surveyed(cluster, "stock", read=9)
    surveyed(cluster, "shop", read=205)

    found = script("admin").get(REST).json()

    assert (found["verdict"], found["reading"]) == ("right", "Read 214 functions of 2 databases.")
    assert [(one["database"], one["read"], one["backend"]) for one in found["databases"]] == [
        ("shop", 205, "pg2"),
        ("stock", 9, "pg2"),
    ]
    page = browser("viewer").get("/o/acme/clusters/orders/functions/").content.decode()
    assert "no function of shop is marked wrong" in page
    assert "What is said here is of shop alone." in page
    assert "stock (9 functions on pg2" in page


def test_the_newest_reading_of_every_database_is_kept(
    cluster: Cluster, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function_survey, "KEPT", 2)
    for database in ("crm", "shop", "shop", "shop"):
        surveyed(cluster, database, read=1)
    asker = script("admin")
    asker.post(f"{REST}survey/", {"database": place["dbname"]})

    function_survey.carry_out(survey_id=function_survey.due_survey_ids()[0], holder="worker", now=timezone.now())

    left = cluster.function_surveys.order_by("pk").values_list("database", flat=True)
    assert list(left) == ["crm", "shop", place["dbname"]]
    # The server holds neither of the others.
    assert asker.get(REST).json()["proposal"]["read"] == [place["dbname"]]


def test_another_worker_goes_on_where_one_died(cluster: Cluster, place: dict[str, Any]) -> None:
    survey = FunctionSurvey.objects.create(
        cluster=cluster, database=place["dbname"], requested_by_name="Ann", requested_at=timezone.now(),
        state="running", lease_holder="dead", lease_expires_at=timezone.now() + timedelta(minutes=1),
    )  # fmt: skip
    function_survey.carry_out(survey_id=survey.pk, holder="second", now=timezone.now())
    survey.refresh_from_db()
    assert (survey.state, survey.lease_holder, function_survey.due_survey_ids()) == ("running", "dead", [])

    FunctionSurvey.objects.update(lease_expires_at=timezone.now() - timedelta(minutes=1))
    assert function_survey.due_survey_ids() == [survey.pk]
    function_survey.carry_out(survey_id=survey.pk, holder="second", now=timezone.now())
    survey.refresh_from_db()
    assert (survey.state, survey.lease_holder) == ("done", "")


@pytest.mark.parametrize("database", ["", "x" * 64, "ü" * 40, 5 * [1], {"a": 1}, None, True])
def test_odd_names_of_a_database_are_refused(cluster: Cluster, database: object) -> None:
    answer = script("admin").post(f"{REST}survey/", {"database": database}, format="json")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "database")
    assert not FunctionSurvey.objects.exists()


def test_only_operators_ask_and_only_in_their_organisation(cluster: Cluster) -> None:
    assert script("viewer").post(f"{REST}survey/", {}).status_code == 403
    assert script("admin", organisation="rival").get(REST).status_code == 404
    page = browser("admin").post("/o/acme/clusters/orders/functions/survey/", {"database": "ü" * 40})
    assert (page.status_code, "at most 63 bytes" in page.content.decode()) == (422, True)
