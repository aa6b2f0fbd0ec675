"""What several pgpools and PostgreSQL itself say of the same backends, and how a disagreement is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Field = Literal["status", "role", "weight", "delay", "watchdog"]

UP = frozenset({"up", "waiting"})
NOBODY_KNOWS = "not known"


@dataclass(frozen=True)
class View:
    """A backend as one pgpool sees it. pg_status, weight_share and the delays are None where they are not current."""

    pgpool: str
    node_id: int
    status: str
    role: str
    pg_status: str | None = None
    weight_share: float | None = None
    delay_bytes: int | None = None
    delay_s: float | None = None

    @property
    def is_up(self) -> bool:
        return self.status in UP


@dataclass(frozen=True)
class Truth:
    """A backend asked directly. answers None: not asked lately. is_in_recovery None: it did not say.

    is_streaming: whether the primary has it as a streaming standby; None where the primary was not asked either.
    """

    node_id: int
    name: str
    answers: bool | None
    is_in_recovery: bool | None = None
    is_streaming: bool | None = None
    reason: str = ""

    @property
    def is_primary(self) -> bool:
        return bool(self.answers) and self.is_in_recovery is False


@dataclass(frozen=True)
class Wanted:
    """pgpool -> node_id -> share, as revision `number` has it."""

    number: int
    shares: Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Finding:
    """One disagreement. pgpools: those that are off; node_id None: it is about no single backend.

    node_ids: the backends that it is about, where that is neither one nor all of them.
    """

    about: str
    who_is_wrong: str
    message: str
    remedy: str
    field: Field
    node_id: int | None = None
    pgpools: tuple[str, ...] = ()
    node_ids: tuple[int, ...] = ()

    def is_about(self, pgpool: str, node_id: int) -> bool:
        """Whether this pgpool's view of this backend is what it is about."""
        if pgpool not in self.pgpools:
            return False
        return node_id in self.node_ids if self.node_ids else self.node_id in (None, node_id)


@dataclass(frozen=True)
class Seen:
    """All that is current. A view that is stale is left out: it says nothing about now.

    is_observed: Lifeguard attaches and detaches nothing in this cluster.
    """

    views: Sequence[View]
    truths: Sequence[Truth]
    wanted: Wanted | None = None
    is_observed: bool = False

    def of(self, node_id: int) -> list[View]:
        return [view for view in self.views if view.node_id == node_id]

    @property
    def pgpools(self) -> list[str]:
        return list(dict.fromkeys(view.pgpool for view in self.views))

    @property
    def primaries(self) -> list[Truth]:
        return [truth for truth in self.truths if truth.is_primary]


def percent(share: float) -> str:
    return f"{share * 100:.1f}".removesuffix(".0") + " %"


def listed(names: Sequence[str], last: str = "and") -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def verb(names: Sequence[str], one: str, many: str) -> str:
    return one if len(names) == 1 else many


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
