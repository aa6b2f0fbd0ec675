"""What the lab decides before it starts anything: ports, and the text of its pgpool.conf."""

import json
import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.lab import __main__ as commands
from deploy.lab import ledger, ports
from deploy.lab.lab import Lab
from deploy.lab.pgpool_settings import pgpool_conf, with_addresses
from deploy.lab.plan import Backend, Pgpool, Plan, as_json

SOCKETS = "/var/tmp/lifeguard-test/s"


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def plan(*, backend_port: int = 21001) -> Plan:
    backends = tuple(
        Backend(
            node_id=node_id, name=f"pg{node_id + 1}", host="127.0.0.1", port=backend_port + node_id, az="us-east-1a"
        )
        for node_id in range(3)
    )
    pgpools = (Pgpool("pgpool-1", "127.0.0.1", 22001, 22002, "/lab/pgpool-1/pgpool.conf", "us-east-1a"),)
    return Plan(backends, pgpools, {"pgpool_check": "secret"}, num_init_children=64)


def conf(version: tuple[int, int, int]) -> str:
    drawn = plan()
    return pgpool_conf(drawn.pgpools[0], drawn, sockets=Path(SOCKETS), version=version)


def test_a_known_port_is_kept_while_it_is_free() -> None:
    first = ports.keep_or_choose(["pg1", "pg2"], {}, [], random.Random(1))

    assert ports.keep_or_choose(["pg1", "pg2"], first, [], random.Random(2)) == first


def test_a_port_that_somebody_took_is_replaced(taken_port: int) -> None:
    chosen = ports.keep_or_choose(["pg1"], {"pg1": taken_port}, [], random.Random(1))

    assert chosen["pg1"] != taken_port


def test_a_taken_port_is_kept_when_we_took_it_ourselves(taken_port: int) -> None:
    assert ports.keep_or_choose(["pg1"], {"pg1": taken_port}, [taken_port], random.Random(1)) == {"pg1": taken_port}


@pytest.mark.parametrize(
    ("version", "name"),
    [((4, 3, 5), "socket_dir"), ((4, 4, 0), "unix_socket_directories"), ((4, 6, 1), "unix_socket_directories")],
)
def test_the_socket_folder_has_the_name_that_this_version_knows(version: tuple[int, int, int], name: str) -> None:
    assert f"\n{name} = '{SOCKETS}'\n" in conf(version)


def test_new_ports_leave_edited_weights_alone() -> None:
    edited = conf((4, 3, 5)).replace("backend_weight1 = 500", "backend_weight1 = 42")

    text = with_addresses(edited, plan().pgpools[0], plan(backend_port=23001))

    changed = [
        (before, after) for before, after in zip(edited.splitlines(), text.splitlines(), strict=True) if before != after
    ]
    assert changed == [
        ("backend_port0 = 21001", "backend_port0 = 23001"),
        ("backend_port1 = 21002", "backend_port1 = 23002"),
        ("backend_port2 = 21003", "backend_port2 = 23003"),
    ]


def test_backends_take_a_connection_from_every_child_of_every_pgpool() -> None:
    many = Plan((), plan().pgpools * 8, {}, num_init_children=64)

    assert many.max_connections >= 8 * 64


def test_pgpools_that_watch_each_other_promote_a_standby() -> None:
    trio = tuple(
        Pgpool(f"pgpool-{n}", "127.0.0.1", 22000 + n, 22100 + n, f"/lab/pgpool-{n}/pgpool.conf", "us-east-1a",
               wd_port=22200 + n, heartbeat_port=22300 + n)
        for n in range(3)
    )  # fmt: skip
    drawn = replace(plan(), pgpools=trio)

    text = pgpool_conf(trio[1], drawn, sockets=Path(SOCKETS), version=(4, 3, 5))

    assert "use_watchdog = on" in text
    assert "failover_command = '/bin/sh /lab/failover.sh %d %P %m'" in text
    assert "wd_port2 = 22202\npgpool_port2 = 22002\n" in text
    assert "heartbeat_port0 = 22300" in text
    assert "delegate_IP = ''" in text
    moved = with_addresses(text, trio[1], replace(drawn, pgpools=(*trio[:2], replace(trio[2], wd_port=23000))))
    assert "wd_port2 = 23000" in moved


def test_pgpools_that_do_not_watch_each_other_promote_nobody() -> None:
    text = conf((4, 3, 5))

    assert "use_watchdog = off" in text
    assert "failover_command = ''" in text


def test_the_pgpool_that_has_the_file_is_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(Lab, "stop", lambda _, name: done.append(("stop", name)))
    monkeypatch.setattr(Lab, "start", lambda _, name: done.append(("start", name)))
    drawn = replace(plan(), passwords=dict.fromkeys(("lifeguard", "pcp", "app"), "secret"))
    (tmp_path / "lab.json").write_text(json.dumps(as_json(drawn, tmp_path)), encoding="utf-8")

    assert commands.main(["restart", "--root", str(tmp_path), "/lab/pgpool-9/pgpool.conf"]) == 1
    assert "no pgpool of this lab has the file /lab/pgpool-9/pgpool.conf" in capsys.readouterr().err
    assert commands.main(["restart", "--root", str(tmp_path), "/lab/pgpool-1/pgpool.conf"]) == 0
    assert done == [("stop", "pgpool-1"), ("start", "pgpool-1")]


def test_notes_that_another_lab_cleared_away_meanwhile_are_gone(tmp_path: Path) -> None:
    private = tmp_path / "lifeguard-test"
    private.mkdir()
    (private / ledger.NAME).write_text("{}", encoding="utf-8")

    ledger.remove_notes(private)
    ledger.remove_notes(private)

    assert not private.exists()
