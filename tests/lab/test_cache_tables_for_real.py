"""What empties the cache, on real servers: the table that is written most, and what leaves it out."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.utils import timezone

from apps.clusters.control import table_survey
from apps.clusters.domain.pgpool_conf import parse
from apps.clusters.models import TableSurvey
from apps.query_cache.domain.table_lists import UNSAFE, with_tables
from deploy.lab import Lab
from tests.clusters.callers_at_doors import script
from tests.lab.registered import register_lab
from tests.sessions import session

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = "/api/v1/clusters/orders/cache/tables/"
MADE = """
DROP TABLE IF EXISTS stock_level, price_list;
CREATE TABLE stock_level (id int PRIMARY KEY, pieces int);
CREATE TABLE price_list (id int PRIMARY KEY, price int);
INSERT INTO stock_level SELECT n, 0 FROM generate_series(1, 50) n;
INSERT INTO price_list VALUES (1, 10);
GRANT ALL ON stock_level, price_list TO app;
"""


@pytest.fixture
def stocked(restored_lab: Lab, wait_until: Callable[..., None]) -> Iterator[Lab]:
    backends = restored_lab.backends
    with backends.connect(backends.primary, "shop") as superuser:
        superuser.execute(MADE)
    wait_until(lambda: rows_at_standbys(restored_lab) == [50, 50], "both standbys have the tables")
    yield restored_lab
    with backends.connect(backends.primary, "shop") as superuser:
        superuser.execute("DROP TABLE stock_level, price_list")


def rows_at_standbys(lab: Lab) -> list[int]:
    found = []
    for standby in lab.backends.standbys:
        with lab.backends.connect(standby, "shop") as asked:
            is_there = asked.execute("SELECT to_regclass('price_list') IS NOT NULL").fetchone() == (True,)
            row = asked.execute("SELECT count(*) FROM stock_level").fetchone() if is_there else None
            found.append(0 if row is None else row[0])
    return found


def take_sample(survey: TableSurvey) -> TableSurvey:
    """The next one, at once: no test waits for the time between them to pass."""
    TableSurvey.objects.filter(pk=survey.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    table_survey.carry_out(survey_id=survey.pk, holder="test", now=timezone.now())
    survey.refresh_from_db()
    return survey


def test_the_table_that_is_written_through_pgpools_is_the_most_written_one(
    stocked: Lab, settings: Any, wait_until: Callable[..., None]
) -> None:
    register_lab(stocked, settings)
    operator = script("operator")
    asked = operator.post(f"{TABLES}survey/", {"database": "shop"})
    survey = TableSurvey.objects.get(pk=asked.json()["id"])
    # The primary is found though nobody has said which it is: standbys count no writes.
    assert take_sample(survey).state == "running", survey.error

    for pgpool in stocked.plan.pgpools:
        with session(stocked, pgpool) as client:
            client.execute("UPDATE stock_level SET pieces = pieces + 1")
    with session(stocked, stocked.plan.pgpools[0]) as client:
        client.execute("UPDATE price_list SET price = price + 1")
    wait_until(lambda: updated(stocked) == {"stock_level": 150, "price_list": 1}, "sessions have told their counts")
    assert take_sample(survey).state == "done", survey.error

    reading = operator.get(TABLES, {"database": "shop"}).json()["reading"]
    first = reading["tables"][0]
    assert (first["schema"], first["name"]) == ("public", "stock_level")
    # 3 pgpools, 50 rows each, however long that took.
    assert first["rows_per_s"] * reading["apart_s"] == pytest.approx(150)
    assert reading["backend"] == stocked.backends.primary.name
    assert reading["table_count"] >= 2


def updated(lab: Lab) -> dict[str, int]:
    asked = "SELECT relname, n_tup_upd FROM pg_stat_user_tables WHERE relname IN ('stock_level', 'price_list')"
    with lab.backends.connect(lab.backends.primary, "shop") as superuser:
        return dict(superuser.execute(asked).fetchall())


def hits(client: psycopg.Connection[Any]) -> int:
    row = client.execute("SHOW pool_cache").fetchone()
    assert row is not None
    return int(row[0])


def answered(lab: Lab, statement: str) -> bool:
    """Whether the cache answers it the second time in a session."""
    with session(lab, lab.plan.pgpools[0]) as client:
        client.execute(statement)  # type: ignore[call-overload,unused-ignore]  # texts of this file
        before = hits(client)
        client.execute(statement)  # type: ignore[call-overload,unused-ignore]  # texts of this file
        return hits(client) > before


def test_a_table_on_the_drafted_list_is_left_out_by_both_its_names(
    stocked: Lab, wait_until: Callable[..., None]
) -> None:
    pgpool = stocked.plan.pgpools[0]
    plain = "SELECT pieces FROM stock_level WHERE id = 2"
    qualified = "SELECT pieces FROM public.stock_level WHERE id = 2"
    assert answered(stocked, plain)
    assert answered(stocked, qualified)

    value = with_tables("", [("public", "stock_level")])
    conf = Path(pgpool.conf)
    text = parse(conf.read_text(encoding="utf-8")).with_values({UNSAFE: value or ""}).text
    stocked.account.file(conf, text)
    stocked.pgpools.reload(pgpool)

    # Children take the list with their next session, and what was kept is answered until it expires.
    other = "SELECT pieces + 1 FROM {}stock_level WHERE id = 2"
    wait_until(lambda: not answered(stocked, other.format("")), "its reads are not kept")
    wait_until(lambda: not answered(stocked, other.format("public.")), "nor those that name its schema")
    assert answered(stocked, "SELECT price FROM price_list WHERE id = 1")
