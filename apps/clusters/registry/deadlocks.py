"""A transaction that PostgreSQL ends to break a deadlock is begun anew: nothing of it was done."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, transaction
from psycopg.errors import DeadlockDetected

TRIES = 3
P = ParamSpec("P")
T = TypeVar("T")


def atomic_despite_deadlocks(work: Callable[P, T]) -> Callable[P, T]:
    """Do it in a transaction, at most TRIES times. Raises OperationalError when each of them ended in a deadlock."""

    @wraps(work)
    def tried(*arguments: P.args, **named: P.kwargs) -> T:
        for _ in range(TRIES - 1):
            try:
                with transaction.atomic():
                    return work(*arguments, **named)
            except OperationalError as error:
                if not isinstance(error.__cause__, DeadlockDetected):
                    raise
        with transaction.atomic():
            return work(*arguments, **named)

    return tried
