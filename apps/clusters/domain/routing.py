"""Do reads follow the weights? Observed shares against wanted ones, with the band that chance allows, in words.

Session-level balancing draws a backend once per session, so the number of draws is the number of sessions, or fewer
where some sessions send most of the reads (domain.draws). Statement-level balancing draws once per read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import NormalDist

from apps.clusters.domain import routing_words
from apps.clusters.domain.routing_pool import Condition, InstanceReading, Pool, Scene, reads_of

__all__ = [
    "Condition",
    "InstanceReading",
    "NodeVerdict",
    "RoutingState",
    "Verdict",
    "pooled_verdict",
    "verdict",
]

CONFIDENCE = 0.95
CONFIDENCE_ALONE = 0.99  # one pgpool must be surer to overrule what all of them say together
# Who looks all day sees what happens once in 20 times. What asks for somebody's attention must be surer.
CONFIDENCE_CERTAIN = 0.9999
# Sessions that weigh this much less than their number are worth a word.
UNEQUAL = 0.8
TOLERANCE = 0.03
MINIMUM_DRAWS = 10
LARGEST_SHARE_AT_WEIGHT_ZERO = 0.01


class RoutingState(StrEnum):
    FOLLOWS = "follows"  # inside the tolerance
    WITHIN_NOISE = "within_noise"  # outside the tolerance, inside the band of chance
    OFF = "off"  # outside both
    TOO_LITTLE_TRAFFIC = "too_little_traffic"
    DOWN = "down"  # of one backend only: nothing to judge


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """One backend: its share by weight, among the backends that are up, and as observed, all in 0..1.

    low..high holds the observed share 95 times in 100 if only chance is at work.
    """

    node_id: int
    weight_share: float
    effective_share: float
    observed_share: float | None
    low: float | None
    high: float | None
    state: RoutingState


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one pgpool or a whole cluster, with its evidence.

    is_certain: off, and by more than chance allows once in 10,000 windows.
    draws: independent choices of a backend behind the reads; None where nothing tells.
    """

    state: RoutingState
    sentence: str
    nodes: tuple[NodeVerdict, ...]
    sessions: float | None
    reads: int
    is_certain: bool = False
    draws: float | None = None


def verdict(
    *,
    weights: Mapping[int, float],
    select_counts: Mapping[int, int],
    sessions: float | None,
    statement_level: bool,
    names: Mapping[int, str] | None = None,
    conditions: Mapping[int, Condition] | None = None,
    window_s: float | None = None,
    off_since: datetime | None = None,
    comparisons: int = 1,
    draws_per_read: float | None = None,
) -> Verdict:
    """Judge the reads that one pgpool (or a cluster taken as one) sent during a window.

    weights: node_id -> weight >= 0. select_counts: node_id -> reads during the window.
    sessions: sessions open at the start plus those started within; None where nobody counted them.
    off_since: printed as it is, so in the zone of the reader.
    comparisons: how many pgpools are judged beside each other; each needs a wider band then.
    draws_per_read: of its latest half hour, see domain.draws.
    """
    scene = Scene(statement_level, names or {}, conditions or {}, window_s, off_since)
    z = _z(CONFIDENCE) if comparisons == 1 else _z(CONFIDENCE_ALONE, comparisons)
    return _pooled([InstanceReading("", weights, select_counts, sessions, draws_per_read)], scene, z)


def pooled_verdict(
    readings: Sequence[InstanceReading],
    *,
    statement_level: bool,
    names: Mapping[int, str] | None = None,
    conditions: Mapping[int, Condition] | None = None,
    window_s: float | None = None,
    off_since: datetime | None = None,
    is_after_change: bool = False,
) -> Verdict:
    """Judge a cluster over all its pgpools, and name the one that deviates.

    A pgpool whose draws are unknown is left out, and the sentence says so.
    is_after_change: the window begins with a change of weights or of a status.
    """
    scene = Scene(statement_level, names or {}, conditions or {}, window_s, off_since, is_after_change)
    return _pooled(readings, scene, _z(CONFIDENCE))


def _pooled(readings: Sequence[InstanceReading], scene: Scene, z: float) -> Verdict:
    counted = [reading for reading in readings if scene.draws(reading) is not None]
    if readings and not counted:
        return _cannot_tell(Pool(readings, scene))
    pool = Pool(counted, scene)
    nodes = tuple(_node_verdict(pool, node_id, z) for node_id in pool.node_ids)
    state, sentence = _judged(pool, z, CONFIDENCE_ALONE)
    is_certain = state is RoutingState.OFF and _judged(pool, _z(CONFIDENCE_CERTAIN), CONFIDENCE_CERTAIN)[0] is state
    left_out = [reading.name for reading in readings if reading not in counted and reads_of(reading)]
    sentence = f"{sentence}{routing_words.away(scene.away(pool.node_ids))}.{routing_words.left_out(left_out)}"
    sessions = [reading.sessions for reading in counted if reading.sessions is not None]
    total = math.fsum(sessions) if sessions else None
    return Verdict(state, sentence, nodes, total, pool.reads, is_certain, pool.draws if readings else None)


def _judged(pool: Pool, z: float, confidence_alone: float) -> tuple[RoutingState, str]:
    """The state and its sentence, without the full stop: of all together, and of one pgpool where that stands out."""
    state, sentence = _answer(pool, [_node_verdict(pool, node_id, z) for node_id in pool.node_ids], z)
    if len(pool.readings) > 1 and state is not RoutingState.TOO_LITTLE_TRAFFIC:
        return _with_deviating(pool, state, sentence, _z(confidence_alone, len(pool.readings)))
    return state, sentence


def _node_verdict(pool: Pool, node_id: int, z: float) -> NodeVerdict:
    wanted, margin = pool.effective_share(node_id), z * pool.standard_error(node_id)
    if not pool.reads or node_id not in pool.up:
        low = high = None
    else:
        scale = pool.reads_up / pool.reads
        room = margin if wanted > 0 else LARGEST_SHARE_AT_WEIGHT_ZERO
        low, high = max(0.0, wanted - room) * scale, min(1.0, wanted + room) * scale
    return NodeVerdict(
        node_id,
        pool.weight_share(node_id),
        wanted if node_id in pool.up else 0.0,
        pool.observed_share(node_id),
        low,
        high,
        _node_state(pool, node_id, margin),
    )


def _node_state(pool: Pool, node_id: int, margin: float) -> RoutingState:
    if node_id not in pool.up:
        return RoutingState.DOWN
    if pool.draws < MINIMUM_DRAWS:
        return RoutingState.TOO_LITTLE_TRAFFIC
    deviation = abs(pool.deviation(node_id))
    if pool.effective_share(node_id) == 0:
        return RoutingState.OFF if deviation > LARGEST_SHARE_AT_WEIGHT_ZERO else RoutingState.FOLLOWS
    if deviation <= TOLERANCE:
        return RoutingState.FOLLOWS
    return RoutingState.WITHIN_NOISE if deviation <= margin else RoutingState.OFF


def _cannot_tell(pool: Pool) -> Verdict:
    nodes = tuple(
        NodeVerdict(
            node_id,
            pool.weight_share(node_id),
            pool.effective_share(node_id),
            pool.observed_share(node_id),
            None,
            None,
            RoutingState.TOO_LITTLE_TRAFFIC if node_id in pool.up else RoutingState.DOWN,
        )
        for node_id in pool.node_ids
    )
    sentence = f"{routing_words.sessions_not_counted()}{routing_words.away(pool.scene.away(pool.node_ids))}."
    return Verdict(RoutingState.TOO_LITTLE_TRAFFIC, sentence, nodes, None, pool.reads)


def _answer(pool: Pool, nodes: Sequence[NodeVerdict], z: float) -> tuple[RoutingState, str]:
    scene = pool.scene
    draws = _counted(pool)
    if pool.draws < MINIMUM_DRAWS:
        return RoutingState.TOO_LITTLE_TRAFFIC, routing_words.too_little(draws=draws, window_s=scene.window_s)
    if not pool.has_weight_up():
        return RoutingState.OFF, routing_words.no_weight_up(all_weights_zero=not pool.has_weight())
    if any(node.state is RoutingState.OFF for node in nodes):
        return RoutingState.OFF, f"Off: {_finding(pool, nodes)}"
    noisy = [node.node_id for node in nodes if node.state is RoutingState.WITHIN_NOISE]
    if not noisy:
        return RoutingState.FOLLOWS, routing_words.follows(*pool.figures())
    allowed = z * max(map(pool.standard_error, noisy))
    sentence = routing_words.within_noise(*pool.figures(), draws=draws, window_s=scene.window_s, allowed=allowed)
    return RoutingState.WITHIN_NOISE, sentence


def _counted(pool: Pool) -> str:
    if pool.scene.statement_level:
        return routing_words.counted(pool.draws, statement_level=True)
    if pool.sessions is not None and pool.draws >= UNEQUAL * min(pool.sessions, pool.reads):
        return routing_words.counted(pool.draws, statement_level=False)
    return routing_words.unequal(pool.sessions, pool.draws)


def _finding(pool: Pool, nodes: Sequence[NodeVerdict]) -> str:
    """The backend that explains most: one that lags, or did, and gets less, else the one furthest from its weight."""
    scene = pool.scene
    off = [node.node_id for node in nodes if node.state is RoutingState.OFF]

    def explains(node_id: int) -> tuple[bool, float, bool]:
        condition, deviation = scene.condition(node_id), pool.deviation(node_id)
        has_lagged = condition.is_lagging or condition.lagged_until is not None
        return has_lagged and deviation < 0, round(abs(deviation), 6), deviation < 0

    node_id = max(off, key=explains)
    condition, deviation = scene.condition(node_id), pool.deviation(node_id)
    cause = None
    if condition.is_lagging and deviation < 0:
        cause = routing_words.lag_cause(condition.lag_text)
    elif condition.lagged_until is not None and deviation < 0:
        cause = routing_words.past_lag_cause(condition.lagged_until)
    elif scene.is_after_change and not scene.statement_level:
        cause = routing_words.earlier_sessions_cause()
    elif condition.is_primary and deviation > 0:
        cause = routing_words.unbalanced_cause()
    return routing_words.off(
        name=scene.name(node_id),
        deviation=deviation,
        at_weight_zero=pool.effective_share(node_id) == 0,
        since=scene.off_since,
        cause=cause,
    )


def _with_deviating(pool: Pool, state: RoutingState, sentence: str, z: float) -> tuple[RoutingState, str]:
    """Name the pgpool that is off on its own account; one is enough to call the cluster off."""
    furthest, name, finding = 0.0, "", ""
    for reading in pool.readings:
        alone = Pool([reading], pool.scene)
        nodes = [_node_verdict(alone, node_id, z) for node_id in alone.node_ids]
        off = [abs(alone.deviation(node.node_id)) for node in nodes if node.state is RoutingState.OFF]
        if off and max(off) > furthest:
            furthest, name, finding = max(off), reading.name, _finding(alone, nodes)
    if not finding:
        return state, sentence
    if state is RoutingState.OFF:
        together = max(abs(pool.deviation(node_id)) for node_id in pool.up)
        stands_out = furthest > together + TOLERANCE
        return state, f"{sentence}, most of all at {name}" if stands_out else sentence
    return RoutingState.OFF, f"Off at {name}: {finding}; {routing_words.overall(*pool.figures())}"


def _z(confidence: float, comparisons: int = 1) -> float:
    """How many standard errors hold several comparisons at once with this confidence (Bonferroni)."""
    return NormalDist().inv_cdf(1 - (1 - confidence) / (2 * comparisons))
