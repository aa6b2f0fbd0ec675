"""Weights that a pgpool is given for itself, as they are asked for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from apps.clusters.domain.weights import WeightError, as_written, parse_weights
from apps.clusters.models import Cluster, PgpoolInstance

# The field that they are sent in: beside weights alone, and beside parameters, where that name is theirs.
PER_INSTANCE, BESIDE_PARAMETERS = "per_instance", "weights_per_instance"

# instance name -> node_id -> backend_weight as it is written
Wanted = Mapping[str, Mapping[int, int]]


def wanted_of_some(
    cluster: Cluster, instances: Sequence[PgpoolInstance], *, weights: object, weights_per_instance: object
) -> Wanted:
    """Weights for all pgpools, for single ones, or both: then those of a single one go first. Raises WeightError.

    A pgpool that is missing keeps its weights.
    """
    node_ids = set(cluster.backends.values_list("node_id", flat=True))
    own = of_known(weights_per_instance, [each.name for each in instances], field=BESIDE_PARAMETERS)
    everywhere = None if weights is None else as_written(parse_weights(weights, node_ids))
    found = {} if everywhere is None else {each.name: everywhere for each in instances}
    return found | {name: written(name, raw, node_ids, field=BESIDE_PARAMETERS) for name, raw in own.items()}


def of_known(per_instance: object, names: Collection[str], *, field: str = PER_INSTANCE) -> Mapping[str, object]:
    """As they were sent, by the name of the pgpool. Raises WeightError for one that is not among these."""
    if per_instance is None:
        return {}
    if not isinstance(per_instance, Mapping):
        raise WeightError(field, per_instance, "an object of pgpool name and weights")
    for name in per_instance:
        if name not in names:
            raise WeightError(f"{field}.{name}", name, f"one of the pgpools {', '.join(names)}")
    return per_instance


def parsed(name: str, raw: object, node_ids: Collection[int], *, field: str = PER_INSTANCE) -> dict[int, float]:
    """Raises WeightError with the pgpool in its field."""
    with _named(name, field):
        return parse_weights(raw, node_ids)


def written(name: str, raw: object, node_ids: Collection[int], *, field: str = PER_INSTANCE) -> dict[int, int]:
    """As weights.as_written. Raises WeightError with the pgpool in its field."""
    with _named(name, field):
        return as_written(parse_weights(raw, node_ids))


@contextmanager
def _named(name: str, field: str) -> Iterator[None]:
    try:
        yield
    except WeightError as error:
        raise error.of(f"{field}.{name}{error.field.removeprefix('weights')}") from error
