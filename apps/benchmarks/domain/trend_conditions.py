"""What the runs of a round were measured under, and what of it differs from a round before: a step may come of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from apps.benchmarks.domain import address_words, replication_words


@dataclass(frozen=True)
class Conditions:
    """Of one arm in one round, each as people read it; "" where no run tells it.

    pgpool: versions of all pgpools of the cluster, "" of an arm that goes past them.
    """

    address: str = ""
    replication: str = ""
    commit_level: str = ""
    postgresql: str = ""
    pgpool: str = ""


_WORDS = {
    "address": "measured at {} instead of {}",
    "replication": "replicated as {} instead of {}",
    "commit_level": "with synchronous_commit = {} instead of {}",
    "postgresql": "with PostgreSQL {} instead of {}",
    "pgpool": "with Pgpool-II {} instead of {}",
}


def of_runs(environments: Sequence[Mapping[str, Any]]) -> Conditions:
    """environments: of the runs of one arm that count; where they differ among themselves, all that they tell."""

    def all_of(told: Callable[[Mapping[str, Any]], str]) -> str:
        return " and ".join(sorted({found for one in environments if (found := told(one))}))

    return Conditions(
        address=all_of(address_words.of_run),
        replication=all_of(replication_words.mode_of),
        commit_level=all_of(replication_words.level_of),
        postgresql=all_of(lambda one: str(one.get("postgresql") or "")),
        pgpool=all_of(_pgpool),
    )


def carried(rounds: Sequence[Conditions]) -> list[Conditions]:
    """The same, where what a round does not tell is as it was told latest."""
    found: list[Conditions] = []
    latest = Conditions()
    for one in rounds:
        latest = Conditions(
            **{each.name: getattr(one, each.name) or getattr(latest, each.name) for each in fields(one)}
        )
        found.append(latest)
    return found


def moved(before: Conditions, now: Conditions) -> list[str]:
    """As "measured at 10.0.0.5:6432 instead of 10.0.0.4:6432"; what is not known of one of them is no difference."""
    pairs = [(words, getattr(before, name), getattr(now, name)) for name, words in _WORDS.items()]
    return [words.format(later, earlier) for words, earlier, later in pairs if earlier and later and earlier != later]


def _pgpool(environment: Mapping[str, Any]) -> str:
    if not environment.get("topology", {}).get("is_through_pgpool"):
        return ""
    return " and ".join(sorted({str(one["version"]) for one in environment.get("pgpools", ()) if one.get("version")}))
