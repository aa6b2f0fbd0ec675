"""The demo's load: it reads from the standbys, writes a little, and ends when it is told to."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.lab import Lab


@pytest.fixture
def load(restored_lab: Lab) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "deploy.lab.load", "--root", str(restored_lab.root)]
    process = subprocess.Popen(command, text=True, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def select_counts(lab: Lab) -> list[int]:
    """Of the three backends, over all pgpools."""
    rows = [lab.pgpools.nodes(pgpool) for pgpool in lab.plan.pgpools]
    return [sum(int(nodes[node_id]["select_cnt"]) for nodes in rows) for node_id in range(3)]


def test_reads_go_to_the_standbys_and_rows_are_written(
    restored_lab: Lab, load: subprocess.Popen[str], wait_until: Callable[..., None]
) -> None:
    before = select_counts(restored_lab)

    def grown() -> bool:
        _, second, third = select_counts(restored_lab)
        return second > before[1] + 50 and third > before[2] + 50

    wait_until(grown, "both standbys have answered more than 50 reads")
    with restored_lab.backends.connect(restored_lab.plan.backends[0], "shop") as connection:
        wait_until(
            lambda: connection.execute("SELECT FROM orders LIMIT 1").fetchone() is not None, "an order is written"
        )


def test_it_ends_with_sigterm(load: subprocess.Popen[str], restored_lab: Lab, wait_until: Callable[..., None]) -> None:
    before = select_counts(restored_lab)
    wait_until(lambda: select_counts(restored_lab) != before, "it works")

    load.send_signal(signal.SIGTERM)
    _, complaints = load.communicate(timeout=30)

    assert (load.returncode, complaints) == (0, "")
