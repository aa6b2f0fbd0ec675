"""The demo's choices that need no servers: ports, secrets, configuration, what is registered."""

import configparser
import os
import shlex
import signal
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.environment import restart_commands
from deploy import machine
from deploy.demo import __main__ as commands
from deploy.demo import dashboard, keeping, place, programs, stack
from deploy.demo.place import Place
from deploy.own_servers import OwnPostgres, OwnRedis


@pytest.fixture
def where(tmp_path: Path) -> Place:
    (tmp_path / "demo").mkdir()
    return Place(tmp_path)


def lab_addresses() -> dict[str, Any]:
    return {
        "backends": [
            {"node_id": node_id, "name": f"pg{node_id + 1}", "host": "127.0.0.1", "port": 21000 + node_id, "az": az}
            for node_id, az in enumerate(["us-east-1a", "us-east-1b", "us-east-1c"])
        ],
        "pgpools": [
            {
                "name": f"pgpool-{number}",
                "host": "127.0.0.1",
                "port": 22000 + number,
                "pcp_port": 23000 + number,
                "conf": f"/data/pgpool-{number}/pgpool.conf",
                "az": "us-east-1a",
            }
            for number in (1, 2, 3)
        ],
        "monitor": {"username": "lifeguard", "password": "secret-1"},
        "pcp": {"username": "lifeguard", "password": "secret-2"},
    }


def test_secrets_and_ports_are_chosen_once(where: Place) -> None:
    first = place.choose(where, environ={})

    assert place.choose(where, environ={}) == first
    assert len({first.web_port, first.postgres_port, first.redis_port, first.bouncer_port}) == 4


def test_two_demos_have_different_secrets(tmp_path: Path) -> None:
    chosen = []
    for name in ("a", "b"):
        (tmp_path / name / "demo").mkdir(parents=True)
        chosen.append(place.choose(Place(tmp_path / name), environ={}))

    for secret in ("secret_key", "encryption_key", "postgres_password", "redis_password", "password"):
        assert getattr(chosen[0], secret) != getattr(chosen[1], secret)


def test_nobody_else_may_read_the_secrets(where: Place) -> None:
    place.choose(where, environ={})

    assert where.settings.stat().st_mode & 0o077 == 0


def test_a_port_that_somebody_took_meanwhile_is_replaced_and_the_others_stay(where: Place) -> None:
    first = place.choose(where, environ={})
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", first.redis_port))
        stranger.listen()

        second = place.choose(where, environ={})

    assert second.redis_port != first.redis_port
    assert (second.web_port, second.postgres_port) == (first.web_port, first.postgres_port)
    assert second.redis_password == first.redis_password


def test_the_dashboards_port_can_be_asked_for_and_is_remembered(where: Place) -> None:
    wanted = machine.free_port()

    assert place.choose(where, environ={"LIFEGUARD_PORT": str(wanted)}).web_port == wanted
    assert place.choose(where, environ={}).web_port == wanted


def test_a_port_asked_for_that_is_in_use_is_refused(where: Place) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]

        with pytest.raises(place.PortTaken, match=f"port {port} is in use"):
            place.choose(where, environ={"LIFEGUARD_PORT": str(port)})


def test_a_running_demo_is_not_moved_to_another_port_and_goes_on(where: Place) -> None:
    there = place.choose(where, environ={}).web_port
    stack.refuse_to_move(where, environ={"LIFEGUARD_PORT": "20001"})  # nothing runs yet: it may be started there
    keeping.note_keeper(where, os.getpid())

    stack.refuse_to_move(where, environ={"LIFEGUARD_PORT": str(there)})
    stack.refuse_to_move(where, environ={})
    with pytest.raises(stack.RunsElsewhere, match=f"runs already, on port {there}. To move it: make down; LIFEGUARD"):
        stack.refuse_to_move(where, environ={"LIFEGUARD_PORT": str(there - 1)})


def test_a_second_ctrl_c_does_not_disturb_what_the_first_began() -> None:
    before = {number: signal.getsignal(number) for number in commands.SIGNALS}
    try:
        with pytest.raises(KeyboardInterrupt):
            commands.interrupt(signal.SIGINT, None)

        os.kill(os.getpid(), signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_nothing_is_broken_in_a_demo_that_does_not_run(where: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.fault(where, ["start", "pg1"]) == 1

    assert "not running. Start it: make demo-up" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "65536", "80a", "-1", "1e3"])
def test_a_port_that_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no port number"):
        place.wanted_web_port({"LIFEGUARD_PORT": text})


def test_supervisor_reads_every_program_as_it_was_meant(tmp_path: Path) -> None:
    where = Place(tmp_path / "100 % odd; name")
    wanted = programs.programs(where, postgres=["postgres", "-c", "a=b c"], redis=["redis"], web_port=20001)
    reader = configparser.RawConfigParser(inline_comment_prefixes=(";",), strict=False)

    reader.read_string(programs.supervisor_configuration(where, wanted, is_root=False))

    for program in wanted:
        text = reader.get(f"program:{program.name}", "command").replace("%%", "%")
        assert shlex.split(text)[-len(program.command) :] == list(program.command)


def test_a_program_waits_for_its_settings_and_then_has_them(tmp_path: Path) -> None:
    settings = tmp_path / "environment.sh"
    command = ["/bin/sh", "-c", programs.WAITS_FOR_SETTINGS, str(settings), "printenv", "LIFEGUARD_TRIAL"]
    waiting = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    assert waiting.poll() is None
    place.write_privately(settings, f"export LIFEGUARD_TRIAL={shlex.quote('a b; $c')}\n")

    assert waiting.communicate(timeout=60)[0] == "a b; $c\n"


def test_the_last_to_stop_are_the_servers_that_all_others_need(where: Place) -> None:
    wanted = programs.programs(where, postgres=["postgres"], redis=["redis"], web_port=20001)

    assert [program.name for program in sorted(wanted, key=lambda program: program.order)][:2] == ["postgres", "redis"]


def test_a_pgbouncer_is_told_nothing_of_lifeguards_settings(where: Place) -> None:
    pooler = stack.bouncer_of(where, place.choose(where, environ={}))

    assert pooler is not None
    program = programs.bouncer(where, pooler.command())
    assert program.command[:3] == ["env", "-i", f"{place.MARK}={where.directory}"]
    assert program.command[-1] == str(pooler.configuration)
    assert program.needs_settings


def test_a_demo_of_before_there_was_a_pgbouncer_goes_on_without(where: Place) -> None:
    settings = place.choose(where, environ={})

    assert stack.bouncer_of(where, replace(settings, bouncer_port=0)) is None


def test_local_delivery_is_allowed_for_the_demos_organisation_beside_each_file_only(where: Place) -> None:
    settings = place.choose(where, environ={})

    environment = stack.lifeguard_environment(where, settings, lab_addresses())

    assert environment["LIFEGUARD_LOCAL_DELIVERY_DIRS"] == (
        "demo=/data/pgpool-1:demo=/data/pgpool-2:demo=/data/pgpool-3"
    )


def test_the_pgpools_of_the_demo_are_restarted_by_its_lab(where: Place) -> None:
    settings = place.choose(where, environ={})
    environment = stack.lifeguard_environment(where, settings, lab_addresses())

    [command] = restart_commands(environment, "LIFEGUARD_RESTART_COMMANDS")
    described = dashboard.cluster_description(lab_addresses(), restart=command.name)

    assert command.organisation == dashboard.ORGANISATION
    assert command.argv[1:] == ("-m", "deploy.lab", "restart", "--root", str(where.lab), "{path}")
    assert {pgpool["delivery"]["restart"] for pgpool in described["pgpools"]} == {dashboard.RESTART}


def test_the_lab_is_described_as_the_registration_takes_it() -> None:
    described = dashboard.cluster_description(lab_addresses())

    assert described["slug"] == "orders"
    assert (described["username"], described["password"]) == ("lifeguard", "secret-1")
    assert described["backends"][2] == {"node_id": 2, "host": "127.0.0.1", "port": 21002, "az": "us-east-1c"}
    assert described["has_synthetic_azs"] is True
    assert described["pgpools"][0] == {
        "name": "pgpool-1",
        "host": "127.0.0.1",
        "port": 22001,
        "az": "us-east-1a",
        "pcp": {"port": 23001, "user": "lifeguard", "password": "secret-2"},
        "delivery": {"kind": "local", "path": "/data/pgpool-1/pgpool.conf"},
    }


def test_own_servers_listen_on_loopback_only(tmp_path: Path) -> None:
    postgres = OwnPostgres(tmp_path / "postgres", 20001, "secret", is_durable=True)
    redis = OwnRedis(tmp_path / "redis", 20002, "secret")
    redis.prepare()

    assert "listen_addresses=127.0.0.1" in postgres.command()
    assert "unix_socket_directories=" in postgres.command()
    assert "bind 127.0.0.1\n" in (tmp_path / "redis" / "redis.conf").read_text()
    assert (tmp_path / "redis" / "redis.conf").stat().st_mode & 0o077 == 0
