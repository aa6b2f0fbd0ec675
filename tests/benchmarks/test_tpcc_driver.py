"""What a TPC-C-like run asks for, and what is said of it."""

from pathlib import Path
from typing import Any

import pytest

from apps.benchmarks.domain import tpcc
from apps.benchmarks.domain.run_wish import Limits, WishRefused, wish
from apps.benchmarks.domain.topologies import Server, Topology
from apps.benchmarks.domain.tpcc import CONDITIONS, KINDS, Looked, Size, new_orders_per_min, of_condition, of_size
from apps.benchmarks.drivers.driver import Account
from apps.benchmarks.drivers.tpcc.driver import Tpcc
from tests.benchmarks.tpcc_place import wished

ACCOUNT = Account("app", "load me gently", "shop", "disable")
PRIMARY = Server("pg1", "127.0.0.1", 5000)


def asked(topology: str = "primary", **parameters: Any) -> Any:
    offered = [Topology("primary", "", (PRIMARY,), takes_writes=True), Topology("standby:1", "", (PRIMARY,), False)]
    return wish(
        workload="tpcc-like", topology=topology, clients=4, duration_s=10, parameters=parameters, offered=offered,
        limits=Limits(100, 100),
    )  # fmt: skip


def test_the_mix_is_that_of_the_specification() -> None:
    assert {kind.name: kind.weight for kind in KINDS} == {
        "new order": 45, "payment": 43, "order status": 4, "delivery": 4, "stock level": 4
    }  # fmt: skip


@pytest.mark.parametrize(
    ("size", "items", "customers", "names"), [(Size(10, 100), 100_000, 3000, 1000), (Size(1, 1), 1000, 30, 30)]
)
def test_size_is_told_in_percent_of_what_is_specified(size: Size, items: int, customers: int, names: int) -> None:
    assert (size.items, size.customers, size.names) == (items, customers, names)


def test_ten_whole_warehouses_are_usual_and_less_is_a_finding() -> None:
    usual = tpcc.size_of(asked().parameters)

    assert of_size(usual) == []
    few, small = of_size(Size(1, 20))
    assert (few["check"], few["ok"], small["check"], small["ok"]) == ("few_warehouses", False, "small_data", False)
    assert few["sentence"].startswith("1 warehouse of at least 10: ")
    assert "20 % of what is specified" in small["sentence"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"warehouses": 0}, "parameters.warehouses"),
        ({"warehouses": 10_001}, "parameters.warehouses"),
        ({"size_percent": 0}, "parameters.size_percent"),
        ({"size_percent": 101}, "parameters.size_percent"),
        ({"scale": 1}, "parameters.scale"),
        ({"topology": "standby:1"}, "topology"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(WishRefused) as refused:
        asked(**given)

    assert refused.value.field == field


def test_a_condition_that_holds_and_one_that_does_not_are_told_with_their_places() -> None:
    holds = of_condition(CONDITIONS[0], Looked(1, 0, ""))
    broken = of_condition(CONDITIONS[3], Looked(1200, 2, "district 9 of warehouse 4 (…)"))

    assert (holds["check"], holds["ok"], broken["check"], broken["ok"]) == (
        "consistency_1", True, "consistency_4", False
    )  # fmt: skip
    assert holds["sentence"].startswith("Consistency condition 1 holds for 1 warehouse: what a warehouse took is what")
    assert broken["sentence"].startswith(
        "Consistency condition 4 is VIOLATED in 2 of 1,200 districts, first in district 9 of warehouse 4 (…): "
    )


def test_the_new_order_rate_is_of_this_workload_alone() -> None:
    result = {"scripts": [{"name": "payment", "tps": 7.0}, {"name": "new order", "tps": 2.5}]}

    assert new_orders_per_min("tpcc-like", result) == 150.0
    assert new_orders_per_min("pgbench-scripts", result) is None
    assert new_orders_per_min("tpcc-like", {}) is None
    assert new_orders_per_min("tpcc-like", {"scripts": [{"name": "new order", "tps": None}]}) is None


def test_pgbench_is_given_five_scripts_that_are_there_with_their_weights(tmp_path: Path) -> None:
    wish = wished(clients=5, warehouses=3, size_percent=50, protocol="prepared", throttle_per_s=20)

    [command] = Tpcc().load("pgbench", wish, ACCOUNT, duration_s=10, folder=tmp_path, is_measured=True)

    files = [word.removeprefix("--file=").split("@") for word in command.words if word.startswith("--file=")]
    assert [int(weight) for _, weight in files] == [45, 43, 4, 4, 4]
    assert [Path(path).name for path, _ in files] == [
        "new_order.sql", "payment.sql", "order_status.sql", "delivery.sql", "stock_level.sql"
    ]  # fmt: skip
    texts = [Path(path).read_text().splitlines() for path, _ in files]
    # One round trip each. What writes is a CALL, which no pgpool sends to a standby; and nothing begins with a comment.
    assert [lines[-1].split("(")[0] for lines in texts] == [
        "CALL lifeguard_tpcc.new_order", "CALL lifeguard_tpcc.payment", "SELECT * FROM lifeguard_tpcc.order_status",
        "CALL lifeguard_tpcc.delivery", "SELECT lifeguard_tpcc.stock_level",
    ]  # fmt: skip
    assert all(line.startswith("\\set ") for lines in texts for line in lines[:-1])
    assert {"--define=warehouses=3", "--define=items=50000", "--define=customers=1500", "--define=names=1000"} <= set(
        command.words
    )
    assert {"--protocol=prepared", "--rate=20", "--no-vacuum"} <= set(command.words)


@pytest.mark.parametrize(("warehouses", "clients", "makers", "each"), [(10, 8, 4, 3), (3, 8, 3, 1), (10, 1, 1, 10)])
def test_warehouses_are_made_side_by_side_and_what_says_that_all_is_there_comes_last(
    warehouses: int, clients: int, makers: int, each: int
) -> None:
    commands = Tpcc().preparation("pgbench", wished(clients=clients, warehouses=warehouses), PRIMARY, ACCOUNT)

    words = [set(one.words) for one in commands]
    assert {f"--client={makers}", f"--transactions={each}"} <= words[3]
    assert all({"--client=1", "--transactions=1"} <= words[position] for position in (0, 1, 2, 4))
    [last] = [Path(word.removeprefix("--file=")) for word in commands[-1].words if word.startswith("--file=")]
    assert last.read_text().splitlines()[-1].startswith("INSERT INTO lifeguard_tpcc.made ")


def test_a_role_that_may_make_no_schema_is_told_what_it_needs() -> None:
    said = "pgbench: error: client 0 script 0 aborted in command 0 query 0: ERROR:  permission denied for database shop"

    assert "GRANT CREATE ON DATABASE" in Tpcc().failure(said, 2)
    assert "GRANT" not in Tpcc().failure("pgbench: error: out of memory", 1)
    owned = "pgbench: error: client 0 aborted in command 0: ERROR:  must be owner of schema lifeguard_tpcc"
    assert "belongs to another role" in Tpcc().failure(owned, 2)


def test_a_reader_is_told_what_it_is_not() -> None:
    told = " ".join(Tpcc().notes(wished()))

    for words in ("no keying and no think times", "no tpmC", "no foreign keys", "orders stay"):
        assert words in told
