"""Who is wrong about a pgpool: what every watchdog says of the others, beside who answers Lifeguard."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.clusters.domain.pgpool_views import NOBODY_KNOWS, Finding, listed, verb
from apps.clusters.domain.watchdog import Watchdog, WatchdogNode

# A watchdog that has just lost a pgpool, or got it back, needs a moment until it says so.
BACK_AFTER = timedelta(seconds=15)
# wd_heartbeat_deadtime is 30 s by default.
GONE_AFTER = timedelta(seconds=45)
# An election takes some seconds.
ELECTING_TOO_LONG = timedelta(seconds=45)
_MEND_NETWORK = (
    "Check that wd_port (TCP) and heartbeat_port (UDP) are open between their hosts, both ways, and that wd_authkey is "
    "the same everywhere."
)


@dataclass(frozen=True)
class WatchdogView:
    """What the watchdog of one pgpool told latest, all of it current. since: when it told this first."""

    pgpool: str
    watchdog: Watchdog
    told_at: datetime
    since: datetime


@dataclass(frozen=True)
class Member:
    """A pgpool. pgpool: as it is registered, None where it is not; node_name: as the watchdog calls it, "" unknown.

    answers: whether it answers Lifeguard, None where that is not known; since: since when it does, or does not.
    """

    pgpool: str | None
    node_name: str
    answers: bool | None = None
    since: datetime | None = None
    reason: str = ""

    @property
    def shown_name(self) -> str:
        return self.pgpool or self.node_name


@dataclass(frozen=True)
class Watched:
    """off: pgpools that told that no watchdog runs there."""

    views: Sequence[WatchdogView]
    members: Sequence[Member]
    off: Sequence[str] = ()

    def name_of(self, node_name: str) -> str:
        return next((one.shown_name for one in self.members if one.node_name == node_name), node_name)

    @property
    def is_electing(self) -> bool:
        return any(view.watchdog.is_electing for view in self.views)


def find(watched: Watched) -> list[Finding]:
    """Every disagreement; what may make two primaries comes first. Nothing where no watchdog tells anything."""
    if not watched.views:
        return []
    if watched.is_electing:
        return [*_leaders(watched), *_stuck(watched), *_off(watched)]
    return [
        *_leaders(watched),
        *_quorum(watched),
        *_lost_but_answers(watched),
        *_alive_but_silent(watched),
        *_off(watched),
        *_strangers(watched),
    ]


def _leaders(watched: Watched) -> Iterator[Finding]:
    """Two views stand against each other only where both held at one time: a leader that ended is none."""
    leaders = [view for view in watched.views if view.watchdog.is_leader]
    if len(leaders) > 1:
        if _held_together(leaders):
            yield _split_brain(leaders)
        return
    if watched.is_electing or not _held_together(watched.views):
        return
    named: dict[str, list[str]] = {}
    for view in watched.views:
        named.setdefault(view.watchdog.leader_name, []).append(view.pgpool)
    if len(named) > 1:
        yield _other_leader(watched, named, {view.watchdog.own.name for view in leaders})


def _held_together(views: Sequence[WatchdogView]) -> bool:
    return max(view.since for view in views) <= min(view.told_at for view in views)


def _split_brain(leaders: Sequence[WatchdogView]) -> Finding:
    names = [view.pgpool for view in leaders]
    without = [view.pgpool for view in leaders if view.watchdog.quorum != "present"]
    is_clear = len(without) == len(leaders) - 1
    address = next((view.watchdog.delegate_ip for view in leaders if view.watchdog.delegate_ip), "")
    harm = f"each may bring up {address}" if address else "each may decide about a failover on its own"
    which = listed(without) if is_clear else "all of them but one"
    return Finding(
        about="watchdog leader",
        who_is_wrong=listed(without) if is_clear else NOBODY_KNOWS,
        message=f"Split brain: {listed(names)} each hold themselves for the leader of the watchdog; {harm}, and two "
        "primaries may be the end of it.",
        remedy=f"Keep clients on one of them. {_MEND_NETWORK} Then restart {which}"
        + (", without a quorum there, so that it joins the other." if is_clear else ", so that one leader is left."),
        field="watchdog",
        pgpools=tuple(names),
    )


def _other_leader(watched: Watched, named: dict[str, list[str]], leading: set[str]) -> Finding:
    most = max(named, key=lambda name: (name in leading, len(named[name])))
    wrong = [pgpool for name, pgpools in named.items() if name != most for pgpool in pgpools]
    said = "; ".join(f"{listed(named[name])}: {watched.name_of(name) or 'nobody'}" for name in named)
    is_clear = most in leading
    return Finding(
        about="watchdog leader",
        who_is_wrong=listed(wrong) if is_clear else NOBODY_KNOWS,
        message=f"The watchdogs name different leaders ({said}): they do not belong together as they are.",
        remedy=f"{_MEND_NETWORK} If they are, restart {listed(wrong)}: a pgpool joins the leader that it finds when it "
        "starts.",
        field="watchdog",
        pgpools=tuple(wrong),
    )


def _stuck(watched: Watched) -> Iterator[Finding]:
    stuck = [v for v in watched.views if v.watchdog.is_electing and v.told_at - v.since >= ELECTING_TOO_LONG]
    if stuck:
        seen = [
            f"{watched.name_of(node.name)} is {node.state}"
            for node in stuck[0].watchdog.nodes
            if not node.is_alive and not node.is_gone
        ]
        yield Finding(
            about="watchdog leader",
            who_is_wrong=NOBODY_KNOWS,
            message=f"The watchdog has not settled for {(stuck[0].told_at - stuck[0].since).seconds} s: "
            f"{listed(seen)}. Meanwhile no failover is agreed on.",
            remedy=f"{_MEND_NETWORK} The log of {watched.name_of(stuck[0].watchdog.own.name)} says what it waits for.",
            field="watchdog",
            pgpools=tuple(view.pgpool for view in stuck),
        )


def _quorum(watched: Watched) -> Iterator[Finding]:
    without = [view for view in watched.views if view.watchdog.quorum in ("absent", "no leader")]
    if not without:
        return
    names = [view.pgpool for view in without]
    watchdog = next((each for each in without if each.watchdog.is_leader), without[0]).watchdog
    alive = sum(node.is_alive for node in watchdog.nodes)
    gone = [watched.name_of(node.name) for node in watchdog.nodes if not node.is_alive]
    needed = f", {watchdog.needed} are needed" if watchdog.needed else ""
    yield Finding(
        about="watchdog quorum",
        who_is_wrong=listed(gone) or NOBODY_KNOWS,
        message=f"{listed(names)} {verb(names, 'says', 'say')} that the watchdog has no quorum: {alive} of "
        f"{len(watchdog.nodes)} pgpools alive{needed}. No failover is carried out while failover_when_quorum_exists is "
        "on, and nobody holds a virtual address.",
        remedy=f"Bring back {listed(gone)}." if gone else _MEND_NETWORK,
        field="watchdog",
        pgpools=tuple(names),
    )


def _lost_but_answers(watched: Watched) -> Iterator[Finding]:
    for member in watched.members:
        if not member.answers or member.since is None or member.pgpool in watched.off:
            continue
        blind = [
            (view.pgpool, node)
            for view, node in _seen_by_others(watched, member)
            if node.is_gone and view.told_at - member.since >= BACK_AFTER
        ]
        if blind:
            names, name = [pgpool for pgpool, _node in blind], member.shown_name
            yield Finding(
                about=f"{name} in the watchdog",
                who_is_wrong=f"the watchdog at {listed(names)}",
                message=f"{listed(names)} {verb(names, 'holds', 'hold')} {name} for {blind[0][1].state}, but it "
                "answers Lifeguard: clients still use it, while it has no part in failovers and learns of none.",
                remedy=f"{_MEND_NETWORK} If they are, restart {name}, so that it joins again.",
                field="watchdog",
                pgpools=tuple(names),
            )


def _alive_but_silent(watched: Watched) -> Iterator[Finding]:
    for member in watched.members:
        if member.answers is not False or member.since is None:
            continue
        names = [
            view.pgpool
            for view, node in _seen_by_others(watched, member)
            if node.is_alive and view.told_at - member.since >= GONE_AFTER
        ]
        if names:
            name = member.shown_name
            why = member.reason.rstrip(".") or "no answer"
            yield Finding(
                about=f"{name} in the watchdog",
                who_is_wrong=f"the watchdog of {name}, or Lifeguard's own connection",
                message=f"{listed(names)} {verb(names, 'holds', 'hold')} {name} for alive, but it does not answer "
                f"Lifeguard ({why}): a watchdog lives on where pgpool serves nobody.",
                remedy=f"Connect to {name} by hand. If nobody can, restart it; until then no other pgpool takes over "
                "from it. If you can, mend the way from Lifeguard to it.",
                field="watchdog",
                pgpools=tuple(names),
            )


def _seen_by_others(watched: Watched, member: Member) -> Iterator[tuple[WatchdogView, WatchdogNode]]:
    for view in watched.views:
        for node in view.watchdog.nodes:
            if node.name == member.node_name and view.pgpool != member.pgpool:
                yield view, node


def _off(watched: Watched) -> Iterator[Finding]:
    if watched.off:
        on, off = [view.pgpool for view in watched.views], list(watched.off)
        yield Finding(
            about="watchdog",
            who_is_wrong=listed(off),
            message=f"A watchdog runs at {listed(on)} and none at {listed(off)}: nobody takes over from {listed(off)}, "
            "and its failovers are its own.",
            remedy=f"Give {listed(off)} use_watchdog = on and the same list of pgpools (hostname, wd_port, "
            "pgpool_port) and restart it, or keep clients away from it.",
            field="watchdog",
            pgpools=tuple(off),
        )


def _strangers(watched: Watched) -> Iterator[Finding]:
    strangers = [member.node_name for member in watched.members if member.pgpool is None]
    if strangers:
        yield Finding(
            about="watchdog",
            who_is_wrong="the registration",
            message=f"The watchdog knows {listed(strangers)}, which Lifeguard does not watch.",
            remedy="Register it in Settings, so that weights reach it as well; if it is no longer used, remove it from "
            "the watchdog's list in every pgpool.conf.",
            field="watchdog",
        )


def sentence(watched: Watched, found: Sequence[Finding]) -> str:
    """What holds now, in a few words; there is at least one view."""
    above = f" {len(found)} disagreement{'' if len(found) == 1 else 's'}, told above." if found else ""
    if watched.is_electing:
        return f"The watchdog is settling who leads: that takes some seconds.{above}"
    if any(each.about == "watchdog leader" for each in found):
        return f"Nobody can say who leads.{above}"
    return f"{_who_leads(watched)}{above}"


def _who_leads(watched: Watched) -> str:
    view = next((each for each in watched.views if each.watchdog.is_leader), watched.views[0])
    nodes = view.watchdog.nodes
    alive = sum(node.is_alive for node in nodes)
    leader = watched.name_of(view.watchdog.leader_name)
    told = f"{leader} leads, and {alive} of {len(nodes)} pgpools are alive"
    if view.watchdog.needed:
        told += f", of which {view.watchdog.needed} make a quorum"
    address = view.watchdog.delegate_ip
    if not address:
        return f"{told}. No virtual address is configured."
    holds = [each.pgpool for each in watched.views if each.watchdog.holds_address]
    return f"{told}. {address} is held by {listed(holds) or 'nobody'}."
