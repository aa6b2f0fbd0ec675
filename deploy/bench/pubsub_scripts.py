"""The statements of the pub/sub load as scripts of pgbench: the same SQL, the same turns, the same waits."""

import os
from collections.abc import Mapping

from apps.benchmarks.domain.pubsub_plan import Plan
from apps.benchmarks.drivers.pubsub import schema

# No partition: nothing was claimed.
NOTHING = -1


def writer(plan: Plan) -> str:
    """Client n publishes to partition n modulo partitions, as writer n does."""
    names = {"$1": ":messages", "$2": ":payload", "$3": ":message_bytes", "$4": ":due_us"}
    found = {partition: f"{_named(schema.publish(partition), names)};" for partition in range(plan.partitions)}
    return f"\\set at :client_id % {plan.partitions}\n{_switch(found)}"


def reader(plan: Plan) -> str:
    """Client n is a reader of group n modulo groups; it looks at the partition of its number first."""
    claim = {"$1": ":group_no", "$2": ":home", "$3": ":partitions", "$4": ":read_batch"}
    fetch = {"$1": ":first", "$2": ":upto"}
    found = {partition: f"{_named(schema.fetch(partition), fetch)};" for partition in range(plan.partitions)}
    return f"""\\set group_no :client_id % {plan.groups}
\\set home (:client_id / {plan.groups}) % {plan.partitions}
\\set partition_no {NOTHING}
\\set first 0
\\set upto 0
BEGIN;
{_named(schema.CLAIM, claim)} \\aset
\\set at :partition_no
{_switch(found)}COMMIT;
\\if :upto - :first < :read_batch
\\sleep {plan.poll_interval_ms} ms
\\endif
"""


def variables(plan: Plan) -> Mapping[str, str]:
    """What both are given with -D."""
    return {
        "messages": str(plan.write_batch),
        "message_bytes": str(plan.message_bytes),
        "payload": "\\x" + os.urandom(plan.write_batch * plan.message_bytes).hex(),
        "due_us": "1",
        "partitions": str(plan.partitions),
        "read_batch": str(plan.read_batch),
    }


def _named(statement: str, names: Mapping[str, str]) -> str:
    for number, name in names.items():
        statement = statement.replace(number, name)
    return statement.strip()


def _switch(found: Mapping[int, str]) -> str:
    """What is done where :at is this number; nothing for any other."""
    return "".join(f"\\if :at = {number}\n{text}\n\\endif\n" for number, text in found.items())
