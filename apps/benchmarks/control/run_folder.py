"""Where programs of a run read what they are given and leave what they log. It goes with the attempt."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.benchmarks.models import BenchmarkRun


@contextmanager
def folder_of(run: BenchmarkRun) -> Iterator[Path]:
    prefix = f"lifeguard-run-{run.pk}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):  # by a worker that was killed
        shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
