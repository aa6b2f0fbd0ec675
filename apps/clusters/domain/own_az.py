"""Weights by which each pgpool prefers the backends of its own availability zone."""

from collections.abc import Mapping

# Of two backends that take reads, the one in the pgpool's zone gets nine times the sessions of the other.
PREFERRED, OTHER = 9, 1


def preferring_own_az(az: str, azs: Mapping[int, str], weights: Mapping[int, float]) -> dict[int, float]:
    """node_id -> weight, for a pgpool in this zone. azs: node_id -> zone; weights: those of now.

    A backend that gets no reads now gets none then. Where none of the others is in the zone, the weights stay.
    """
    reading = [node_id for node_id, weight in weights.items() if weight > 0]
    if not az or not any(azs.get(node_id) == az for node_id in reading):
        return dict(weights)
    wanted = {node_id: float(PREFERRED if azs.get(node_id) == az else OTHER) for node_id in reading}
    return {node_id: wanted.get(node_id, 0.0) for node_id in weights}
