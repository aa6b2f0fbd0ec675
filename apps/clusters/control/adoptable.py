"""Whether a file that was edited by hand can be adopted: what pgpool would refuse or misread in it is told first.

A rollout that finds it out only afterwards halts, and puts the verified file in the place of the edit.
"""

from apps.clusters.control import revisions
from apps.clusters.domain.edit_check import brought_in
from apps.clusters.domain.file_check import Surroundings
from apps.clusters.domain.findings import in_words
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import PgpoolInstance
from apps.clusters.queries.validation import connection_limits


def fault_of(instance: PgpoolInstance, text: str, *, verified: str) -> str:
    """Why this text cannot take the place of the verified one; "" if it can."""
    if (fault := revisions.fault_of(text)) or text == verified:
        return fault
    cluster = instance.cluster
    node_ids = set(cluster.backends.values_list("node_id", flat=True))
    surroundings = Surroundings(catalogue.for_version(instance.version), node_ids, connection_limits(cluster=cluster))
    # A line added at the end goes before the one that stood there: pgpool and its reader know which of them counts.
    found = brought_in(text, verified=verified, surroundings=surroundings, tells_duplicates=False)
    return "; ".join(map(in_words, found))
