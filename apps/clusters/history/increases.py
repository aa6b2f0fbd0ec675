"""SQL: how the counters of pgpools grew, sample by sample, or over whole buckets without reading what lies between.

Every statement begins with `grown`: one row per pgpool, backend and step, with what was counted in it (count), what of
that has a rate (steady), and over how long (elapsed_s). Then come reads or cache hits as a chart wants them.
"""
# ruff: noqa: S608  statements are put together from constants of this file; every value is a parameter

# Counters older than this are no use: what was counted meanwhile belongs to a gap.
LONGEST_BREAK_S = 60.0
_BREAK = f"interval '{LONGEST_BREAK_S:.0f} s'"

# Said beside the bounds of a bucket, so that the plan leaves all other days out before it begins.
_IN_RANGE = f"sample.at > %(start)s - {_BREAK} AND sample.at <= %(end)s"

# Buckets end with their latest instant, as the whole range does: (start, end].
BUCKET = "date_bin(%(width)s, at - interval '1 us', %(start)s)"

# The counters of one pgpool restart together: one that falls tells that all did, also those that have already passed
# their earlier value again. Then they count from 0, but nobody knows for how long: no rate.
_STEP = """
           CASE WHEN is_restart THEN select_count ELSE select_count - earlier END AS count,
           CASE WHEN NOT is_restart THEN select_count - earlier END AS steady,
           CASE WHEN NOT is_restart THEN extract(epoch FROM at - earlier_at)::float8 END AS elapsed_s"""

_READS_BY_SAMPLE = f"""
WITH raw AS (
    SELECT instance_id, node_id, at, select_count,
           lag(select_count) OVER series AS earlier, lag(at) OVER series AS earlier_at
    FROM clusters_node_sample AS sample
    WHERE instance_id = ANY(%(owners)s) AND {_IN_RANGE} AND select_count IS NOT NULL
    WINDOW series AS (PARTITION BY instance_id, node_id ORDER BY at)
), marked AS (
    SELECT *, bool_or(select_count < earlier) OVER (PARTITION BY instance_id, at) AS is_restart FROM raw
), grown AS (
    SELECT instance_id, node_id, at, {BUCKET} AS bucket, {_STEP}
    FROM marked WHERE at - earlier_at <= {_BREAK}
)"""

# The latest sample of each bucket. Between two of them that were counted without a break, the difference is the
# increase; only where there was a break in between are its samples read one by one.
_ENDS = f"""
WITH buckets AS (
    SELECT -1 AS number, %(start)s - {_BREAK} AS earliest, %(start)s AS latest
    UNION ALL
    SELECT number, %(start)s + number * %(width)s, least(%(start)s + (number + 1) * %(width)s, %(end)s)
    FROM generate_series(0, %(buckets)s - 1) AS number
), ends AS MATERIALIZED (
    SELECT owner.id AS instance_id, number, found.*,
           lag(found.at) OVER earlier AS earlier_at, lag(hits) OVER earlier AS earlier_hits,
           lag(misses) OVER earlier AS earlier_misses,
           counted_since = lag(counted_since) OVER earlier IS TRUE AS is_whole
    FROM unnest(%(owners)s::bigint[]) AS owner (id) CROSS JOIN buckets CROSS JOIN LATERAL (
        SELECT at, counted_since, cache_hit_count AS hits, cache_miss_count AS misses
        FROM clusters_instance_sample AS sample
        WHERE instance_id = owner.id AND at > buckets.earliest AND at <= buckets.latest AND {_IN_RANGE} AND %(which)s
        ORDER BY at DESC LIMIT 1
    ) AS found
    WINDOW earlier AS (PARTITION BY owner.id ORDER BY number)
)"""

_READS_BY_BUCKET = (
    _ENDS.replace("%(which)s", "is_answering")
    + f""", whole AS (
    SELECT ends.instance_id, later.node_id, ends.at, number AS bucket,
           later.select_count - earlier.select_count AS count,
           extract(epoch FROM ends.at - earlier_at)::float8 AS elapsed_s
    FROM ends CROSS JOIN LATERAL (
        SELECT node_id, select_count FROM clusters_node_sample AS sample
        WHERE sample.instance_id = ends.instance_id AND sample.at = ends.at AND {_IN_RANGE} OFFSET 0
    ) AS later CROSS JOIN LATERAL (
        SELECT select_count FROM clusters_node_sample AS sample
        WHERE sample.instance_id = ends.instance_id AND sample.at = ends.earlier_at
          AND sample.node_id = later.node_id AND {_IN_RANGE} OFFSET 0
    ) AS earlier
    WHERE is_whole
), broken AS (
    SELECT ends.instance_id, sample.node_id, sample.at, number AS bucket, select_count,
           lag(select_count) OVER series AS earlier, lag(sample.at) OVER series AS earlier_at
    FROM ends CROSS JOIN LATERAL (
        SELECT node_id, at, select_count FROM clusters_node_sample AS sample
        WHERE sample.instance_id = ends.instance_id AND sample.at <= ends.at AND select_count IS NOT NULL
          AND sample.at >= coalesce(ends.earlier_at, %(start)s - {_BREAK}) AND {_IN_RANGE} OFFSET 0
    ) AS sample
    WHERE number >= 0 AND NOT is_whole
    WINDOW series AS (PARTITION BY ends.instance_id, number, sample.node_id ORDER BY sample.at)
), marked AS (
    SELECT *, bool_or(select_count < earlier) OVER (PARTITION BY instance_id, bucket, at) AS is_restart FROM broken
), grown AS (
    SELECT instance_id, node_id, at, bucket, count, count AS steady, elapsed_s FROM whole WHERE count IS NOT NULL
    UNION ALL
    SELECT instance_id, node_id, at, bucket, {_STEP}
    FROM marked WHERE at - earlier_at <= {_BREAK}
)"""
)

_RATES = """, rates AS (
    SELECT instance_id, node_id, bucket, max(at) AS at, sum(steady)::float8 / nullif(sum(elapsed_s), 0) AS rate
    FROM grown WHERE at > %(start)s AND steady IS NOT NULL GROUP BY instance_id, node_id, bucket
)
"""
_RATE_BY_NODE = "SELECT NULL::bigint, node_id, max(at), sum(rate) FROM rates GROUP BY bucket, node_id ORDER BY 3"
_RATE_OF_ALL = "SELECT NULL::bigint, NULL::int, max(at), sum(rate) FROM rates GROUP BY bucket ORDER BY 3"
_RATE_BY_INSTANCE = (
    "SELECT instance_id, NULL::int, max(at), sum(rate) FROM rates GROUP BY bucket, instance_id ORDER BY 3"
)

# A share of two seconds' reads is noise: each point looks back over reach, at least ten seconds.
_SHARE_REACHING_BACK = """, ticks AS (
    SELECT at, bucket, node_id, sum(count) AS reads FROM grown GROUP BY at, bucket, node_id
), reached AS (
    SELECT at, bucket, node_id,
           sum(reads) OVER (PARTITION BY node_id ORDER BY at RANGE %(reach)s PRECEDING) AS reads,
           sum(reads) OVER (ORDER BY at RANGE %(reach)s PRECEDING) AS all_reads
    FROM ticks
)
SELECT DISTINCT ON (bucket, node_id) NULL::bigint, node_id, at, reads / nullif(all_reads, 0)
FROM reached WHERE at > %(start)s ORDER BY bucket, node_id, at DESC
"""
_SHARE_OF_BUCKET = """, shared AS (
    SELECT bucket, node_id, sum(count) AS reads, sum(sum(count)) OVER (PARTITION BY bucket) AS all_reads,
           max(max(at)) OVER (PARTITION BY bucket) AS at
    FROM grown GROUP BY bucket, node_id
)
SELECT NULL::bigint, node_id, at, reads / nullif(all_reads, 0) FROM shared ORDER BY at, node_id
"""

READ_SHARE = (_READS_BY_SAMPLE + _SHARE_REACHING_BACK, _READS_BY_BUCKET + _SHARE_OF_BUCKET)
READS_PER_S = (_READS_BY_SAMPLE + _RATES + _RATE_BY_NODE, _READS_BY_BUCKET + _RATES + _RATE_BY_NODE)
READS_PER_S_TOTAL = (_READS_BY_SAMPLE + _RATES + _RATE_OF_ALL, _READS_BY_BUCKET + _RATES + _RATE_OF_ALL)
READS_PER_S_BY_INSTANCE = (_READS_BY_SAMPLE + _RATES + _RATE_BY_INSTANCE, _READS_BY_BUCKET + _RATES + _RATE_BY_INSTANCE)

# num_selects of SHOW pool_cache counts what the cache did not answer; its own ratio is one since pgpool started.
_CACHE_STEP = """
           hits - CASE WHEN hits < earlier_hits OR misses < earlier_misses THEN 0 ELSE earlier_hits END AS hits,
           misses - CASE WHEN hits < earlier_hits OR misses < earlier_misses THEN 0 ELSE earlier_misses END AS misses"""
_IS_COUNTED = "cache_hit_count IS NOT NULL AND cache_miss_count IS NOT NULL"

_CACHE_BY_SAMPLE = f"""
WITH raw AS (
    SELECT at, cache_hit_count AS hits, cache_miss_count AS misses, lag(at) OVER series AS earlier_at,
           lag(cache_hit_count) OVER series AS earlier_hits, lag(cache_miss_count) OVER series AS earlier_misses
    FROM clusters_instance_sample AS sample
    WHERE instance_id = ANY(%(owners)s) AND {_IN_RANGE} AND {_IS_COUNTED}
    WINDOW series AS (PARTITION BY instance_id ORDER BY at)
), grown AS (
    SELECT at, {BUCKET} AS bucket, {_CACHE_STEP}
    FROM raw WHERE at - earlier_at <= {_BREAK}
), ticks AS (
    SELECT at, bucket, sum(hits) AS hits, sum(misses) AS misses FROM grown GROUP BY at, bucket
), reached AS (
    SELECT at, bucket, sum(hits) OVER behind AS hits, sum(misses) OVER behind AS misses FROM ticks
    WINDOW behind AS (ORDER BY at RANGE %(reach)s PRECEDING)
)
SELECT DISTINCT ON (bucket) NULL::bigint, NULL::int, at, hits / nullif(hits + misses, 0)
FROM reached WHERE at > %(start)s ORDER BY bucket, at DESC
"""

_CACHE_BY_BUCKET = (
    _ENDS.replace("%(which)s", _IS_COUNTED)
    + f""", broken AS (
    SELECT sample.at, number AS bucket, hits, misses, lag(sample.at) OVER series AS earlier_at,
           lag(hits) OVER series AS earlier_hits, lag(misses) OVER series AS earlier_misses
    FROM (SELECT instance_id, number, at AS latest, earlier_at AS earliest FROM ends WHERE number >= 0 AND NOT is_whole)
         AS ends CROSS JOIN LATERAL (
        SELECT at, cache_hit_count AS hits, cache_miss_count AS misses FROM clusters_instance_sample AS sample
        WHERE sample.instance_id = ends.instance_id AND sample.at <= ends.latest AND {_IS_COUNTED}
          AND sample.at >= coalesce(ends.earliest, %(start)s - {_BREAK}) AND {_IN_RANGE} OFFSET 0
    ) AS sample
    WINDOW series AS (PARTITION BY ends.instance_id, number ORDER BY sample.at)
), grown AS (
    SELECT at, number AS bucket, hits - earlier_hits AS hits, misses - earlier_misses AS misses FROM ends WHERE is_whole
    UNION ALL
    SELECT at, bucket, {_CACHE_STEP}
    FROM broken WHERE at - earlier_at <= {_BREAK}
)
SELECT NULL::bigint, NULL::int, max(at), sum(hits) / nullif(sum(hits) + sum(misses), 0)
FROM grown GROUP BY bucket ORDER BY 3
"""
)

CACHE_HIT_RATIO = (_CACHE_BY_SAMPLE, _CACHE_BY_BUCKET)
