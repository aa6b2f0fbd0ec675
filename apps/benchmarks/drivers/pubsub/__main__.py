"""The program: python -m apps.benchmarks.drivers.pubsub prepare|load|drop, with options or with an order of the engine.

It finds its server by the variables of libpq, the password among them (PGPASSWORD), and prints what domain.own_program
says. SIGTERM ends a load early, with a report that says so.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import psycopg

from apps.benchmarks.domain import own_program, pubsub_plan, topologies
from apps.benchmarks.domain.load_report import LoadSecond
from apps.benchmarks.domain.pgbench_failure import OF_THE_SERVER, Cause, parse_failure
from apps.benchmarks.domain.pubsub_plan import PARAMETERS, Plan
from apps.benchmarks.domain.workload_parameters import ParameterRefused, YesNo
from apps.benchmarks.drivers.own_program import LATENCIES, Order
from apps.benchmarks.drivers.pubsub import schema, worker
from apps.benchmarks.drivers.pubsub.run import Run, processes_for
from apps.benchmarks.drivers.pubsub.schema import NotPrepared
from apps.benchmarks.drivers.pubsub.session import Server, StatementFailed, connect
from apps.benchmarks.drivers.pubsub.troupe import NotReady

# Within the time that the engine gives a load beyond its own.
DRAIN_S = 10


def main(words: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(words)
    if asked.action == "work":
        _work()
        return 0
    try:
        plan = _plan(asked)
        return asyncio.run(_do(asked, plan))
    except ParameterRefused as error:
        return _failed(str(error), "Choose another value.")
    except (StatementFailed, NotPrepared, NotReady) as error:
        return _failed_there(str(error))
    except psycopg.Error as error:
        return _failed_there(" ".join(str(error).split()) or type(error).__name__)


def _work() -> None:
    """With uvloop a message takes a tenth less CPU. uvicorn brings it, though not to every platform."""
    if find_spec("uvloop") is None:
        asyncio.run(worker.work())
        return
    import uvloop

    uvloop.run(worker.work())


async def _do(asked: argparse.Namespace, plan: Plan) -> int:
    servers = _servers(asked)
    if asked.action == "load":
        return await _load(asked, plan, servers)
    async with await connect(servers[0], application_name="lifeguard-pubsub") as session:
        await (schema.drop(session) if asked.action == "drop" else schema.prepare(session, plan))
    return 0


async def _load(asked: argparse.Namespace, plan: Plan, servers: tuple[Server, ...]) -> int:
    folder = asked.order.folder if asked.order else asked.folder
    is_silent = asked.order is not None and folder is None  # a warm-up
    run = Run(plan, servers, asked.processes or processes_for(plan), tell=_pass_over if is_silent else _tell)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, run.stop.set)
    ended = await run.go()
    if folder:
        (Path(folder) / LATENCIES).write_text(own_program.latencies_text(ended.latencies), encoding="utf-8")
    _print(own_program.line("report", ended.report))
    if not asked.keep:
        await _empty(plan, servers[0])
    return 0


async def _empty(plan: Plan, server: Server) -> None:
    """Messages would fill the disk for nothing. Where that fails, the next run begins with it."""
    with contextlib.suppress(StatementFailed, NotPrepared, psycopg.Error):
        async with await connect(server, application_name="lifeguard-pubsub") as session:
            await schema.reset(session, plan)


def _plan(asked: argparse.Namespace) -> Plan:
    """Raises ParameterRefused."""
    if asked.order:
        return pubsub_plan.plan(asked.order.parameters, duration_s=asked.order.duration_s, drain_s=DRAIN_S)
    given = {name: value for name in PARAMETERS if (value := getattr(asked, name)) is not None}
    return pubsub_plan.plan(given, duration_s=asked.duration_s, warm_up_s=asked.warm_up_s, drain_s=asked.drain_s)


def _servers(asked: argparse.Namespace) -> tuple[Server, ...]:
    user, database = os.environ.get("PGUSER", ""), os.environ.get("PGDATABASE", "")
    places = asked.server or [(os.environ.get("PGHOST", "localhost"), int(os.environ.get("PGPORT", "5432")))]
    keeps = not asked.unprepared
    return tuple(Server(host, port, user, database, keeps_statements=keeps) for host, port in places)


def _address(place: str) -> tuple[str, int]:
    try:
        return topologies.address_of(place)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _failed(reason: str, fix: str) -> int:
    _print(own_program.line("failure", {"reason": reason, "fix": fix}))
    return 1


def _failed_there(said: str) -> int:
    """What a server or libpq said stays; of shared statements it is said already what mends them."""
    known = parse_failure(said)
    if known.cause not in OF_THE_SERVER - {Cause.PREPARED}:
        return _failed(said, "")
    return _failed(said if said.endswith((".", "?")) else f"{said}.", f"{known.reason} {known.fix}")


def _tell(second: LoadSecond) -> None:
    _print(own_program.line("second", asdict(second)))


def _pass_over(second: LoadSecond) -> None:
    """Nobody reads the seconds of a warm-up."""


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m apps.benchmarks.drivers.pubsub", description=__doc__)
    parser.add_argument("action", choices=["prepare", "load", "drop", "work"], help="work: for its own processes")
    parser.add_argument("order", nargs="?", type=Order.parse, help="of the engine, as JSON; in place of the options")
    parser.add_argument(
        "--server", action="append", type=_address, help="host:port, again for each; sessions are spread over them"
    )
    parser.add_argument("--unprepared", action="store_true", help="send each statement whole, as through a pooler")
    parser.add_argument("--processes", type=int, default=0, help="one for each core, unless told")
    parser.add_argument("--duration-s", type=int, default=10)
    parser.add_argument("--warm-up-s", type=int, default=0)
    parser.add_argument("--drain-s", type=int, default=DRAIN_S, help="readers may go on so long after the writers")
    parser.add_argument("--folder", help="where latencies are left")
    parser.add_argument("--keep", action="store_true", help="leave the messages in the tables")
    for name, one in PARAMETERS.items():
        described = one.described()
        label = f"{described['label']} ({described['default']})".replace("%", "%%")
        option = f"--{name.replace('_', '-')}"
        if isinstance(one, YesNo):
            parser.add_argument(option, action="store_true", default=None, help=label)
        else:
            parser.add_argument(option, type=int, help=label)
    return parser


if __name__ == "__main__":
    sys.exit(main())
