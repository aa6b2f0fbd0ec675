"""What the page of a cache says of the tables that are written."""

from __future__ import annotations

from typing import Any

from apps.accounts.access import Caller
from apps.clusters.models import Cluster
from apps.query_cache.forms.tables import TablesForm
from apps.query_cache.queries.tables import default_database, tables_answer


def tables_context(caller: Caller, cluster: Cluster, form: TablesForm | None = None) -> dict[str, Any]:
    return {
        "written": tables_answer(caller=caller, cluster=cluster),
        "tables_form": form or TablesForm(initial={"database": default_database(cluster=cluster)}),
    }
