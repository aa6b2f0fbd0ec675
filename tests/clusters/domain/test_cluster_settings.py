"""What the settings of several pgpools come to together."""

import pytest

from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.cluster_settings import check_connections
from apps.clusters.domain.findings import Severity
from apps.clusters.domain.parameters import catalogue

KNOWN = catalogue.for_version("4.3.5")
LIMITS = {0: 197, 1: 97}


def told(*files: str, limits: dict[int, int] = LIMITS) -> str | None:
    confs = {f"pgpool-{number}": (pgpool_conf.parse(text), KNOWN) for number, text in enumerate(files, 1)}
    found = check_connections(confs, limits)
    assert found is None or (found.severity, found.parameter) == (Severity.WARNING, "num_init_children")
    return None if found is None else found.message


def sized(children: int, pools: int) -> str:
    return f"num_init_children = {children}\nmax_pool = {pools}\n"


def test_the_sum_its_pgpools_and_the_tightest_backend_are_named() -> None:
    message = told(sized(48, 2), sized(24, 2)) or ""

    # 48 × 2 + 24 × 2
    assert "num_init_children × max_pool = 144 over 2 pgpools (pgpool-1: 96, pgpool-2: 48)" in message
    assert "backend 1 lets others open 97 sessions" in message


@pytest.mark.parametrize(
    ("files", "limits"),
    [
        ([sized(48, 1), sized(49, 1)], LIMITS),  # 97 of 97
        ([sized(98, 2)], LIMITS),  # one alone is told of by the check of its file
        ([sized(48, 2), sized(48, 2)], {}),  # no backend ever said
        (["num_init_children = many\n", sized(48, 2)], LIMITS),  # told of as no figure
    ],
)
def test_there_is_nothing_to_say(files: list[str], limits: dict[int, int]) -> None:
    assert told(*files, limits=limits) is None


def test_defaults_count_and_many_names_are_cut() -> None:
    message = told(*["\n"] * 12) or ""

    assert "= 1536 over 12 pgpools" in message  # 12 × 32 × 4
    assert "pgpool-10: 128 and 2 more" in message
    assert "pgpool-11" not in message
