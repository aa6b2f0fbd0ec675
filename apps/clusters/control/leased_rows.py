"""What rows that a worker carries under a lease have in common, where each is changed by a statement of its own."""

from typing import Any

from django.db.models import Model


class LeaseLost(Exception):
    """Another worker carries it on, or somebody has ended it."""


def changed(row: Model, count: int, changes: dict[str, Any]) -> None:
    """Take into the row what a compare-and-set stored. count: rows that it met. Raises LeaseLost if none."""
    if count != 1:
        raise LeaseLost(f"{row}: another worker carries it on, or somebody has ended it")
    for name, value in changes.items():
        setattr(row, name, value)
