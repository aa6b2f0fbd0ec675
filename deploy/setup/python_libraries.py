"""The virtual environment: made once, filled from the locked requirements, stamped with their hash."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.setup.steps import CLONE, run_step

ENVIRONMENT = CLONE / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
RUNTIME, DEVELOPMENT = "requirements.txt", "requirements-dev.txt"


def lock_hash(name: str) -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return hashlib.sha256(version.encode() + (CLONE / name).read_bytes()).hexdigest()


def stamp(name: str) -> Path:
    return ENVIRONMENT / f"installed-{Path(name).stem}"


def is_installed(name: str) -> bool:
    return stamp(name).exists() and stamp(name).read_text() == lock_hash(name)


def works() -> bool:
    """A Python that was upgraded or removed leaves an environment that cannot start."""
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", ""], check=False, capture_output=True).returncode == 0


def install(*, with_tests: bool) -> None:
    """Everything for tests contains everything for running, so a demo after the tests has nothing to do."""
    if works() and is_installed(RUNTIME) and (is_installed(DEVELOPMENT) or not with_tests):
        return
    if not works():
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        run_step("Python environment", [sys.executable, "-m", "venv", str(ENVIRONMENT)])
    name = DEVELOPMENT if with_tests else RUNTIME
    pip = [str(PYTHON), "-m", "pip", "install", "--require-hashes", "--disable-pip-version-check", "--no-input"]
    run_step("Python libraries", [*pip, "--requirement", str(CLONE / name)])
    for installed in {name, RUNTIME}:
        stamp(installed).write_text(lock_hash(installed))
