"""What attaching, detaching or draining a backend would do: why it must not be done, and what it costs if it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apps.clusters.domain.routing_words import listed

ATTACH, DETACH, DRAIN = "attach", "detach", "drain"
UP = {"up", "waiting"}


@dataclass(frozen=True, slots=True)
class PgpoolFound:
    """One pgpool, as it was asked just now. trouble: why it did not answer.

    other_numbers: how it numbers the backends otherwise than the cluster; nothing else is known of it then.
    statuses, roles: by node_id. sessions: those of others that may read from the backend, None where not counted;
    tells_where: whether pgpool tells where a session reads (4.5), so that each of them does.
    """

    name: str
    has_pcp: bool = True
    trouble: str = ""
    other_numbers: Sequence[str] = ()
    statuses: Mapping[int, str] = field(default_factory=dict)
    roles: Mapping[int, str] = field(default_factory=dict)
    shares: Mapping[int, float | None] = field(default_factory=dict)
    is_auto_failback: bool = False
    sessions: int | None = None
    tells_where: bool = False


@dataclass(frozen=True, slots=True)
class BackendFound:
    """One backend, as it said itself just now. streams: whether the primary sends it WAL; None on a primary."""

    node_id: int
    name: str
    trouble: str = ""
    is_in_recovery: bool | None = None
    streams: bool | None = None
    lag_text: str = ""
    is_lagging: bool = False


@dataclass(frozen=True, slots=True)
class Assessment:
    """refusals: why it is not done; risks: what will happen. settled: that it is so already. All are sentences."""

    refusals: tuple[str, ...]
    risks: tuple[str, ...]
    settled: str = ""


def assess(kind: str, node_id: int, pgpools: Sequence[PgpoolFound], backends: Sequence[BackendFound]) -> Assessment:
    """kind: attach, detach or drain. Raises KeyError for a backend that is none of the cluster's."""
    backend = {each.node_id: each for each in backends}[node_id]
    answering = [each for each in pgpools if not each.trouble and not each.other_numbers]
    refusals, settled = [*_unsteerable(pgpools), *_mixed_up(kind, pgpools)], ""
    if not any(each.other_numbers for each in pgpools):
        settled = _settled(kind, backend, answering)
    if kind == ATTACH:
        refusals += _not_attachable(backend, answering, backends)
        risks = [*_of_attaching(backend, answering), *_of_silence(pgpools)]
    else:
        refusals += _not_detachable(backend, answering, backends)
        risks = [*_of_detaching(kind, backend, answering), *_of_silence(pgpools)]
    return Assessment(tuple(refusals), tuple(risks), settled)


def _unsteerable(pgpools: Sequence[PgpoolFound]) -> Iterator[str]:
    without = [each.name for each in pgpools if not each.has_pcp]
    if without:
        yield (
            f"{listed(without)} {_is(without)} registered without PCP, the only way to attach or detach a backend. "
            "Give the PCP port and user in Settings."
        )
    if pgpools and all(each.trouble for each in pgpools):
        yield f"No pgpool answers: {pgpools[0].trouble.rstrip('.')}."


def _mixed_up(kind: str, pgpools: Sequence[PgpoolFound]) -> Iterator[str]:
    """PCP takes a number, and the same number is another server there."""
    done = "attached" if kind == ATTACH else "detached"
    for each in pgpools:
        if each.other_numbers:
            yield (
                f"{each.name} numbers the backends differently: {'; '.join(each.other_numbers)}. Another server may be "
                f"{done} there, so nothing is {done} at any pgpool. First give all pgpools the same backend_hostnameN "
                f"and backend_portN, and restart {each.name}; or register the cluster anew if they changed for good."
            )


def _settled(kind: str, backend: BackendFound, answering: Sequence[PgpoolFound]) -> str:
    wanted, word = (UP, "up") if kind == ATTACH else ({"down"}, "down")
    if answering and all(each.statuses.get(backend.node_id) in wanted for each in answering):
        return f"{backend.name} is {word} at every pgpool that answers: there is nothing to {kind}."
    return ""


def _not_detachable(
    backend: BackendFound, answering: Sequence[PgpoolFound], backends: Sequence[BackendFound]
) -> Iterator[str]:
    here, name = backend.node_id, backend.name
    believing = [each.name for each in answering if _has_for_primary(each, here)]
    if backend.is_in_recovery is False or (backend.is_in_recovery is None and believing):
        yield (
            f"{name} is the primary: pgpool would fail over as soon as it is detached. Make another backend the "
            "primary first, by a switchover."
        )
        return
    if believing:
        yield _held_for_primary(backend, believing, backends)
        return
    last = [each.name for each in answering if not any(_ups(each) - {here})]
    if last:
        yield f"{name} is the last backend that is up at {listed(last)}: detached, nobody would be served there."
    failing_back = [each.name for each in answering if each.is_auto_failback]
    if failing_back and backend.streams:
        yield (
            f"auto_failback is on at {listed(failing_back)}: pgpool attaches {name} again by itself within "
            "auto_failback_interval, since it streams from the primary. Set auto_failback = off first."
        )


def _held_for_primary(backend: BackendFound, believing: Sequence[str], backends: Sequence[BackendFound]) -> str:
    """A promotion past pgpool: what pgpool believes is what its failover goes by."""
    who, one = listed(believing), len(believing) == 1
    primaries = [each.name for each in backends if each.is_in_recovery is False]
    beside = f" beside {listed(primaries)}, which is the primary" if primaries else ""
    return (
        f"{who} {'holds' if one else 'hold'} {backend.name} for the primary, but PostgreSQL says that it is a standby. "
        f"Detached, pgpool would fail over there, and its failover_command may promote another backend{beside}. "
        f"Restart {who} first, so that {'it looks' if one else 'they look'} for the primary anew."
    )


def _not_attachable(
    backend: BackendFound, answering: Sequence[PgpoolFound], backends: Sequence[BackendFound]
) -> Iterator[str]:
    if backend.trouble:
        yield (
            f"PostgreSQL of {backend.name} does not answer: {backend.trouble.rstrip('.')}. pgpool would send "
            "sessions to a server that is not there."
        )
    elif backend.is_in_recovery is False:
        yield from _second_primary(backend, answering, backends)
    else:
        yield from _not_following(backend, backends)


def _second_primary(
    backend: BackendFound, answering: Sequence[PgpoolFound], backends: Sequence[BackendFound]
) -> Iterator[str]:
    names = {each.node_id: each.name for each in backends}
    primaries = {each.name for each in backends if each.is_in_recovery is False and each != backend}
    for pgpool in answering:
        believed = {node_id for node_id in pgpool.roles if _has_for_primary(pgpool, node_id)}
        primaries |= {names[node_id] for node_id in believed - {backend.node_id} if node_id in names}
    if primaries:
        yield (
            f"{backend.name} says that it is a primary, and {listed(sorted(primaries))} is one already. Attached, both "
            "would take writes: split brain. Make it a standby of that primary first (pg_rewind or a new base backup)."
        )


def _not_following(backend: BackendFound, backends: Sequence[BackendFound]) -> Iterator[str]:
    primaries = [each.name for each in backends if each.is_in_recovery is False]
    if not primaries:
        yield (
            f"No backend says that it is the primary, so nobody can tell whether {backend.name} follows it. Look at "
            "the primary first."
        )
    elif not backend.streams:
        yield (
            f"{backend.name} is a standby, but does not stream from the primary {listed(primaries)}: its answers would "
            "grow older and older. Mend its replication first."
        )


def _of_detaching(kind: str, backend: BackendFound, answering: Sequence[PgpoolFound]) -> Iterator[str]:
    counted = [each for each in answering if each.sessions is not None and each.statuses.get(backend.node_id) in UP]
    total = sum(each.sessions or 0 for each in counted)
    sessions = "1 session" if total == 1 else f"{total} sessions"
    where = f"at {listed([each.name for each in counted])}" if counted else ""
    if not counted:
        yield "How many sessions read there is not known: no pgpool that has it up counts them."
    elif all(each.tells_where for each in counted):
        yield f"{sessions} {where} {'reads' if total == 1 else 'read'} from {backend.name} now."
    else:
        yield f"{sessions} {where} may read from {backend.name} now: Pgpool-II tells which ones from 4.5 on only."
    if kind == DETACH:
        yield (
            f"pgpool closes those that do, at once and in the middle of a statement; sessions that read elsewhere go "
            f"on. New sessions go to the other backends. {backend.name} itself runs on."
        )
    else:
        yield (
            f"Its weight goes to 0 everywhere, so that new sessions read elsewhere. Sessions that began before keep "
            f"{backend.name} until they end: Lifeguard waits for them, and detaches it when they are gone."
        )


def _of_attaching(backend: BackendFound, answering: Sequence[PgpoolFound]) -> Iterator[str]:
    if backend.is_in_recovery is False:
        yield f"{backend.name} says that it is the primary, and no other backend does: pgpool takes it as the primary."
    elif backend.lag_text:
        late = ", over delay_threshold: pgpool sends it no reads until it has caught up" if backend.is_lagging else ""
        yield f"{backend.name} is a standby that streams from the primary, {backend.lag_text} behind{late}."
    down = [each for each in answering if each.statuses.get(backend.node_id) not in UP]
    if down:
        yield f"It is attached at {listed([each.name for each in down])}; new sessions may read there at once."
    weightless = [each.name for each in answering if each.shares.get(backend.node_id) == 0]
    if weightless:
        yield f"Its weight is 0 at {listed(weightless)}: it gets no reads there until the weights are changed."


def _of_silence(pgpools: Sequence[PgpoolFound]) -> Iterator[str]:
    for each in pgpools:
        if each.trouble:
            yield f"{each.name} does not answer ({each.trouble.rstrip('.')}): it is tried all the same, and told apart."


def _has_for_primary(pgpool: PgpoolFound, node_id: int) -> bool:
    return pgpool.roles.get(node_id) == "primary" and pgpool.statuses.get(node_id) in UP


def _ups(pgpool: PgpoolFound) -> set[int]:
    return {node_id for node_id, status in pgpool.statuses.items() if status in UP}


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
