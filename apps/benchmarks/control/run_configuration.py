"""The pgpool.conf that scratch pgpools of a run are made from, beside its other files."""

from __future__ import annotations

from pathlib import Path

from apps.benchmarks.domain.run_wish import Wish
from apps.benchmarks.drivers.driver import CannotPrepare
from apps.benchmarks.drivers.query_cache_program import CONF
from apps.benchmarks.models import BenchmarkRun
from apps.clusters.models import InstanceConfig


def lay_out(run: BenchmarkRun, wish: Wish, folder: Path) -> None:
    """Nothing for a run of other topologies. It holds passwords: only this account may read it.

    Raises CannotPrepare where the file of that pgpool is not known.
    """
    if not wish.topology.is_scratch:
        return
    name = wish.topology.copied_from
    config = InstanceConfig.objects.filter(instance__cluster=run.cluster, instance__name=name).first()
    if config is None or not config.file_text:
        raise CannotPrepare(
            f"the pgpool.conf of {name} is not known, so no scratch pgpool can be made from it. Its delivery tells "
            "where the file is, and whether Lifeguard can read it."
        )
    path = folder / CONF
    path.touch(mode=0o600)
    path.write_text(config.file_text, encoding="utf-8")
