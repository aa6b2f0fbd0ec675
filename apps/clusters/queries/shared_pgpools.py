"""Pgpools that several clusters of an organisation watch: sums over the fleet then count their reads more than once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from apps.clusters.models import PgpoolInstance

# host in lower case, port
Address = tuple[str, int]


@dataclass(frozen=True)
class Watcher:
    instance_id: int
    cluster_id: int
    cluster_name: str


def watchers(*, organisation_id: int) -> Mapping[Address, list[Watcher]]:
    """Address of a pgpool -> who watches it, by the name of the cluster."""
    rows = PgpoolInstance.objects.filter(cluster__organisation_id=organisation_id).order_by("cluster__name", "pk")
    found: dict[Address, list[Watcher]] = {}
    for host, port, pk, cluster_id, cluster_name in rows.values_list(
        "host", "port", "pk", "cluster_id", "cluster__name"
    ):
        found.setdefault((host.lower(), port), []).append(Watcher(pk, cluster_id, cluster_name))
    return found


def warnings_of(instances: Iterable[PgpoolInstance], watching: Mapping[Address, list[Watcher]]) -> list[str]:
    """A sentence for each of these pgpools that another cluster watches too."""
    warnings = []
    for instance in instances:
        found = watching.get((instance.host.lower(), instance.port), ())
        others = [each for each in found if each.instance_id != instance.pk]
        if others:
            warnings.append(f"{instance.name} {instance.host}:{instance.port} is {also_watched(others)}.")
    return warnings


def also_watched(others: Collection[Watcher]) -> str:
    names = dict.fromkeys(each.cluster_name for each in others)
    return f"also watched in {', '.join(names)}: sums over the fleet count its reads more than once"
