"""What pgpool can be told of the functions of a cluster: made over all its databases that surveys have read."""

from collections.abc import Set as AbstractSet
from typing import TypedDict

from apps.clusters.control.function_survey import SurveyResult
from apps.clusters.domain.function_lists_of_all import ReadDatabase, Writer, propose_for_all, unread, warning
from apps.clusters.domain.write_functions import VOLATILE, VOLATILITIES
from apps.clusters.models import Cluster, FunctionSurvey


class FunctionProposal(TypedDict):
    """write_function_list: null where pgpool had better go on asking the catalogs. unlisted: no pattern can name them.

    read: the databases that it is made of, the newest reading of each; one that was dropped since is not among them.
    unread: the others that these servers hold; null where nobody has asked. warning: what the list would do to those;
    empty without a list, and where all were read.
    """

    write_function_list: str | None
    unlisted: list[str]
    read: list[str]
    unread: list[str] | None
    warning: str


def function_proposal(*, cluster: Cluster) -> FunctionProposal:
    existing = existing_databases(cluster=cluster)
    results = newest_results(cluster=cluster, existing=existing)
    found = propose_for_all([_read(name, result) for name, result in results.items()])
    read = sorted(results)
    missing = None if existing is None else unread(sorted(existing), read)
    return {
        "write_function_list": found.write_function_list,
        "unlisted": list(found.unlisted),
        "read": read,
        "unread": missing,
        "warning": "" if found.write_function_list is None else warning(missing, read),
    }


def existing_databases(*, cluster: Cluster) -> AbstractSet[str] | None:
    """Those that the servers held at the newest reading that asked for them; None where none did.

    The one that was read is among them, also where it is a template, which is not listed.
    """
    asked = cluster.function_surveys.filter(state=FunctionSurvey.State.DONE, result__databases__0__isnull=False)
    newest = asked.order_by("-pk").values_list("database", "result__databases").first()
    return None if newest is None else {newest[0], *newest[1]}


def newest_results(*, cluster: Cluster, existing: AbstractSet[str] | None) -> dict[str, SurveyResult]:
    """Database -> what its newest reading found, latest first. existing: those that are there, None if not known."""
    done = cluster.function_surveys.filter(state=FunctionSurvey.State.DONE, result__isnull=False).order_by("-pk")
    found: dict[str, SurveyResult] = {}
    for database, result in done.values_list("database", "result"):
        if result is not None and (existing is None or database in existing):
            found.setdefault(database, result)
    return found


def _read(name: str, result: SurveyResult) -> ReadDatabase:
    writers = tuple(
        Writer(one["schema"], one["name"], f"{one['schema']}.{one['name']}({one['arguments']})")
        for one in result["findings"]
        if one["kind"] in {"writes", "marked_wrong"}
        or (one["kind"] == "unreadable" and one["volatility"] == VOLATILITIES[VOLATILE])
    )
    # What is proposed of this database names its writers already.
    is_proposed = result["write_function_list"] is not None
    return ReadDatabase(name, result["write_function_list"], tuple(result["unlisted"]), () if is_proposed else writers)
