"""Weights that are not those of the revision, and delays that look like in sync and are none."""

from collections.abc import Iterator, Mapping

from apps.clusters.domain.pgpool_views import NOBODY_KNOWS, Finding, Seen, View, listed, percent, verb

# SHOW POOL_NODES prints a share with six decimals.
SHARE_DIGITS = 0.000002


def weights(seen: Seen) -> Iterator[Finding]:
    """Against the revision, which says what is meant; weights that it gives each pgpool for itself are no finding."""
    known = {pgpool: found for pgpool in seen.pgpools if (found := _shares(seen, pgpool))}
    if seen.wanted is None:
        yield from _unexplained(known)
        return
    names = {truth.node_id: truth.name for truth in seen.truths}
    for pgpool, found in known.items():
        expected = seen.wanted.shares.get(pgpool, {})
        off = [node_id for node_id in expected if abs(expected[node_id] - found.get(node_id, 0.0)) > SHARE_DIGITS]
        if off:
            runs = ", ".join(f"{names.get(n, n)} {percent(found.get(n, 0.0))}" for n in off)
            meant = ", ".join(f"{names.get(n, n)} {percent(expected[n])}" for n in off)
            yield Finding(
                about=f"{pgpool} weights",
                who_is_wrong=pgpool,
                message=f"{pgpool} runs {runs}; revision {seen.wanted.number} says {meant}.",
                remedy="Roll the wanted weights out again on the Weights page, or start from the live files there.",
                field="weight",
                pgpools=(pgpool,),
                node_ids=tuple(off),
            )


def _unexplained(known: Mapping[str, Mapping[int, float]]) -> Iterator[Finding]:
    """Without a revision nobody said that weights differ on purpose."""
    if not known:
        return
    first, *rest = known
    others = [name for name in rest if _different(known[first], known[name])]
    if others:
        off = {node_id for name in others for node_id in _different(known[first], known[name])}
        yield Finding(
            about="weights",
            who_is_wrong=NOBODY_KNOWS,
            message=f"{listed(others)} {verb(others, 'runs', 'run')} other weights than {first}, and no revision says "
            "that this is meant.",
            remedy="Start a rollout on the Weights page: then it is on record which weights are wanted.",
            field="weight",
            pgpools=tuple(others),
            node_ids=tuple(sorted(off)),
        )


def _shares(seen: Seen, pgpool: str) -> dict[int, float]:
    """node_id -> share; empty where one of them is not known now, since shares mean something together only."""
    views = [view for view in seen.views if view.pgpool == pgpool]
    found = {view.node_id: view.weight_share for view in views if view.weight_share is not None}
    return found if len(found) == len(views) else {}


def _different(one: Mapping[int, float], other: Mapping[int, float]) -> list[int]:
    """Backends whose shares are not alike, or of which only one of them tells."""
    shared = one.keys() & other.keys()
    return sorted({n for n in shared if abs(one[n] - other[n]) > SHARE_DIGITS} | (one.keys() ^ other.keys()))


def delays(seen: Seen) -> Iterator[Finding]:
    """While the primary is away pgpool shows 0 for every standby: that is no measurement."""
    has_primary = bool(seen.primaries)
    is_known = all(truth.answers is not None for truth in seen.truths)
    for truth in seen.truths:
        if truth.is_primary or not (truth.is_streaming is False or (is_known and not has_primary)):
            continue
        wrong = tuple(view.pgpool for view in seen.of(truth.node_id) if view.is_up and _shows_no_delay(view))
        if wrong:
            why = "no primary answers" if not has_primary else "it does not stream from the primary"
            yield Finding(
                about=f"{truth.name} delay",
                who_is_wrong=listed(wrong),
                message=f"{listed(wrong)} {verb(wrong, 'shows', 'show')} a delay of 0 for {truth.name}, but {why}: "
                "0 means not measured here, not in sync.",
                remedy="Do not take it for caught up. Its delay is measured again once it streams from a primary.",
                field="delay",
                node_id=truth.node_id,
                pgpools=wrong,
            )


def _shows_no_delay(view: View) -> bool:
    return view.role != "primary" and (view.delay_bytes == 0 or view.delay_s == 0)
