"""pgbench is asked to do what the pub/sub load does."""

import re

from apps.benchmarks.domain.pubsub_plan import plan
from apps.benchmarks.drivers.pubsub import schema
from deploy.bench import pubsub_scripts

PLAN = plan({"partitions": 3, "groups": 2, "readers_per_group": 3, "poll_interval_ms": 7}, duration_s=1)


def shape(statement: str) -> str:
    """Without the names of its parameters and without line ends."""
    return " ".join(re.sub(r"\$\d|(?<!:):[a-z_]+", "?", statement).split())


def test_scripts_of_pgbench_have_every_statement_of_the_load() -> None:
    writer, reader = shape(pubsub_scripts.writer(PLAN)), shape(pubsub_scripts.reader(PLAN))

    for partition in range(3):
        assert shape(schema.publish(partition)) in writer
        assert shape(schema.fetch(partition)) in reader
    assert shape(schema.CLAIM) in reader
    assert "BEGIN;" in reader
    assert "COMMIT;" in reader
    assert "\\sleep 7 ms" in reader
    assert "$" not in writer + reader


def test_each_parameter_has_its_value() -> None:
    given = pubsub_scripts.variables(PLAN)
    set_in_scripts = {"at", "group_no", "home", "partition_no", "first", "upto", "client_id"}

    for script in (pubsub_scripts.writer(PLAN), pubsub_scripts.reader(PLAN)):
        asked = set(re.findall(r"(?<!:):([a-z_]+)", re.sub(r"::[a-z]+", "", script)))
        assert asked - set_in_scripts <= set(given)
    assert len(given["payload"]) == len("\\x") + 2 * 10 * 1024
