"""PostgreSQL's own functions: which of them a standby can run, where their volatility alone does not tell.

Source: pg_proc of PostgreSQL 15 to 18, and the manual, "System Administration Functions" and "Hot Standby".
"""

import re

CATALOG = "pg_catalog"
# VOLATILE ones that change nothing: each call gives something else, or takes its time.
_READERS = re.compile(
    r"random|random_normal|setseed|clock_timestamp|timeofday|gen_random_uuid|uuidv[47]|pg_sleep.*|pg_stat_get_.*"
    r"|pg_stat_file|pg_ls_.*|pg_read_.*|pg_show_.*|pg_hba_file_rules|pg_ident_file_mappings|pg_lock_status"
    r"|pg_relation_filenode|pg_control_.*|pg_current_logfile|pg_get_.*|pg_is_.*|pg_last_.*"
    r"|pg_prepared_.*|pg_cursor|pg_backend_pid|pg_safe_snapshot_blocking_pids|pg_blocking_pids|pg_isolation_.*"
    r"|pg_database_size|pg_tablespace_size|pg_relation_size|pg_table_size|pg_indexes_size|pg_total_relation_size"
    r"|pg_column_.*|pg_config|pg_listening_channels|pg_notification_queue_usage|txid_status|pg_xact_status"
    r"|table_to_xml.*|cursor_to_xml.*|pg_timezone_.*"
)
# They write nothing, or are not VOLATILE, and end with an error while the server is in recovery.
REFUSED_BY_STANDBYS = frozenset(
    {
        "pg_current_wal_flush_lsn",
        "pg_current_wal_insert_lsn",
        "pg_current_wal_lsn",
        "pg_current_xact_id",
        "pg_walfile_name",
        "pg_walfile_name_offset",
        "txid_current",
    }
)
# Their argument is a statement, which may call anything.
_RUN_TEXT = re.compile(r"query_to_xml.*|ts_stat|ts_rewrite")


def why_primary(name: str, *, is_volatile: bool) -> str:
    """Why one of PostgreSQL's own belongs on the primary; empty where a standby can run it."""
    if name in REFUSED_BY_STANDBYS:
        return "one of PostgreSQL's own that a standby refuses"
    if is_volatile and not _READERS.fullmatch(name) and not runs_text(name):
        return "one of PostgreSQL's own, VOLATILE"
    return ""


def runs_text(name: str) -> bool:
    return _RUN_TEXT.fullmatch(name) is not None
