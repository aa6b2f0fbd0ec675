"""The pub/sub load as the engine knows it: one program for all servers of a topology, since groups span them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from apps.benchmarks.domain import pubsub_plan
from apps.benchmarks.domain.environment_words import NOT_PREPARED
from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.domain.topologies import Server
from apps.benchmarks.drivers import database
from apps.benchmarks.drivers.driver import Account, Standing
from apps.benchmarks.drivers.own_program import Order, OwnProgram
from apps.benchmarks.drivers.processes import Command
from apps.benchmarks.drivers.pubsub import schema


class PubSub(OwnProgram):
    def __init__(self) -> None:
        super().__init__("pubsub")

    def look(self, wish: Wish, primary: Server, account: Account) -> Standing:
        """What is in the tables does not matter: each load begins with empty ones."""
        wanted = schema.tables(pubsub_plan.plan(wish.parameters, duration_s=wish.duration_s))
        with database.session(primary, account) as session:
            standing = database.standing_tables(session, wanted)
        return Standing(standing == set(wanted), wanted)

    def load(
        self, program: str, wish: Wish, account: Account, *, duration_s: int, folder: Path, is_measured: bool
    ) -> list[Command]:
        """Named after its only server, or the topology. One program serves all, and prepares for all or none."""
        servers = wish.topology.servers
        order = Order(
            wish.workload.mode, wish.clients, duration_s, dict(wish.parameters), (wish.clients,),
            folder=str(folder / "0") if is_measured else None,
        )  # fmt: skip
        name = servers[0].name if len(servers) == 1 else wish.topology.key
        command = self._command(program, "load", order, name, servers[0], account)
        places = [word for one in servers for word in ("--server", one.place)]
        processes = max(1, min(wish.threads, os.cpu_count() or 1))
        more = [f"--processes={processes}", *([] if wish.topology.keeps_statements else ["--unprepared"])]
        return [replace(command, words=[*command.words, *places, *more])]

    def notes(self, wish: Wish) -> list[str]:
        until = "a reader had it" if wish.parameters["groups"] else "it was committed"
        counted = f"tps counts published messages, whatever the batch; latency is from when one was due until {until}"
        return [counted] if wish.topology.keeps_statements else [counted, NOT_PREPARED]
