"""What the page needs that sets the weights of each pgpool on its own."""

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TypedDict

from apps.clusters.domain.own_az import preferring_own_az
from apps.clusters.models import Cluster
from apps.clusters.queries.editing import weights_answer


class EachColumn(TypedDict):
    name: str
    az: str


class EachCell(TypedDict):
    """field: its name in the form; weight: backend_weight as text.

    kept: the weight that was shown first, of a pgpool that stays undrafted with it; None of any other.
    """

    field: str
    pgpool: str
    weight: str
    kept_field: str
    kept: str | None


class EachRow(TypedDict):
    node_id: int
    name: str
    az: str
    cells: list[EachCell]


class EachEditor(TypedDict):
    """lacks_azs: a zone of a pgpool or backend is not known, so that preferring it says little."""

    columns: list[EachColumn]
    rows: list[EachRow]
    lacks_azs: bool


def field_of(instance_id: int, node_id: int) -> str:
    return f"weight_{instance_id}_{node_id}"


def kept_field_of(instance_id: int, node_id: int) -> str:
    """The hidden field that tells whether somebody has changed the weight."""
    return f"kept_{instance_id}_{node_id}"


def text_of(weight: float) -> str:
    """As a form takes it back: all digits and no exponent, 1000000 and 0.25."""
    return f"{Decimal(repr(float(weight))):f}".removesuffix(".0")


def each_editor(
    *,
    cluster: Cluster,
    prefers_own_az: bool,
    now: datetime,
    typed: Mapping[str, str] | None = None,
    undrafted: Collection[str] = (),
) -> EachEditor:
    """prefers_own_az: the proposal instead of the weights of now; typed: what a refused form held, by field.

    undrafted: names of pgpools that stay out of the draft unless somebody changes their weights.
    """
    instances = list(cluster.instances.defer("pcp_password").order_by("name", "pk"))
    backends = list(cluster.backends.order_by("node_id"))
    seen = weights_answer(cluster=cluster, now=now)["per_instance"]
    azs = {backend.node_id: backend.az for backend in backends}
    wanted: dict[int, Mapping[int, float]] = {}
    for instance in instances:
        current = {node_id: float(seen.get(instance.name, {}).get(str(node_id), 0)) for node_id in azs}
        wanted[instance.pk] = preferring_own_az(instance.az, azs, current) if prefers_own_az else current

    def cell(instance_id: int, name: str, node_id: int) -> EachCell:
        field, kept_field = field_of(instance_id, node_id), kept_field_of(instance_id, node_id)
        weight = text_of(wanted[instance_id][node_id])
        return {
            "field": field,
            "pgpool": name,
            "weight": (typed or {}).get(field, weight),
            "kept_field": kept_field,
            "kept": (typed or {}).get(kept_field, weight) if name in undrafted else None,
        }

    return {
        "columns": [{"name": instance.name, "az": instance.az} for instance in instances],
        "rows": [
            {
                "node_id": backend.node_id,
                "name": backend.shown_name,
                "az": backend.az,
                "cells": [cell(instance.pk, instance.name, backend.node_id) for instance in instances],
            }
            for backend in backends
        ],
        "lacks_azs": not all([*azs.values(), *(instance.az for instance in instances)]),
    }
