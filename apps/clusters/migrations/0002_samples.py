"""The partitioned tables of hot samples."""

from django.db import migrations

TABLES = {
    "clusters_instance_sample": """
        instance_id bigint NOT NULL, at timestamptz NOT NULL, is_answering boolean NOT NULL, probe_ms real,
        children_used integer, children_total integer, session_count bigint,
        cache_hit_count bigint, cache_miss_count bigint""",
    "clusters_node_sample": """
        instance_id bigint NOT NULL, node_id smallint NOT NULL, at timestamptz NOT NULL,
        select_count bigint, lb_weight real, is_up boolean""",
    "clusters_backend_sample": """
        backend_id bigint NOT NULL, at timestamptz NOT NULL, is_answering boolean NOT NULL, is_in_recovery boolean,
        probe_ms real, lsn_bytes bigint, replay_lag_s real, replay_lag_bytes bigint""",
}


def creation(table: str, columns: str) -> str:
    """The default partition takes what comes before its day's partition exists, so nothing is refused."""
    owner = "backend_id" if "backend" in table else "instance_id"
    return f"""
        CREATE TABLE {table} ({columns}) PARTITION BY RANGE (at);
        CREATE TABLE {table}_default PARTITION OF {table} DEFAULT;
        CREATE INDEX {table}_by_time ON {table} ({owner}, at);
    """


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial")]
    operations = [
        migrations.RunSQL(creation(table, columns), f"DROP TABLE {table}") for table, columns in TABLES.items()
    ]
