"""What is true after a rollout: what every pgpool has and runs, and what stands in the product's own tables."""

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from deploy.bench.rollouts import runs
from deploy.bench.subject import CannotMeasure, Subject
from deploy.demo import place
from deploy.own_servers import OwnPostgres

Weights = Mapping[int, int]

PATIENCE_S = 20.0
_WEIGHT_LINE = re.compile(r"(?m)^\s*backend_weight(\d+)\s*=?\s*'?([0-9.]+)'?")

_UNFINISHED = """
SELECT format('rollout %s is %s', id, state) AS fault FROM clusters_rollout
 WHERE state IN ('pending', 'running', 'paused')
UNION ALL
SELECT format('rollout %s ended, but %s holds its lease', id, lease_holder) FROM clusters_rollout
 WHERE state NOT IN ('pending', 'running', 'paused') AND lease_expires_at > now()
UNION ALL
SELECT format('process %s holds an advisory lock', pid) FROM pg_locks WHERE locktype = 'advisory'
UNION ALL
SELECT format('process %s stands idle in a transaction', pid) FROM pg_stat_activity
 WHERE state = 'idle in transaction' AND now() - state_change > interval '5 s'
"""
# What the receipt of a step in this state has, beside the hashes before and after the write.
_WANTED: Mapping[str, Sequence[str]] = {
    "verified": ("base_sha256", "reload", "read_back"),
    "restored": ("base_sha256", "restore", "restored_read_back"),
}
_STEPS = """
SELECT step.instance_name, step.state, step.is_touched, step.receipt, file.sha256, file.base_sha256
  FROM clusters_rolloutstep step JOIN clusters_revisionfile file ON file.id = step.file_id
 WHERE step.rollout_id = %s ORDER BY step.position
"""


def own_database(subject: Subject) -> OwnPostgres:
    settings = place.load(subject.place)
    if settings is None:
        raise CannotMeasure("the demo has no settings any more")
    directory = subject.place.directory / "postgres"
    return OwnPostgres(directory, settings.postgres_port, settings.postgres_password, is_durable=True)


def rows(subject: Subject, query: LiteralString, *arguments: object) -> list[dict[str, Any]]:
    """Asked again while the database comes back after a kill."""
    url, ends_at = own_database(subject).url, time.monotonic() + PATIENCE_S
    while True:
        try:
            with psycopg.connect(url, row_factory=dict_row, connect_timeout=3) as connection:
                return connection.execute(query, arguments or None).fetchall()
        except psycopg.OperationalError:
            if time.monotonic() > ends_at:
                raise
            time.sleep(0.2)


def faults_of_nodes(subject: Subject, weights: Weights) -> list[str]:
    """Every pgpool has these weights in its file and uses them."""
    return [
        f"{pgpool.name} {fault}"
        for pgpool in subject.lab.plan.pgpools
        for fault in _faults_of_node(subject, pgpool, weights)
    ]


def _faults_of_node(subject: Subject, pgpool: Any, weights: Weights) -> list[str]:
    text = Path(pgpool.conf).read_text(encoding="utf-8")
    written = {int(node): float(weight) for node, weight in _WEIGHT_LINE.findall(text)}
    faults = []
    if written != {node: float(weight) for node, weight in weights.items()}:
        faults.append(f"has {written} in its file instead of {dict(weights)}")
    try:
        is_used = runs(subject.lab.pgpools, pgpool, weights)
    except psycopg.Error as error:
        return [*faults, f"does not answer: {error}"]
    return faults if is_used else [*faults, f"does not use {dict(weights)}"]


def faults_of_rows(subject: Subject) -> list[str]:
    """Nothing is stuck and no lock is left; what is only on its way out may still go."""
    return _once_gone(lambda: [str(row["fault"]) for row in rows(subject, _UNFINISHED)])


def _once_gone(look: Callable[[], list[str]]) -> list[str]:
    ends_at = time.monotonic() + PATIENCE_S
    while (faults := look()) and time.monotonic() < ends_at:
        time.sleep(0.5)
    return faults


def faults_of_receipts(subject: Subject, rollout_id: int) -> list[str]:
    """Every pgpool that was touched has a receipt: all hashes, what was read back; and the file is the one it names."""
    files = {pgpool.name: sha256_of(Path(pgpool.conf)) for pgpool in subject.lab.plan.pgpools}
    return [
        f"{step['instance_name']}: {fault}"
        for step in rows(subject, _STEPS, rollout_id)
        if (fault := receipt_fault(step, live_sha256=files[step["instance_name"]]))
    ]


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def receipt_fault(step: Mapping[str, Any], *, live_sha256: str) -> str:
    """What the receipt of one step lacks or has wrong; empty for nothing. step: a row as _STEPS has it."""
    receipt, state = step["receipt"], step["state"]
    if state not in _WANTED:
        return f"it was touched and is {state}" if step["is_touched"] else ""
    written = receipt.get("restore") or {} if state == "restored" else receipt
    missing = [name for name in _WANTED[state] if not receipt.get(name)]
    missing += [name for name in ("sha256_before", "sha256_after") if not written.get(name)]
    if missing:
        return f"its receipt lacks {', '.join(missing)}"
    if written["sha256_after"] != live_sha256:
        return f"its receipt names the file {written['sha256_after'][:12]}, and {live_sha256[:12]} stands there"
    if state == "verified" and written["sha256_after"] != step["sha256"]:
        return "it is verified with another file than that of its revision"
    return ""
