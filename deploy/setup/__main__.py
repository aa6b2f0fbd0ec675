"""`python3 -m deploy.setup [--with-tests]`: install what is missing; does nothing, quickly, when nothing is."""

import argparse
import fcntl
import subprocess
import sys

from deploy.setup import frontend_build, packages, python_libraries
from deploy.setup.steps import LOG, StepFailed, say

OLDEST_PYTHON = (3, 11, 2)


def set_up(*, with_tests: bool) -> None:
    missing = packages.missing_packages(with_tests=with_tests)
    if missing:
        packages.install(missing)
    python_libraries.install(with_tests=with_tests)
    frontend_build.install()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m deploy.setup", description=__doc__)
    parser.add_argument("--with-tests", action="store_true", help="also what the tests need: a browser, checkers")
    choice = parser.parse_args()
    if sys.version_info < OLDEST_PYTHON:
        say(f"Python {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed; this is {sys.version.split()[0]}.")
        return 1
    LOG.parent.mkdir(exist_ok=True)
    with (LOG.parent / "setup.lock").open("w") as lock:
        # Two `make` at once: the second waits and then finds everything done.
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            set_up(with_tests=choice.with_tests)
        except (StepFailed, packages.NoPackageManager, PermissionError, RuntimeError) as error:
            say(f"\nSet-up stopped: {error}")
            return 1
        except subprocess.CalledProcessError as error:
            say(f"\nSet-up stopped: {' '.join(map(str, error.cmd))} ended with {error.returncode}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
