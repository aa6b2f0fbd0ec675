"""Who is wrong about a backend: every pgpool's view of it beside what PostgreSQL itself says, in words."""

from collections.abc import Iterator, Sequence

from apps.clusters.domain.disagreeing_figures import delays, weights
from apps.clusters.domain.pgpool_views import NOBODY_KNOWS, Finding, Seen, Truth, View, capital, listed, verb


def find(seen: Seen) -> list[Finding]:
    """Every disagreement: roles first, since writes hang on them; then status, weights and delays."""
    return [*_roles(seen), *_statuses(seen), *weights(seen), *delays(seen)]


def _roles(seen: Seen) -> Iterator[Finding]:
    primaries = seen.primaries
    if len(primaries) > 1:
        yield _two_primaries(seen, primaries)
    elif primaries:
        yield from _other_primary(seen, primaries[0])
    else:
        yield from _no_primary(seen)


def _two_primaries(seen: Seen, primaries: Sequence[Truth]) -> Finding:
    used = {view.node_id for view in seen.views if view.role == "primary" and view.is_up}
    spare = [truth.name for truth in primaries if truth.node_id not in used]
    anew = "make it a standby anew (pg_rewind or pg_basebackup)"
    remedy = f"Stop writes, decide which one stays, and for the other one: {anew}."
    if len(spare) == 1:
        remedy = (
            f"No pgpool uses {spare[0]} as the primary: keep clients away from it, save what was written there, "
            f"then {anew}. Do not attach it before."
        )
    return Finding(
        about="primary",
        who_is_wrong=spare[0] if len(spare) == 1 else "PostgreSQL",
        message=f"{listed([truth.name for truth in primaries])} both take writes: each has rows that the other lacks.",
        remedy=remedy,
        field="role",
    )


def _other_primary(seen: Seen, primary: Truth) -> Iterator[Finding]:
    """pgpools that have not seen a promotion, or have found no primary at all."""
    named = _primary_by_pgpool(seen)
    names = {truth.node_id: truth.name for truth in seen.truths}
    for believed in dict.fromkeys(named.values()):
        wrong = tuple(pgpool for pgpool, node_id in named.items() if node_id == believed)
        if believed == primary.node_id:
            continue
        who = listed(wrong)
        if believed is None:
            said = f"{who} {verb(wrong, 'has', 'have')} found no primary"
            harm = "writes through it fail." if len(wrong) == 1 else "writes through them fail."
        else:
            said = f"{who} {verb(wrong, 'holds', 'hold')} {names.get(believed, f'backend {believed}')} for the primary"
            harm = "writes go to the wrong server there, and fail or are lost."
        yield Finding(
            about=f"{primary.name} role",
            who_is_wrong=who,
            message=f"{said}, but {primary.name} is: PostgreSQL says so itself. {capital(harm)}",
            remedy=(
                f"Restart {who}: a pgpool looks for the primary when it starts. Its clients have to connect again. If "
                "it names the wrong one once more, see that sr_check_user may sign in at every backend."
            ),
            field="role",
            node_id=primary.node_id,
            pgpools=wrong,
        )


def _no_primary(seen: Seen) -> Iterator[Finding]:
    asked = [truth for truth in seen.truths if truth.answers is not None]
    if asked and all(truth.answers for truth in asked) and len(asked) == len(seen.truths):
        yield Finding(
            about="primary",
            who_is_wrong="PostgreSQL",
            message="Every backend is in recovery: there is no primary, and writes fail.",
            remedy="Promote the standby that is furthest ahead: SELECT pg_promote() there.",
            field="role",
        )
    named = {pgpool: node_id for pgpool, node_id in _primary_by_pgpool(seen).items() if node_id is not None}
    if len(set(named.values())) > 1:
        names = {truth.node_id: truth.name for truth in seen.truths}
        said = ", ".join(f"{pgpool} says {names.get(node_id, node_id)}" for pgpool, node_id in sorted(named.items()))
        yield Finding(
            about="primary",
            who_is_wrong=NOBODY_KNOWS,
            message=f"The pgpools name different primaries ({said}), and PostgreSQL gave no answer that settles it.",
            remedy="Ask the backends themselves: SELECT pg_is_in_recovery() is false on the primary only.",
            field="role",
            pgpools=tuple(sorted(named)),
            node_ids=tuple(sorted(set(named.values()))),
        )


def _primary_by_pgpool(seen: Seen) -> dict[str, int | None]:
    """pgpool -> the node_id that it holds for the primary; None where it names none."""
    found: dict[str, int | None] = dict.fromkeys(seen.pgpools)
    for view in seen.views:
        if view.role == "primary":
            found[view.pgpool] = view.node_id
    return found


def _statuses(seen: Seen) -> Iterator[Finding]:
    for truth in seen.truths:
        views = seen.of(truth.node_id)
        down = tuple(view.pgpool for view in views if not view.is_up)
        if truth.answers and down:
            yield _down_but_answers(seen, truth, down, is_everywhere=len(down) == len(views))
        elif truth.answers is False:
            yield from _up_but_silent(seen, truth, [view for view in views if view.is_up])


def _down_but_answers(seen: Seen, truth: Truth, down: tuple[str, ...], *, is_everywhere: bool) -> Finding:
    is_old_primary = truth.is_primary and len(seen.primaries) > 1
    whence = "any pgpool" if is_everywhere else "there"
    return Finding(
        about=f"{truth.name} status",
        who_is_wrong=truth.name if is_old_primary else listed(down),
        message=f"{listed(down)} {verb(down, 'holds', 'hold')} {truth.name} for down, but PostgreSQL answers there. "
        f"It gets no reads from {whence}.",
        remedy=_attach(seen, truth, down, is_old_primary=is_old_primary),
        field="status",
        node_id=truth.node_id,
        pgpools=down,
    )


def _attach(seen: Seen, truth: Truth, down: Sequence[str], *, is_old_primary: bool) -> str:
    """pgpool attaches whatever answers: it does not look whether the rows there are those of this cluster."""
    how = _by(seen, truth, "attach", down)
    if is_old_primary:
        return (
            f"Do not attach {truth.name} as it is: it runs as a primary of its own, and clients would use rows that "
            "the cluster does not have. Make it a standby anew (pg_rewind or pg_basebackup), then attach it."
        )
    if truth.is_primary:
        return f"Attach it {how}. Risk: writes go there at once; be sure that no other server was promoted."
    if truth.is_streaming is False:
        return (
            f"First let {truth.name} stream from the primary again; then attach it {how}. Risk of attaching it before: "
            "clients read rows that are as old as its cut."
        )
    return (
        f"Attach it {how}. Risk: open sessions of that pgpool may be cut, and new ones read from {truth.name} at "
        "once; it has to be a standby of this cluster, which pgpool does not check."
    )


def _by(seen: Seen, truth: Truth, action: str, pgpools: Sequence[str]) -> str:
    """Lifeguard looks first whether it may be done, and which server has this number at each pgpool."""
    if seen.is_observed:
        return f"by pcp_{action}_node -n {truth.node_id} at {listed(pgpools)}, since the cluster is observe only here"
    return f"on the page of {truth.name}, or by POST …/backends/{truth.node_id}/{action}/, where it is checked first"


def _up_but_silent(seen: Seen, truth: Truth, up: Sequence[View]) -> Iterator[Finding]:
    blind = tuple(view.pgpool for view in up if view.pg_status == "down")
    reached = tuple(view.pgpool for view in up if view.pg_status == "up")
    if blind:
        yield Finding(
            about=f"{truth.name} status",
            who_is_wrong=listed(blind),
            message=f"{listed(blind)} {verb(blind, 'holds', 'hold')} {truth.name} for up, but it answers neither "
            "Lifeguard nor pgpool's own probe. Reads sent there fail.",
            remedy="Check health_check_period and health_check_max_retries, which say when pgpool gives it up; "
            f"or detach it now {_by(seen, truth, 'detach', blind)}.",
            field="status",
            node_id=truth.node_id,
            pgpools=blind,
        )
    elif reached:
        yield Finding(
            about=f"{truth.name} status",
            who_is_wrong="Lifeguard's own connection",
            message=f"{listed(reached)} {verb(reached, 'reaches', 'reach')} {truth.name}, Lifeguard does not: "
            f"{truth.reason.rstrip('.') or 'no answer'}.",
            remedy="Nothing can be said of its role and lag until Lifeguard reaches it: mend the reason, or give it "
            "another address in Settings.",
            field="status",
            node_id=truth.node_id,
        )
