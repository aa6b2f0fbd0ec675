"""pgbench with the five transactions on a real PostgreSQL: what it is given, what it tells, and that all rules hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.benchmarks.drivers.tpcc.driver import Tpcc
from tests.benchmarks.tpcc_place import findings_of, here, made_here, ran, wished


@pytest.fixture
def data(db: None) -> Iterator[None]:
    with made_here():
        yield


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_pgbench_runs_all_five_and_they_are_told_apart(data: None, tmp_path: Path, protocol: str) -> None:
    server, account = here()
    driver, wish = Tpcc(), wished(clients=3, server=server, protocol=protocol)
    (tmp_path / "0").mkdir()
    [command] = driver.load(driver.find_program(), wish, account, duration_s=1, folder=tmp_path, is_measured=True)
    in_place = [*command.words, f"--log-prefix={tmp_path}/0/transactions"]

    printed = ran(type(command)(command.name, in_place, command.environment))
    part = driver.report(wish, "pg1", printed, tmp_path / "0")

    told = {one.name: one for one in part.report.scripts}
    assert list(told) == ["new order", "payment", "order status", "delivery", "stock level"]
    assert [one.weight for one in told.values()] == [45, 43, 4, 4, 4]
    assert sum(one.transactions or 0 for one in told.values()) == part.report.transactions > 50
    assert part.by_script["new order"].count == told["new order"].transactions
    assert (part.report.failed, part.report.is_partial) == (0, False)
    assert {ok for name, (ok, _) in findings_of(wish).items() if name.startswith("consistency_")} == {True}
