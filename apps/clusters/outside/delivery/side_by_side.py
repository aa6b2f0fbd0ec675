"""Reads many files at once, by whatever delivery each has: a host that hangs keeps no other waiting."""

import logging
import threading
import time
from collections.abc import Mapping

from apps.clusters.outside.delivery import Delivery, FileUnreadable, LiveFile, PathRefused, WritesForbidden

logger = logging.getLogger(__name__)

UNFORESEEN = "Lifeguard failed while it read its pgpool.conf; its log says how."

# Threads that a hanging host keeps: another one would only hang there as well.
_hanging: dict[int, threading.Thread] = {}


def read_all(deliveries: Mapping[int, Delivery], *, deadline_s: float) -> dict[int, LiveFile | str]:
    """Key -> its file, or why it could not be read. The same key means the same host from call to call."""
    found: dict[int, LiveFile | str] = {}
    for key in [key for key, thread in _hanging.items() if not thread.is_alive()]:
        del _hanging[key]
    for key, delivery in deliveries.items():
        if key not in _hanging:
            _hanging[key] = threading.Thread(target=_read, args=(key, delivery, found), daemon=True)
            _hanging[key].start()
    end = time.monotonic() + deadline_s
    for key in deliveries:
        _hanging[key].join(max(end - time.monotonic(), 0))
        if not _hanging[key].is_alive():
            del _hanging[key]
    late = f"Its pgpool.conf was not read within {deadline_s:.3g} s: the host or its disk hangs."
    # A thread that is late may still bring its file into `found`, which nobody looks at any more.
    return {key: found.get(key, late) for key in deliveries}


def _read(key: int, delivery: Delivery, found: dict[int, LiveFile | str]) -> None:
    try:
        found[key] = delivery.read()
    except (FileUnreadable, PathRefused, WritesForbidden) as error:
        found[key] = str(error)
    except Exception:
        logger.exception("a file could not be read: instance=%s", key)
        found[key] = UNFORESEEN
