"""`python -m tests.fake_crowd FOLDER NUMBER`: many fake pgpools in one process, each with a file of its own.

stdin, first line: JSON with backends (as the lab describes them) and passwords by login. stdout: one line of JSON, a
list of {"name", "host", "port", "pcp_port", "conf"}. Further lines of stdin set modes: `pgpool-2 hang`, `pgpool-2 ok`;
each is answered by a line. The end of stdin ends them all.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tests.fake_pgpool import FakePgpool, Mode
from tests.fake_show import FakeBackend

# A file that pgpool itself can parse: it is asked to before the file is written.
HEAD = "listen_addresses = '127.0.0.1'\nport = {port}\npcp_port = {pcp_port}\n"
TAIL = "num_init_children = 32\nload_balance_mode = on\ndelay_threshold = 0\nstatement_level_load_balance = off\n"
BACKEND = "backend_hostname{node_id} = '{host}'\nbackend_port{node_id} = {port}\nbackend_weight{node_id} = {weight}\n"


async def serve(folder: Path, number: int, said: Mapping[str, Any]) -> None:
    fakes = {f"pgpool-{each}": _fake(folder / f"pgpool-{each}", said) for each in range(1, number + 1)}
    for fake in fakes.values():
        await fake.__aenter__()
        _write(fake, said["backends"])
    told = [
        {"name": name, "host": fake.host, "port": fake.port, "pcp_port": fake.pcp_port, "conf": str(fake.conf)}
        for name, fake in fakes.items()
    ]
    print(json.dumps(told), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, mode = line.split()
        fakes[name].mode = cast("Mode", mode)
        print("done", flush=True)
    os._exit(0)  # the sessions that are open have nobody to say goodbye to


def _fake(folder: Path, said: Mapping[str, Any]) -> FakePgpool:
    folder.mkdir(parents=True)
    backends = [
        FakeBackend(each["node_id"], each["host"], each["port"], "standby" if each["node_id"] else "primary")
        for each in said["backends"]
    ]
    fake = FakePgpool(
        conf=folder / "pgpool.conf",
        backends=backends,
        password=said["passwords"]["lifeguard"],
        pcp_username="lifeguard",
        pcp_password=said["passwords"]["pcp"],
    )
    for each in said["backends"]:
        fake.values[f"backend_hostname{each['node_id']}"] = each["host"]
        fake.values[f"backend_port{each['node_id']}"] = str(each["port"])
    return fake


def _write(fake: FakePgpool, backends: Sequence[Mapping[str, Any]]) -> None:
    blocks = [BACKEND.format(**each, weight=500 if each["node_id"] else 0) for each in backends]
    text = HEAD.format(port=fake.port, pcp_port=fake.pcp_port) + "".join(blocks) + TAIL
    if fake.conf is not None:
        fake.conf.write_text(text, encoding="utf-8")
    fake.reload()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.stdin.readline())))
