"""Own scripts as pgbench is given them, as it reads them, and what it reports of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apps.benchmarks.domain.endpoints import Endpoint, topology
from apps.benchmarks.domain.run_wish import Wish, WishRefused
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.workloads import WORKLOADS
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.drivers.pgbench_scripts import PgbenchScripts

CAPTURED = Path(__file__).parents[1] / "captured" / "pgbench-15"
ACCOUNT = Account("app", "load me gently", "shop", "disable")
PRIMARY = Server("pg1", "127.0.0.1", 5000)


def wished(*scripts: tuple[str, str, int], **parameters: Any) -> Wish:
    chosen = WORKLOADS["pgbench-scripts"]
    values = {name: one.default for name, one in chosen.parameters.items()} | parameters
    values["scripts"] = [{"name": name, "sql": sql, "weight": weight} for name, sql, weight in scripts]
    return Wish(chosen, Topology("primary", "primary", (PRIMARY,), takes_writes=True), 2, 1, 10, 0, values)


def test_pgbench_is_given_each_script_with_its_weight(tmp_path: Path) -> None:
    driver = PgbenchScripts()
    wish = wished(("look", "SELECT 1;", 3), ("pay", "SELECT :scale;", 1), scale=20, protocol="prepared")

    driver.lay_out(driver.find_program(), wish, tmp_path)
    [command] = driver.load("pgbench", wish, ACCOUNT, duration_s=10, folder=tmp_path, is_measured=True)

    paths = [tmp_path / "scripts" / name for name in ("1.sql", "2.sql")]
    assert [path.read_text() for path in paths] == ["SELECT 1;", "SELECT :scale;"]
    assert {f"--file={paths[0]}@3", f"--file={paths[1]}@1", "--scale=20", "--protocol=prepared"} <= set(command.words)
    assert not [word for word in command.words if word.startswith("--builtin")]


def test_sessions_of_scripts_that_do_not_write_are_read_only(tmp_path: Path) -> None:
    driver = PgbenchScripts()

    environments = [
        driver.load("pgbench", wish, ACCOUNT, duration_s=10, folder=tmp_path, is_measured=True)[0].environment
        for wish in (wished(("a", "SELECT 1;", 1), writes=False), wished(("a", "SELECT 1;", 1), writes=True))
    ]

    assert environments[0]["PGOPTIONS"] == "-c default_transaction_read_only=on"
    assert "PGOPTIONS" not in environments[1]


@pytest.mark.parametrize(("kind", "told"), [("pooler", False), ("router", False), ("balancer", True)])
def test_only_what_passes_bytes_on_is_told_options_of_a_session(tmp_path: Path, kind: str, told: bool) -> None:
    through = topology(Endpoint("bouncer-1", "127.0.0.1", 6432, kind, takes_writes=True))
    wish = replace(wished(("a", "SELECT 1;", 1), writes=False), topology=through)

    [command] = PgbenchScripts().load("pgbench", wish, ACCOUNT, duration_s=10, folder=tmp_path, is_measured=True)

    assert ("PGOPTIONS" in command.environment) is told


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT 1;\n\\set x 1 +\n", ["'\\\\set x 1 +'", "Line 2 of script pay cannot be read: syntax error"]),
        ("SELECT 1;\n\\sleep\n", ["'\\\\sleep'", "Line 2 of script pay cannot be read: missing argument"]),
        ("\\if 1\nSELECT 1;\n", ["pay", "without matching \\endif"]),
        ("-- only words\n", ["pay", "empty command list"]),
    ],
)
def test_what_pgbench_cannot_read_is_refused_with_its_line(tmp_path: Path, sql: str, words: list[str]) -> None:
    driver = PgbenchScripts()

    with pytest.raises(WishRefused) as refused:
        driver.lay_out(driver.find_program(), wished(("look", "SELECT 1;", 1), ("pay", sql, 1)), tmp_path)

    assert refused.value.field == "parameters.scripts.1.sql"
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert str(tmp_path) not in str(refused.value)


def test_each_script_has_its_own_figures(tmp_path: Path) -> None:
    printed = (CAPTURED / "pgbench_multi_script.stdout").read_text()
    lines = ["0 1 100 0 1700000000 0\n", "0 2 300 1 1700000000 9\n", "0 3 500 1 1700000001 0\n"]
    (tmp_path / "transactions.7").write_text("".join(lines))
    wish = wished(("warm", "SELECT 1;", 3), ("wr", "SELECT 1;", 1))

    part = PgbenchScripts().report(wish, "pg1", printed, tmp_path)

    first, second = part.report.scripts
    assert (first.name, first.weight, first.transactions, first.tps) == ("warm", 3, 17578, 8864.869990)
    assert (first.latency_ms, first.latency_stddev_ms, len(first.statements)) == (0.280, 0.418, 2)
    assert (second.name, second.failed) == ("wr", 0)
    assert second.statements[0].text.startswith("UPDATE pgbench_accounts")
    assert {name: one.count for name, one in part.by_script.items()} == {"warm": 1, "wr": 2}


def test_of_a_single_script_the_figures_are_those_of_the_run(tmp_path: Path) -> None:
    printed = (CAPTURED / "pgbench_P1_r_merged.txt").read_text()

    part = PgbenchScripts().report(wished(("look", "SELECT 1;", 2)), "pg1", printed, tmp_path)

    [only] = part.report.scripts
    assert (only.name, only.weight, only.tps, only.statements) == ("look", 2, part.report.tps, part.report.statements)


def test_nothing_is_prepared_for_scripts_that_use_no_table_of_pgbench() -> None:
    driver = PgbenchScripts()

    assert driver.preparation("pgbench", wished(("a", "SELECT 1;", 1)), PRIMARY, ACCOUNT) == []
    [made] = driver.preparation("pgbench", wished(("a", "SELECT 1;", 1), scale=3), PRIMARY, ACCOUNT)
    assert "--scale=3" in made.words
