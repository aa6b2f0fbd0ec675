"""What PCP tells of the watchdog, as real pgpools told it: read, and judged."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.clusters.domain import watchdog_verdict
from apps.clusters.domain.pgpool_views import NOBODY_KNOWS, Finding
from apps.clusters.domain.watchdog import Watchdog, WatchdogUnreadable, parse
from apps.clusters.domain.watchdog_verdict import Member, WatchdogView, Watched, sentence

CAPTURED = Path(__file__).parents[2] / "captured" / "pgpool-4.3.5" / "watchdog"
NAMES = ("pgpool-1", "pgpool-2", "pgpool-3")
NOW = datetime(2026, 3, 17, 14, 32, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)


def text_of(scene: str, pgpool: str) -> str:
    return (CAPTURED / f"{scene}.{pgpool}.message").read_bytes().split(b"\0")[1].decode()


def told(scene: str, pgpool: str) -> Watchdog:
    return parse(text_of(scene, pgpool))


NODE_NAMES = {pgpool: told("all-up", pgpool).own.name for pgpool in NAMES}


def views(scene: str, *pgpools: str) -> list[WatchdogView]:
    return [WatchdogView(pgpool, told(scene, pgpool), NOW, LONG_AGO) for pgpool in pgpools or NAMES]


def members(**silent: bool | None) -> list[Member]:
    """All answer Lifeguard, for an hour, but for these: pgpool_2=False."""
    return [
        Member(
            name, NODE_NAMES[name], answers=silent.get(name.replace("-", "_"), True), since=LONG_AGO, reason="refused"
        )
        for name in NAMES
    ]


def found(seen: Sequence[WatchdogView], them: Sequence[Member] | None = None, *off: str) -> list[Finding]:
    return watchdog_verdict.find(Watched(seen, members() if them is None else them, off))


def only(findings: Sequence[Finding]) -> Finding:
    [finding] = findings
    return finding


def leading(view: WatchdogView, *, quorum: str, **changes: Any) -> WatchdogView:
    """It holds itself for the leader, and the others for lost."""
    own = replace(view.watchdog.own, state="leader")
    others = tuple(replace(node, state="lost") for node in view.watchdog.nodes[1:])
    watchdog = replace(view.watchdog, quorum=quorum, leader_name=own.name, nodes=(own, *others))
    return replace(view, watchdog=watchdog, **changes)


def test_a_real_trio_is_read() -> None:
    watchdog = told("all-up", "pgpool-2")

    assert (watchdog.quorum, watchdog.needed, watchdog.delegate_ip) == ("present", 2, "")
    assert watchdog.leader_name == NODE_NAMES["pgpool-1"]
    assert [(node.name, node.state, node.priority) for node in watchdog.nodes] == [
        (NODE_NAMES["pgpool-2"], "standby", 2),
        (NODE_NAMES["pgpool-1"], "leader", 3),
        (NODE_NAMES["pgpool-3"], "standby", 1),
    ]
    assert not watchdog.is_leader
    assert told("all-up", "pgpool-1").is_leader
    assert told("electing", "pgpool-2").is_electing


def test_the_holder_of_the_virtual_address_is_known() -> None:
    text = text_of("all-up", "pgpool-1").replace('"DelegateIP":"Not_Set"', '"DelegateIP":"192.0.2.9"')
    leader = parse(text)
    standby = parse(text_of("all-up", "pgpool-2").replace('"DelegateIP":"Not_Set"', '"DelegateIP":"192.0.2.9"'))

    assert (leader.delegate_ip, leader.holds_address, standby.holds_address) == ("192.0.2.9", True, False)
    seen = Watched([WatchdogView("pgpool-1", leader, NOW, LONG_AGO)], members())
    assert sentence(seen, []).endswith("make a quorum. 192.0.2.9 is held by pgpool-1.")


def test_a_leader_was_called_master_before_4_2() -> None:
    older = text_of("all-up", "pgpool-1").replace('"LEADER"', '"MASTER"').replace("LeaderNodeName", "MasterNodeName")

    assert parse(older).is_leader
    assert parse(older).leader_name == NODE_NAMES["pgpool-1"]


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "[]",
        "{}",
        "null",
        "[" * 5000,
        '{"WatchdogNodes": [], "QuorumStatus": 1}',
        '{"WatchdogNodes": [{}], "QuorumStatus": 1}',
        '{"WatchdogNodes": 7, "QuorumStatus": "x"}',
        text_of("all-up", "pgpool-1").replace("LEADER", "LEA\\u0000DER"),
        text_of("all-up", "pgpool-1").replace("127.0.0.1:", "\\ud800"),
        text_of("all-up", "pgpool-1").replace('"QuorumStatus":1', '"QuorumStatus":NaN'),
    ],
)
def test_what_is_no_watchdog_is_unreadable(broken: str) -> None:
    with pytest.raises(WatchdogUnreadable):
        parse(broken)


@pytest.mark.parametrize(
    ("scene", "pgpools", "silent"),
    [
        ("all-up", NAMES, {}),
        ("one-frozen", ("pgpool-1", "pgpool-3"), {"pgpool_2": False}),
        ("one-stopped", ("pgpool-1", "pgpool-2"), {"pgpool_3": False}),
        ("leader-killed", ("pgpool-2", "pgpool-3"), {"pgpool_1": False}),
        ("electing", ("pgpool-2", "pgpool-3"), {"pgpool_1": None}),
    ],
)
def test_watchdogs_that_see_what_lifeguard_sees_agree(
    scene: str, pgpools: Sequence[str], silent: dict[str, bool | None]
) -> None:
    seen = views(scene, *pgpools)
    if scene == "electing":
        seen = [replace(view, since=NOW - timedelta(seconds=5)) for view in seen]

    assert found(seen, members(**silent)) == []


def test_the_sentence_tells_who_leads() -> None:
    assert sentence(Watched(views("leader-killed", "pgpool-2", "pgpool-3"), members()), []) == (
        "pgpool-2 leads, and 2 of 3 pgpools are alive, of which 2 make a quorum. No virtual address is configured."
    )
    assert "settling who leads" in sentence(Watched(views("electing", "pgpool-2"), members()), [])


def test_one_that_is_lost_for_the_others_and_answers_is_told() -> None:
    finding = only(found(views("one-frozen", "pgpool-1", "pgpool-3")))

    assert (finding.about, finding.who_is_wrong) == (
        "pgpool-2 in the watchdog",
        "the watchdog at pgpool-1 and pgpool-3",
    )
    assert "hold pgpool-2 for lost, but it answers Lifeguard" in finding.message
    assert "restart pgpool-2" in finding.remedy


def test_one_that_has_just_come_back_is_given_a_moment() -> None:
    back = [replace(one, since=NOW - timedelta(seconds=3)) for one in members()]

    assert found(views("one-frozen", "pgpool-1", "pgpool-3"), back) == []


def test_one_that_lives_for_the_others_and_does_not_answer_is_told() -> None:
    finding = only(found(views("all-up", "pgpool-1", "pgpool-3"), members(pgpool_2=False)))

    assert "hold pgpool-2 for alive, but it does not answer Lifeguard (refused)" in finding.message


def test_no_quorum_names_those_who_are_missing() -> None:
    finding = only(found(views("two-killed", "pgpool-3"), members(pgpool_1=False, pgpool_2=False)))

    assert (finding.about, finding.who_is_wrong) == ("watchdog quorum", "pgpool-1 and pgpool-2")
    assert "no quorum: 1 of 3 pgpools alive, 2 are needed. No failover" in finding.message
    assert finding.remedy == "Bring back pgpool-1 and pgpool-2."


def test_two_leaders_are_a_split_brain_and_the_one_without_a_quorum_is_wrong() -> None:
    one, two, three = views("all-up")
    lonely = leading(one, quorum="absent")
    others = [
        leading(two, quorum="present"),
        replace(three, watchdog=replace(three.watchdog, leader_name=NODE_NAMES["pgpool-2"])),
    ]

    finding = found([lonely, *others])[0]

    assert (finding.about, finding.who_is_wrong) == ("watchdog leader", "pgpool-1")
    assert finding.message.startswith("Split brain: pgpool-1 and pgpool-2 each hold themselves for the leader")
    assert "restart pgpool-1, without a quorum there" in finding.remedy
    assert sentence(Watched([lonely], members()), [finding]) == "Nobody can say who leads. 1 disagreement, told above."
    both = [lonely, leading(two, quorum="absent")]
    assert found(both)[0].who_is_wrong == NOBODY_KNOWS


def test_a_leader_that_was_asked_before_the_next_one_led_is_no_split_brain() -> None:
    one, two, _three = views("all-up")
    killed = replace(one, told_at=NOW - timedelta(seconds=8))
    next_one = leading(two, quorum="present", since=NOW - timedelta(seconds=2))

    assert [each.about for each in found([killed, next_one], members(pgpool_3=None)) if "leader" in each.about] == []


def test_watchdogs_that_name_different_leaders_are_told() -> None:
    one, two, three = views("all-up")
    astray = replace(three, watchdog=replace(three.watchdog, leader_name=NODE_NAMES["pgpool-2"]))

    finding = only(found([one, two, astray]))

    assert finding.who_is_wrong == "pgpool-3"
    assert "(pgpool-1 and pgpool-2: pgpool-1; pgpool-3: pgpool-2)" in finding.message


def test_an_election_that_does_not_end_is_told() -> None:
    finding = only(found(views("electing", "pgpool-2", "pgpool-3"), members(pgpool_1=None)))

    assert finding.message.startswith("The watchdog has not settled for 3600 s: pgpool-3 is initializing.")


def test_a_watchdog_that_runs_here_and_not_there_is_told() -> None:
    pair = [
        replace(view, watchdog=replace(view.watchdog, nodes=view.watchdog.nodes[:2]))
        for view in views("all-up", "pgpool-1", "pgpool-2")
    ]

    finding = only(found(pair, members(), "pgpool-3"))

    assert (finding.about, finding.who_is_wrong) == ("watchdog", "pgpool-3")
    assert "A watchdog runs at pgpool-1 and pgpool-2 and none at pgpool-3" in finding.message
    assert found([], members(), *NAMES) == []


def test_a_pgpool_that_only_the_watchdog_knows_is_told() -> None:
    strangers = [*members()[:2], Member(None, NODE_NAMES["pgpool-3"])]

    finding = only(found(views("all-up", "pgpool-1", "pgpool-2"), strangers))

    assert finding.who_is_wrong == "the registration"
    assert NODE_NAMES["pgpool-3"] in finding.message


def test_the_captured_answers_are_json() -> None:
    assert all(
        "WatchdogNodes" in json.loads(each.read_bytes().split(b"\0")[1])
        for each in CAPTURED.iterdir()
        if not each.name.startswith("off.")
    )
