"""Who is wrong about a backend, and what mends it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from apps.clusters.domain.disagreements import find
from apps.clusters.domain.pgpool_views import NOBODY_KNOWS, Finding, Seen, Truth, View, Wanted

PGPOOLS = ("pgpool-1", "pgpool-2")
SHARES = {0: 0.0, 1: 0.5, 2: 0.5}
TRUTHS = (
    Truth(0, "pg1", True, is_in_recovery=False),
    Truth(1, "pg2", True, is_in_recovery=True, is_streaming=True),
    Truth(2, "pg3", True, is_in_recovery=True, is_streaming=True),
)


def view(pgpool: str, node_id: int, **seen: object) -> View:
    role = "standby" if node_id else "primary"
    agreed = View(pgpool, node_id, "up", role, pg_status="up", weight_share=SHARES[node_id], delay_bytes=0)
    return replace(agreed, **seen)  # type: ignore[arg-type]


def views(*changed: View) -> list[View]:
    """All as PostgreSQL says, but for these."""
    others = {(one.pgpool, one.node_id): one for one in changed}
    return [others.get((pgpool, node), view(pgpool, node)) for pgpool in PGPOOLS for node in SHARES]


def truths(*changed: Truth) -> list[Truth]:
    others = {one.node_id: one for one in changed}
    return [others.get(one.node_id, one) for one in TRUTHS]


def promoted(pgpool: str) -> list[View]:
    """pg2 has taken over from pg1, which is down: what a pgpool shows that has seen it."""
    return [view(pgpool, 0, status="down", role="standby"), view(pgpool, 1, role="primary"), view(pgpool, 2)]


PROMOTED = truths(Truth(0, "pg1", False, reason="refused"), Truth(1, "pg2", True, is_in_recovery=False))


def only(found: Sequence[Finding]) -> Finding:
    [finding] = found
    return finding


def test_pgpools_that_see_what_postgresql_says_agree() -> None:
    assert find(Seen(views(), truths(), Wanted(3, dict.fromkeys(PGPOOLS, SHARES)))) == []


@pytest.mark.parametrize(
    ("seen", "about", "who", "said", "remedy"),
    [
        (
            Seen(views(view("pgpool-2", 1, status="down")), truths()),
            "pg2 status",
            "pgpool-2",
            "pgpool-2 holds pg2 for down, but PostgreSQL answers there. It gets no reads from there.",
            "Attach it on the page of pg2, or by POST …/backends/1/attach/, where it is checked first. Risk:",
        ),
        (
            Seen(
                views(*(view(pgpool, 1, status="down") for pgpool in PGPOOLS)),
                truths(Truth(1, "pg2", True, is_in_recovery=True, is_streaming=False)),
            ),
            "pg2 status",
            "pgpool-1 and pgpool-2",
            "It gets no reads from any pgpool.",
            "First let pg2 stream from the primary again; then attach it on the page of pg2, or by POST",
        ),
        (
            Seen(views(view("pgpool-1", 2, pg_status="down")), truths(Truth(2, "pg3", False, reason="refused"))),
            "pg3 status",
            "pgpool-1",
            "pgpool-1 holds pg3 for up, but it answers neither Lifeguard nor pgpool's own probe.",
            "or detach it now on the page of pg3, or by POST …/backends/2/detach/, where it is checked first.",
        ),
        (
            Seen(views(), truths(Truth(2, "pg3", False, reason="db3:5432 refused the connection"))),
            "pg3 status",
            "Lifeguard's own connection",
            "pgpool-1 and pgpool-2 reach pg3, Lifeguard does not: db3:5432 refused the connection.",
            "another address in Settings",
        ),
        (
            Seen([*views()[:3], *promoted("pgpool-2")], PROMOTED),
            "pg2 role",
            "pgpool-1",
            "pgpool-1 holds pg1 for the primary, but pg2 is: PostgreSQL says so itself.",
            "Restart pgpool-1",
        ),
        (
            Seen(views(view("pgpool-2", 0, role="standby")), truths()),
            "pg1 role",
            "pgpool-2",
            "pgpool-2 has found no primary, but pg1 is: PostgreSQL says so itself. Writes through it fail.",
            "Restart pgpool-2",
        ),
        (
            Seen(views(view("pgpool-2", 1, weight_share=0.75), view("pgpool-2", 2, weight_share=0.25)), truths()),
            "weights",
            NOBODY_KNOWS,
            "pgpool-2 runs other weights than pgpool-1, and no revision says that this is meant.",
            "Start a rollout",
        ),
        (
            Seen(
                views(view("pgpool-2", 1, weight_share=0.75), view("pgpool-2", 2, weight_share=0.25)),
                truths(),
                Wanted(7, dict.fromkeys(PGPOOLS, SHARES)),
            ),
            "pgpool-2 weights",
            "pgpool-2",
            "pgpool-2 runs pg2 75 %, pg3 25 %; revision 7 says pg2 50 %, pg3 50 %.",
            "Roll the wanted weights out again",
        ),
        (
            Seen(views(), truths(Truth(2, "pg3", True, is_in_recovery=True, is_streaming=False))),
            "pg3 delay",
            "pgpool-1 and pgpool-2",
            "a delay of 0 for pg3, but it does not stream from the primary: 0 means not measured here, not in sync.",
            "Do not take it for caught up",
        ),
    ],
)
def test_what_is_off_is_said_with_who_is_wrong_and_what_to_do(
    seen: Seen, about: str, who: str, said: str, remedy: str
) -> None:
    finding = only([each for each in find(seen) if each.about == about])

    assert finding.who_is_wrong == who
    assert said in finding.message
    assert remedy in finding.remedy


@pytest.mark.parametrize(
    ("seen", "remedy"),
    [
        (Seen(views(view("pgpool-2", 1, status="down")), truths()), "by pcp_attach_node -n 1 at pgpool-2, since the"),
        (
            Seen(views(view("pgpool-1", 2, pg_status="down")), truths(Truth(2, "pg3", False, reason="refused"))),
            "by pcp_detach_node -n 2 at pgpool-1, since the cluster is observe only here.",
        ),
    ],
)
def test_where_lifeguard_only_observes_the_command_is_named(seen: Seen, remedy: str) -> None:
    assert "pcp_" not in "".join(each.remedy for each in find(seen))

    assert remedy in "".join(each.remedy for each in find(replace(seen, is_observed=True)))


def test_a_finding_about_weights_names_the_backends_that_differ() -> None:
    differing = views(view("pgpool-2", 1, weight_share=0.75), view("pgpool-2", 2, weight_share=0.25))

    for wanted in (None, Wanted(7, dict.fromkeys(PGPOOLS, SHARES))):
        finding = only(find(Seen(differing, truths(), wanted)))
        assert finding.node_ids == (1, 2)
        assert [finding.is_about("pgpool-2", node_id) for node_id in range(3)] == [False, True, True]
        assert not finding.is_about("pgpool-1", 1)


def test_a_promotion_that_one_pgpool_has_not_seen_is_one_finding_about_the_primary() -> None:
    found = find(Seen([*views()[:3], *promoted("pgpool-2")], PROMOTED))

    assert [each.about for each in found if each.field == "role"] == ["pg2 role"]


def test_an_old_primary_that_came_back_is_never_to_be_attached_as_it_is() -> None:
    seen = Seen([*promoted("pgpool-1"), *promoted("pgpool-2")], truths(*TRUTHS[:1], PROMOTED[1]))

    role, status = find(seen)
    assert role.message == "pg1 and pg2 both take writes: each has rows that the other lacks."
    assert role.who_is_wrong == status.who_is_wrong == "pg1"
    assert status.remedy.startswith("Do not attach pg1 as it is")


def test_a_delay_of_zero_while_the_primary_is_down_is_not_in_sync() -> None:
    gone = [view(pgpool, 0, status="down", role="standby", pg_status="down") for pgpool in PGPOOLS]

    found = find(Seen(views(*gone), truths(Truth(0, "pg1", False, reason="refused"))))
    assert [(each.about, each.field) for each in found] == [("pg2 delay", "delay"), ("pg3 delay", "delay")]
    assert all("no primary answers" in each.message for each in found)


def test_primaries_that_postgresql_does_not_settle_are_nobodys_fault() -> None:
    silent = [Truth(node_id, f"pg{node_id + 1}", None) for node_id in SHARES]

    finding = only(find(Seen([*views()[:3], *promoted("pgpool-2")], silent)))
    assert finding.who_is_wrong == NOBODY_KNOWS
    assert "pgpool-1 says pg1, pgpool-2 says pg2" in finding.message


def test_weights_that_a_revision_gives_each_pgpool_for_itself_are_no_disagreement() -> None:
    own = {"pgpool-1": SHARES, "pgpool-2": {0: 0.0, 1: 0.75, 2: 0.25}}
    differing = views(view("pgpool-2", 1, weight_share=0.75), view("pgpool-2", 2, weight_share=0.25))

    assert find(Seen(differing, truths(), Wanted(7, own))) == []


def test_what_is_not_current_is_no_ground_for_a_finding() -> None:
    unknown = [replace(one, weight_share=None, pg_status=None, delay_bytes=None) for one in views()]
    silent = [replace(one, answers=None, is_in_recovery=None, is_streaming=None) for one in TRUTHS]

    assert find(Seen(unknown, silent)) == []
