"""Where programs of a run read what they are given and leave what they log. It goes with the attempt."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from apps.benchmarks.models import BenchmarkRun


def prefix_of(run: BenchmarkRun) -> str:
    """Of its name. Runs of another installation on this machine have the same numbers, and other folders."""
    place = connection.settings_dict
    database = hashlib.sha256(f"{place['HOST']}:{place['PORT']}/{place['NAME']}".encode()).hexdigest()
    return f"lifeguard-run-{run.pk}-{database[:8]}-"


@contextmanager
def folder_of(run: BenchmarkRun) -> Iterator[Path]:
    prefix = prefix_of(run)
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):  # by a worker that was killed
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
