"""Whether a file that was edited by hand can be adopted: what pgpool would refuse or misread in it is told first.

A rollout that finds it out only afterwards halts, and puts the verified file in the place of the edit.
"""

from collections.abc import Iterator

from apps.clusters.control import revisions
from apps.clusters.domain import pgpool_conf
from apps.clusters.domain.file_check import Surroundings, check_file
from apps.clusters.domain.findings import Finding, Severity
from apps.clusters.domain.parameters import catalogue
from apps.clusters.models import PgpoolInstance
from apps.clusters.queries.validation import connection_limits


def fault_of(instance: PgpoolInstance, text: str, *, verified: str) -> str:
    """Why this text cannot take the place of the verified one; "" if it can.

    What stands in the verified file as well, and was not edited, is nobody's fault now.
    """
    if (fault := revisions.fault_of(text)) or text == verified:
        return fault
    cluster = instance.cluster
    node_ids = set(cluster.backends.values_list("node_id", flat=True))
    surroundings = Surroundings(catalogue.for_version(instance.version), node_ids, connection_limits(cluster=cluster))
    return "; ".join(map(_words, _new_errors(text, verified, surroundings)))


def _new_errors(text: str, verified: str, surroundings: Surroundings) -> Iterator[Finding]:
    errors = _errors(text, surroundings)
    if not errors:
        return
    stood = {found.parameter for found in _errors(verified, surroundings)}
    if pgpool_conf.is_readable(verified):
        stood -= pgpool_conf.changed_names(verified, text)
    yield from (found for found in errors if found.parameter not in stood)


def _errors(text: str, surroundings: Surroundings) -> list[Finding]:
    # A line added at the end goes before the one that stood there: pgpool and its reader know which of them counts.
    found = check_file(text, surroundings, tells_duplicates=False)
    return [one for one in found if one.severity is Severity.ERROR]


def _words(found: Finding) -> str:
    line = "" if found.line is None or found.message.startswith("line ") else f"line {found.line}: "
    return f"{line}{found.message}" + (f"; expected {found.suggestion}" if found.suggestion else "")
