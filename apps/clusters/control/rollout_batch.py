"""What one turn changes in the rows of a rollout's steps and adds to its log, stored in few statements.

A hundred pgpools make a hundred outcomes at almost the same time; a statement for each took most of a rollout's time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Field

from apps.clusters.control import pending_restarts
from apps.clusters.control.rollout_rows import LeaseLost
from apps.clusters.models import Rollout, RolloutLog, RolloutStep
from apps.clusters.polling import running_values

# The lease is asked for by the database's clock, in the same statement.
_UPDATE = """
UPDATE clusters_rolloutstep AS step SET {settings}
FROM (VALUES {rows}) AS new (id, was_state, was_attempts, {names}), clusters_rollout AS rollout
WHERE step.id = new.id AND step.state = new.was_state AND step.attempts = new.was_attempts
AND rollout.id = step.rollout_id AND rollout.lease_holder = %s
AND rollout.lease_expires_at > statement_timestamp()
"""


@dataclass(frozen=True)
class _Change:
    step: RolloutStep
    values: Mapping[str, Any]


class Batch:
    """Collects within the transaction that is open; nothing is stored before store()."""

    def __init__(self, rollout: Rollout, holder: str) -> None:
        self._rollout = rollout
        self._holder = holder
        self._changes: dict[int, _Change] = {}
        self._lines: list[RolloutLog] = []
        self._read: list[tuple[RolloutStep, Sequence[Mapping[str, Any]]]] = []

    def change(self, step: RolloutStep, **values: Any) -> None:
        """By compare-and-set on state and attempts as the step has them, once for each step."""
        if step.pk in self._changes:
            raise ValueError(f"{step} is changed twice in one turn")
        self._changes[step.pk] = _Change(step, values)

    def log(self, text: str, *, instance_name: str = "", is_problem: bool = False) -> None:
        line = RolloutLog(rollout=self._rollout, instance_name=instance_name, text=text, is_problem=is_problem)
        self._lines.append(line)

    def read(self, step: RolloutStep, parameters: Sequence[Mapping[str, Any]]) -> None:
        """What was read back of each parameter of this pgpool."""
        self._read.append((step, parameters))

    def store(self, *, now: datetime) -> None:
        """Raises LeaseLost when somebody was there first: at any step, the lease, or a state that is not as it was."""
        groups: defaultdict[tuple[str, ...], list[_Change]] = defaultdict(list)
        for change in self._changes.values():
            groups[tuple(sorted(change.values))].append(change)
        for names, changes in groups.items():
            self._update(names, changes)
        pending_restarts.note(self._read, now=now)
        running_values.note_read_back(self._read, now=now)
        RolloutLog.objects.bulk_create(self._lines)

    def _update(self, names: Sequence[str], changes: Sequence[_Change]) -> None:
        fields = [_field(name) for name in names]
        row = f"({', '.join(['%s'] * (3 + len(fields)))})"
        statement = _UPDATE.format(
            settings=", ".join(f"{one.column} = new.to_{one.column}::{one.db_type(connection)}" for one in fields),
            rows=", ".join([row] * len(changes)),
            names=", ".join(f"to_{one.column}" for one in fields),
        )
        values: list[Any] = []
        for change in changes:
            values += [change.step.pk, change.step.state, change.step.attempts]
            values += [one.get_db_prep_save(change.values[one.name], connection) for one in fields]
        with connection.cursor() as cursor:
            cursor.execute(statement, [*values, self._holder])
            if cursor.rowcount != len(changes):
                raise LeaseLost(self._rollout.pk)
        for change in changes:
            for name, value in change.values.items():
                setattr(change.step, name, value)


def _field(name: str) -> "Field[Any, Any]":
    found = RolloutStep._meta.get_field(name)
    if not isinstance(found, Field):
        raise TypeError(f"{name} is no column of a step")
    return found
