"""Functions on real servers: what was read of their bodies sends each call where it works, once it is rolled out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from apps.clusters.control import function_survey
from apps.clusters.models import InstanceConfig, Rollout
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.clusters.polling_scene import watching
from tests.lab.registered import carry_out, register_lab
from tests.lab.test_drift_for_real import look
from tests.sessions import session

pytestmark = pytest.mark.django_db(transaction=True)

REST = "/api/v1/clusters/orders/"
# Each says where it ran. `counts` reads, though it is VOLATILE as made; `numbers` needs the primary and is STABLE.
FUNCTIONS = """
CREATE SCHEMA ledger;
GRANT USAGE ON SCHEMA ledger TO app;
CREATE TABLE ledger.entries (at timestamptz);
GRANT ALL ON ledger.entries TO app;
CREATE FUNCTION ledger.books() RETURNS SETOF bool LANGUAGE plpgsql AS
  $f$ BEGIN RETURN QUERY EXECUTE 'INSERT INTO ledger.entries VALUES (now()) RETURNING pg_is_in_recovery()'; END $f$;
CREATE FUNCTION ledger.counts() RETURNS bool LANGUAGE plpgsql AS
  $f$ DECLARE r record; BEGIN SELECT count(*) AS n FROM ledger.entries INTO r; r.n := r.n + 1;
      RETURN pg_is_in_recovery(); END $f$;
CREATE FUNCTION ledger.numbers() RETURNS bool LANGUAGE sql STABLE AS
  'SELECT pg_is_in_recovery() AND txid_current() > 0';
"""
SESSIONS = 3


@pytest.fixture
def with_functions(restored_lab: Lab, wait_until: Callable[..., None]) -> Iterator[Lab]:
    backends = restored_lab.backends
    with backends.connect(backends.primary, "shop") as superuser:
        superuser.execute("DROP SCHEMA IF EXISTS ledger CASCADE")
        superuser.execute(FUNCTIONS)

    def is_replayed() -> bool:
        asked = "SELECT to_regprocedure('ledger.numbers()') IS NOT NULL"
        return all(_first(backends.connect(standby, "shop"), asked) for standby in backends.standbys)

    wait_until(is_replayed, "both standbys have the functions")
    yield restored_lab
    with backends.connect(backends.primary, "shop") as superuser:
        superuser.execute("DROP SCHEMA ledger CASCADE")


def _first(connection: psycopg.Connection[Any], statement: str) -> Any:
    with connection:
        row = connection.execute(statement).fetchone()
    assert row is not None
    return row[0]


def runs_on(lab: Lab, call: str) -> set[str]:
    """What became of a call in sessions of every pgpool: primary, standby, or refused by a standby."""
    return {_place(session(lab, pgpool), call) for pgpool in lab.plan.pgpools for _ in range(SESSIONS)}


def _place(connection: psycopg.Connection[Any], call: str) -> str:
    try:
        return "standby" if _first(connection, f"SELECT {call}") else "primary"
    except psycopg.errors.ReadOnlySqlTransaction as error:
        assert "during recovery" in str(error)
        return "refused"


def test_each_function_runs_where_it_works_once_the_list_is_rolled_out(
    with_functions: Lab, settings: Any, wait_until: Callable[..., None]
) -> None:
    lab = with_functions
    cluster, caller = register_lab(lab, settings)
    operator = script("operator")
    assert (runs_on(lab, "ledger.counts()"), runs_on(lab, "ledger.numbers()")) == ({"primary"}, {"refused"})

    assert operator.post(f"{REST}functions/survey/", {"database": "shop"}).status_code == 202
    [due] = function_survey.due_survey_ids()
    function_survey.carry_out(survey_id=due, holder="test", now=timezone.now())
    found = operator.get(f"{REST}functions/").json()["shown"]["result"]["findings"]
    own = {one["name"]: (one["kind"], one["remedy"]) for one in found if one["schema"] == "ledger"}
    assert own == {
        "books": ("unreadable", ""),
        "counts": ("could_be_balanced", ""),  # pg_is_in_recovery() is VOLATILE itself
        "numbers": ("marked_wrong", "ALTER FUNCTION ledger.numbers() VOLATILE;"),
    }

    with watching():
        wait_until(lambda: InstanceConfig.objects.exclude(running={}).count() == 3, "every pgpool shows its values")
        look(cluster, caller)
    drafted = operator.post(f"{REST}functions/draft/", {"despite_unread": True}, format="json")
    assert drafted.status_code == 200, drafted.content
    asked = operator.post(f"{REST}draft/rollout/", {}, format="json")
    assert asked.status_code == 202, asked.content
    rollout = carry_out(Rollout.objects.get(pk=asked.json()["id"]))
    assert rollout.state == "verified", list(rollout.log.values_list("text", flat=True))
    assert all("ledger[.]books" in Path(pgpool.conf).read_text() for pgpool in lab.plan.pgpools)

    # Children of pgpool take the list with their next session, so they are asked until all have it.
    wait_until(lambda: runs_on(lab, "ledger.counts()") == {"standby"}, "what only reads runs on standbys")
    wait_until(lambda: runs_on(lab, "ledger.numbers()") == {"primary"}, "what a standby refuses runs on the primary")
    assert runs_on(lab, "ledger.books()") == {"primary"}
    entries = _first(lab.backends.connect(lab.backends.primary, "shop"), "SELECT count(*) FROM ledger.entries")
    assert entries == SESSIONS * len(lab.plan.pgpools)
