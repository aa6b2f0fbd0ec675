"""Parameters that somebody asks for, for every pgpool and for single ones."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from apps.clusters.domain.findings import Finding, error, shown_name
from apps.clusters.domain.validation import Wish, read_wish

_WEIGHT = re.compile(r"backend_weight[0-9]+")


@dataclass(frozen=True, slots=True)
class Wishes:
    """everywhere: for every pgpool; per_instance: by the name of the pgpool, which goes first."""

    everywhere: Wish
    per_instance: Mapping[str, Wish]

    def of(self, instance_name: str) -> dict[str, str | None]:
        return {**self.everywhere, **self.per_instance.get(instance_name, {})}

    @property
    def names(self) -> list[str]:
        return sorted(set(self.everywhere).union(*self.per_instance.values()))


def read_wishes(
    parameters: object, per_instance: object, instance_names: Collection[str]
) -> tuple[Wishes, tuple[Finding, ...]]:
    """As JSON delivers them, with what is wrong with their shape; values are checked against the whole file later."""
    everywhere, found = read_wish({} if parameters is None else parameters)
    own: dict[str, Wish] = {}
    if per_instance is not None and not isinstance(per_instance, Mapping):
        shape = 'an object such as {"pgpool-1": {"delay_threshold": "1000"}}'
        return Wishes(everywhere, {}), (*found, error("per_instance", "per_instance is no object", shape))
    for name, raw in (per_instance or {}).items():
        if name not in instance_names:
            known = ", ".join(instance_names)
            wrong = error(
                shown_name(str(name)), f"{shown_name(str(name))} is no pgpool of this cluster", f"one of {known}"
            )
            return Wishes(everywhere, {}), (*found, wrong)
        own[name], wrong_here = read_wish(raw)
        found = (*found, *wrong_here)
    wishes = Wishes(everywhere, own)
    return wishes, (*found, *(_weight(name) for name in wishes.names if _WEIGHT.fullmatch(name)))


def _weight(name: str) -> Finding:
    return error(name, f"{name} is a weight, and weights are set together", 'the field "weights", by node_id')
