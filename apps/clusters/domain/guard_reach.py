"""Which guards a version of Pgpool-II can tell nothing for, so that no hold waits for what never comes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apps.clusters.domain.guards import Guards, LeftOut

__all__ = ["LeftOut", "Told", "counts_sessions", "left_out"]

# SHOW POOL_BACKEND_STATS, and client_connection_count in SHOW POOL_PROCESSES.
FIRST_WITH_ERRORS = (4, 2)
FIRST_WITH_SESSIONS = (4, 3)
_RELEASE = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of one pgpool. version: as 4.1.2, empty while unknown; it can tell everything then.

    is_measured: the draws behind its reads are known from how far its shares moved (domain.draws).
    """

    version: str
    is_measured: bool = False


def counts_sessions(version: str) -> bool:
    return _is_at_least(version, FIRST_WITH_SESSIONS)


def left_out(guards: Guards, told: Mapping[str, Told], *, statement_level: bool) -> tuple[LeftOut, ...]:
    """told: name of the pgpool -> what it can tell. Where each statement is a draw, no sessions are needed."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, one in sorted(told.items()):
        if guards.error_factor is not None and not _is_at_least(one.version, FIRST_WITH_ERRORS):
            reason = f"Pgpool-II {one.version} tells no errors, which needs 4.2"
            reasons.setdefault(("error_factor", reason), []).append(name)
        needs_sessions = guards.shares and not statement_level and not one.is_measured
        if needs_sessions and not counts_sessions(one.version):
            reason = (
                f"Pgpool-II {one.version} counts no sessions, which needs 4.3, and how far its shares move was not "
                "measured yet, which takes 5 min of reads"
            )
            reasons.setdefault(("shares", reason), []).append(name)
    return tuple(LeftOut(guard, tuple(names), reason) for (guard, reason), names in reasons.items())


def _is_at_least(version: str, first: tuple[int, int]) -> bool:
    found = _RELEASE.match(version)
    return found is None or (int(found[1]), int(found[2])) >= first
