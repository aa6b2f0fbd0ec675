"""Looks after rows one by one: what one of them fails at keeps no other waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)


def each(rows: Iterable[int], act: Callable[[int], None], *, what: str) -> None:
    """act on every row. what: they are called so in the log. One that fails is tried again when somebody looks next."""
    for pk in list(rows):
        try:
            act(pk)
        except Exception:
            logger.exception("%s %s failed; it is tried again", what, pk)
