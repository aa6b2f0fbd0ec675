"""What the settings of all pgpools of a cluster come to together."""

from collections.abc import Mapping

from apps.clusters.domain.findings import Finding, warning
from apps.clusters.domain.parameters.catalogue import Catalogue
from apps.clusters.domain.pgpool_conf import PgpoolConf
from apps.clusters.domain.settings_together import figure

MOST_NAMES = 10


def check_connections(
    confs: Mapping[str, tuple[PgpoolConf, Catalogue]], connection_limits: Mapping[int, int]
) -> Finding | None:
    """Whether several pgpools, each within its bounds, ask for more sessions than a backend lets others open.

    confs: name of the pgpool -> its file and the parameters of its version; connection_limits: as Surroundings.
    """
    asked = {name: amount for name, (conf, known) in confs.items() if (amount := _sessions(conf, known)) is not None}
    total = sum(asked.values())
    if len(asked) < 2 or not connection_limits:
        return None
    node_id = min(connection_limits, key=lambda each: connection_limits[each])
    most = connection_limits[node_id]
    if total <= most:
        return None
    message = (
        f"num_init_children × max_pool = {total:.0f} over {len(asked)} pgpools ({_each(asked)}), but backend {node_id} "
        f"lets others open {most} sessions (max_connections less superuser_reserved_connections): clients may be "
        "refused when they are all busy"
    )
    return warning("num_init_children", message, f"num_init_children × max_pool of at most {most} over all pgpools")


def _sessions(conf: PgpoolConf, known: Catalogue) -> float | None:
    children, pools = figure(conf, known, "num_init_children"), figure(conf, known, "max_pool")
    return None if children is None or pools is None else children * pools


def _each(asked: Mapping[str, float]) -> str:
    shown = [f"{name}: {amount:.0f}" for name, amount in asked.items()]
    more = len(shown) - MOST_NAMES
    return ", ".join(shown) if more <= 0 else f"{', '.join(shown[:MOST_NAMES])} and {more} more"
