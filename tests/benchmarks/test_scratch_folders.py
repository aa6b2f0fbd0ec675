"""What a calibration that was killed left on disk goes with the next one."""

import os
import subprocess
import sys
from pathlib import Path

from apps.benchmarks.drivers.query_cache.scratch import sweep


def test_folders_of_programs_that_are_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = [f"lg-cache-{ended.pid}-x7", f"lg-cache-{os.getpid()}-x7", "lg-cache-other", "elsewhere"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "pgpool.conf").write_text("sr_check_password = 'x'")

    sweep(tmp_path)

    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(names[1:])
