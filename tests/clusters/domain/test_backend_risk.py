"""Why a backend must not be attached, detached or drained, and what it costs if it is."""

from dataclasses import replace

import pytest

from apps.clusters.domain.backend_risk import BackendFound, PgpoolFound, assess

PG1 = BackendFound(0, "pg1", is_in_recovery=False)
PG2 = BackendFound(1, "pg2", is_in_recovery=True, streams=True, lag_text="0.0 s and 0 bytes")
PG3 = BackendFound(2, "pg3", is_in_recovery=True, streams=True, lag_text="0.2 s and 96 bytes")
BACKENDS = (PG1, PG2, PG3)
ROLES = {0: "primary", 1: "standby", 2: "standby"}
UP = PgpoolFound(
    "pgpool-1", statuses={0: "up", 1: "up", 2: "waiting"}, roles=ROLES, shares={0: 0.0, 1: 0.5, 2: 0.5}, sessions=3
)
DOWN = replace(UP, statuses={0: "up", 1: "up", 2: "down"})
SECOND = replace(PG3, is_in_recovery=False, streams=None)
# pg2 was promoted past pgpool, and pg1 follows it.
SWITCHED = (
    replace(PG1, is_in_recovery=True, streams=True),
    replace(PG2, is_in_recovery=False, streams=None, lag_text=""),
    PG3,
)
SWAPPED = ("backend 1 is db0:5432 here, which the cluster numbers 0",)
RENUMBERED = PgpoolFound("pgpool-2", other_numbers=SWAPPED)


@pytest.mark.parametrize(
    ("kind", "node_id", "pgpools", "backends", "said"),
    [
        ("detach", 0, (UP,), BACKENDS, "pg1 is the primary"),
        # It does not answer, so what pgpool believes counts.
        ("detach", 0, (UP,), (replace(PG1, is_in_recovery=None, trouble="away"), PG2, PG3), "pg1 is the primary"),
        ("drain", 2, (replace(UP, statuses={0: "down", 1: "down", 2: "up"}),), BACKENDS, "last backend that is up"),
        ("drain", 2, (replace(UP, is_auto_failback=True),), BACKENDS, "auto_failback is on at pgpool-1"),
        ("detach", 2, (replace(UP, has_pcp=False),), BACKENDS, "registered without PCP"),
        ("detach", 2, (PgpoolFound("pgpool-1", trouble="refused"),), BACKENDS, "No pgpool answers: refused."),
        # What pgpool believes is what it fails over by.
        ("detach", 0, (UP,), SWITCHED, "pgpool-1 holds pg1 for the primary, but PostgreSQL says that it is a standby"),
        ("drain", 0, (replace(UP, roles={}), replace(UP, name="pgpool-2")), SWITCHED, "pgpool-2 holds pg1 for"),
        (
            "detach",
            0,
            (UP, replace(UP, name="pgpool-2")),
            SWITCHED,
            "Restart pgpool-1 and pgpool-2 first, so that they",
        ),
        ("attach", 2, (DOWN,), (PG1, PG2, replace(PG3, trouble="refused")), "PostgreSQL of pg3 does not answer"),
        ("attach", 2, (DOWN,), (PG1, PG2, SECOND), "split brain"),
        # The other primary is silent, and pgpool has it up.
        ("attach", 2, (DOWN,), (replace(PG1, is_in_recovery=None), PG2, SECOND), "pg1 is one already"),
        ("attach", 2, (DOWN,), (PG1, PG2, replace(PG3, streams=False)), "does not stream from the primary pg1"),
        ("attach", 2, (DOWN,), (replace(PG1, is_in_recovery=None), PG2, PG3), "No backend says that it is the primary"),
    ],
)
def test_what_must_not_be_done_is_refused(
    kind: str, node_id: int, pgpools: tuple[PgpoolFound, ...], backends: tuple[BackendFound, ...], said: str
) -> None:
    refusals = assess(kind, node_id, pgpools, backends).refusals

    assert len(refusals) == 1
    assert said in refusals[0]


@pytest.mark.parametrize(
    ("kind", "pgpools", "said"),
    [
        ("detach", (UP,), "3 sessions at pgpool-1 may read from pg3 now"),
        ("detach", (replace(UP, tells_where=True, sessions=1),), "1 session at pgpool-1 reads from pg3 now."),
        ("detach", (replace(UP, sessions=None),), "How many sessions read there is not known"),
        ("detach", (UP,), "pgpool closes those that do, at once"),
        ("drain", (UP,), "Lifeguard waits for them"),
        ("drain", (UP, PgpoolFound("pgpool-2", trouble="frozen")), "pgpool-2 does not answer (frozen)"),
        ("attach", (DOWN,), "0.2 s and 96 bytes behind"),
        ("attach", (UP, replace(DOWN, name="pgpool-2")), "It is attached at pgpool-2"),
        ("attach", (replace(DOWN, shares={2: 0.0}),), "Its weight is 0 at pgpool-1"),
    ],
)
def test_what_it_costs_is_said_before(kind: str, pgpools: tuple[PgpoolFound, ...], said: str) -> None:
    found = assess(kind, 2, pgpools, BACKENDS)

    assert (found.refusals, found.settled) == ((), "")
    assert said in " ".join(found.risks)


@pytest.mark.parametrize(("kind", "pgpool"), [("attach", UP), ("detach", DOWN), ("drain", DOWN)])
def test_what_is_so_already_is_told(kind: str, pgpool: PgpoolFound) -> None:
    assert "there is nothing to" in assess(kind, 2, (pgpool,), BACKENDS).settled


@pytest.mark.parametrize(
    ("kind", "pgpool", "done"), [("attach", DOWN, "attached"), ("detach", UP, "detached"), ("drain", UP, "detached")]
)
def test_nothing_is_done_while_a_pgpool_numbers_the_backends_differently(
    kind: str, pgpool: PgpoolFound, done: str
) -> None:
    found = assess(kind, 2, (pgpool, RENUMBERED), BACKENDS)

    [refusal] = found.refusals
    assert refusal == (
        f"pgpool-2 numbers the backends differently: {SWAPPED[0]}. Another server may be {done} there, so nothing is "
        f"{done} at any pgpool. First give all pgpools the same backend_hostnameN and backend_portN, and restart "
        "pgpool-2; or register the cluster anew if they changed for good."
    )
    assert "pgpool-2" not in " ".join(found.risks)  # it answers: nothing is said of silence


def test_what_a_renumbered_pgpool_shows_is_not_passed_over_as_so_already() -> None:
    found = assess("detach", 2, (DOWN, RENUMBERED), BACKENDS)

    assert (len(found.refusals), found.settled) == (1, "")


def test_a_former_primary_that_every_pgpool_knows_as_a_standby_may_be_detached() -> None:
    followed = replace(UP, roles={0: "standby", 1: "primary", 2: "standby"})
    # One that has it down runs no failover for it.
    down = replace(UP, name="pgpool-2", statuses={0: "down", 1: "up", 2: "up"})

    assert assess("detach", 0, (followed, down), SWITCHED).refusals == ()


def test_auto_failback_leaves_alone_what_does_not_stream() -> None:
    found = assess("detach", 2, (replace(UP, is_auto_failback=True),), (PG1, PG2, replace(PG3, streams=False)))

    assert found.refusals == ()


def test_the_only_primary_may_be_attached_again() -> None:
    stuck = replace(UP, statuses={0: "down", 1: "up", 2: "up"}, roles={0: "standby", 1: "standby", 2: "standby"})

    found = assess("attach", 0, (stuck,), BACKENDS)

    assert found.refusals == ()
    assert "pgpool takes it as the primary" in " ".join(found.risks)
