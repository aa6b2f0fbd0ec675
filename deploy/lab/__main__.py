"""`python -m deploy.lab up|down|status|forget|repair|restart|failover|switchover|fault --root DIR`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg

from deploy.lab import promotion
from deploy.lab.account import PlaceRefused
from deploy.lab.backends import BackendFailed
from deploy.lab.binaries import ProgramMissing
from deploy.lab.lab import Lab, LabIsDown
from deploy.lab.pgpools import PgpoolFailed
from deploy.lab.plan import UnknownServer
from deploy.lab.promotion import NotPromoted

EXPECTED = (LabIsDown, UnknownServer, BackendFailed, PgpoolFailed, ProgramMissing, PlaceRefused, NotPromoted)
FAULTS = ("stop", "kill", "freeze", "resume", "start", "pause_replay", "resume_replay")


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    try:
        lab = Lab(
            asked.root,
            pgpool_count=asked.pgpools,
            num_init_children=asked.num_init_children,
            has_watchdog=asked.watchdog,
        )
        if asked.command == "fault":
            getattr(lab, asked.kind.replace("-", "_"))(asked.name)
        elif asked.command == "restart":
            lab.restart(asked.conf)
        elif asked.command == "failover":
            promotion.fail_over(lab)
        elif asked.command == "switchover":
            promotion.switch_over(lab, asked.name)
        elif asked.command != "status":
            getattr(lab, asked.command)()
        if asked.command not in ("down", "forget", "restart"):
            _print_status(lab)
    except EXPECTED as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deploy.lab", description=__doc__)
    parser.add_argument("--pgpools", type=int, default=3, help="how many Pgpool-II instances (3)")
    parser.add_argument("--num-init-children", type=int, default=64, help="clients per Pgpool-II (64)")
    parser.add_argument(
        "--watchdog", action="store_true", help="they watch each other, and promote a standby by themselves"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, meaning in COMMANDS.items():
        command = commands.add_parser(name, help=meaning)
        if name == "fault":
            command.add_argument("kind", choices=[kind.replace("_", "-") for kind in FAULTS])
            command.add_argument("name", help="pg1 (the primary), pg2, pg3, pgpool-1 and so on")
        if name == "restart":
            command.add_argument("conf", type=Path, help="the pgpool.conf of the one that is restarted")
        if name == "switchover":
            command.add_argument("name", help="the standby that shall be the primary")
        command.add_argument("--root", type=Path, required=True, help="the folder of the lab")
    return parser


COMMANDS = {
    "up": "bring the cluster up",
    "down": "stop it; its state stays",
    "status": "what runs, and what each pgpool thinks of the backends",
    "forget": "stop it and remove its files",
    "repair": "undo all faults",
    "restart": "stop a Pgpool-II and start it again",
    "failover": "kill the primary and wait until a standby was promoted",
    "switchover": "make a standby the primary; the old one becomes its standby",
    "fault": "stop, kill, freeze, resume or start a server; pause or resume the replay of a standby",
}


def _print_status(lab: Lab) -> None:
    servers = lab.status()
    row = "{:<10} {:<16} {:<12} {:<8} {:>9}  {}"
    print(row.format("server", "address", "zone*", "state", "processes", "backends as it sees them"))
    for server in servers:
        address = f"{server.host}:{server.port}"
        seen = _seen_by(lab, server.name) if server.name.startswith("pgpool") and server.state == "running" else ""
        print(row.format(server.name, address, server.az, server.state, server.process_count, seen))
    print("* synthetic")


def _seen_by(lab: Lab, name: str) -> str:
    pgpool = next(pgpool for pgpool in lab.plan.pgpools if pgpool.name == name)
    try:
        nodes = lab.pgpools.nodes(pgpool)
    except psycopg.Error as error:
        return f"no answer: {str(error).splitlines()[0]}"
    return ", ".join(f"{row['node_id']} {row['role']} {row['status']} {float(row['lb_weight']):.0%}" for row in nodes)


if __name__ == "__main__":
    sys.exit(main())
