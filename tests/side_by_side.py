"""How the suite goes in several processes, `pytest -n 2`: who does what, and what nobody may share.

Each process has a database of its own from pytest-django, and a Redis of its own from here: those who share one hear
each other's messages and take each other's tasks. What needs real servers is done by one of them, one test after the
other, as if it were alone (but for what is APART); the files of all other tests go to whoever is free.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deploy import machine, teststack
from deploy.own_servers import OwnRedis, ServerDidNotStart

if TYPE_CHECKING:
    from xdist.scheduler import Scheduling

HEAVY_FOLDERS = ("lab", "browser", "stack")
# Heavy, but with servers of its own from beginning to end: it may go beside the others.
APART = ("tests/stack/test_demo_commands.py",)
TRIES = 3


def chunk_of(nodeid: str) -> str:
    """The name of what is handed out as one. nodeid: tests/lab/test_lab.py::test_that_it_runs[once]"""
    path = nodeid.partition("::")[0]
    return "heavy" if Path(path).parts[1] in HEAVY_FOLDERS and path not in APART else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "Scheduling | None":
    if config.getvalue("dist") != "load":
        return None  # another way was asked for
    from xdist.scheduler import LoadScopeScheduling

    class Chunks(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return chunk_of(nodeid)

    config.option.loadscopereorder = False  # ours is the order: the heavy ones first
    return Chunks(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[Any]) -> None:
    """Before any of the processes reads its settings."""
    folder = os.environ.get(teststack.FOLDER)
    if folder is None:
        return  # a run without servers
    stack = ExitStack()
    config.add_cleanup(stack.close)
    for number, spec in enumerate(specs):
        spec.env["LIFEGUARD_REDIS_URL"] = stack.enter_context(redis_in(Path(folder) / f"redis-{number}"))


@contextmanager
def redis_in(folder: Path) -> Iterator[str]:
    """Its address; it ends with this process. A port that somebody took between the look and the start is replaced."""
    for attempt in range(1, TRIES + 1):
        server = OwnRedis(folder, machine.free_port(), secrets.token_urlsafe(16))
        server.prepare()
        with teststack.running(server.command(ends_with_parent=True), log=folder / "redis.log"):
            try:
                server.wait_until_it_answers(deadline_s=20 if attempt == TRIES else 5)
            except ServerDidNotStart:
                if attempt == TRIES:
                    raise
                continue
            yield server.url
            return
