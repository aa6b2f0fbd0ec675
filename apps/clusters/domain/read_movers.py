"""Which parameters decide where reads go: a change of others cannot be seen in the shares of reads."""

import re
from collections.abc import Iterable

_MOVERS = re.compile(
    r"backend_(?:weight|flag)\d+|backend_clustering_mode|load_balance_mode|statement_level_load_balance"
    r"|disable_load_balance_on_write|dml_adaptive_object_relationship_list|\w+_redirect_preference_list"
    r"|delay_threshold(?:_by_time)?|prefer_lower_delay_standby|(?:read_only|write|white|black)_function_list"
    r"|\w+_query_pattern_list|ignore_leading_white_space|allow_sql_comments|(?:master_slave|replication)_mode"
)


def may_move_reads(names: Iterable[str]) -> bool:
    return any(_MOVERS.fullmatch(name) for name in names)
