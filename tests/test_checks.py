"""The checkers are tests too, so that one closing line speaks for everything."""

import subprocess
from pathlib import Path

import pytest

CLONE = Path(__file__).parent.parent


@pytest.mark.check
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["code", "layout", "types", "imports", "frontend"])
def test_the_checker_finds_nothing(name: str) -> None:
    done = subprocess.run([CLONE / "deploy" / "checks.sh", name], check=False, capture_output=True, text=True)

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
