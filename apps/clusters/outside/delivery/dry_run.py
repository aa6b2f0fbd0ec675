"""Lets the installed pgpool parse a candidate file without touching the one that runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# pgpool has no check option, but `reload` parses the file first and then fails to find this pid file.
# A file that logs to syslog, or next to nothing, would keep its words to itself.
NO_PID_FILE = "\npid_file_name = '/nonexistent/lifeguard.pid'\nlog_destination = 'stderr'\nlog_min_messages = warning\n"
# A pgpool with a watchdog reads its own number from beside its pgpool.conf before anything else.
NODE_ID_FILE = "pgpool_node_id"
PARSED_SIGN = "pid file"
DEADLINE_S = 7.0
VERSION_DEADLINE_S = 2.0
SEARCH_PATH = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/usr/pgpool/bin")


@dataclass(frozen=True)
class DryRun:
    """is_available: whether a pgpool program stood ready to parse the file; note says what came of it."""

    is_available: bool
    note: str


class DryRunRejected(ValueError):
    """pgpool cannot read this file."""

    def __init__(self, message: str) -> None:
        super().__init__(f"pgpool cannot read this file: {message}")
        self.message = message


def find_pgpool() -> str | None:
    return shutil.which("pgpool", path=os.pathsep.join([os.environ.get("PATH", os.defpath), *SEARCH_PATH]))


def version_of(program: str) -> str:
    """4.3.5, of a pgpool program; empty where it does not say."""
    try:
        asked = [program, "--version"]
        finished = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_DEADLINE_S, check=False
        )
    except (subprocess.TimeoutExpired, OSError):
        return ""
    match = re.search(rb"version (\d+(?:\.\d+)+)", finished.stdout + finished.stderr)
    return match[1].decode() if match else ""


def parse_with_pgpool(text: str, *, program: str | None) -> DryRun:
    """Raises DryRunRejected with pgpool's own words.

    It finds syntax errors and values out of range, but neither weights that are text nor unknown names: 4.3.5.
    """
    if program is None:
        return DryRun(
            is_available=False, note="not parsed beforehand: no pgpool program is installed beside the worker"
        )
    with tempfile.TemporaryDirectory(prefix="lifeguard-") as folder:
        candidate = Path(folder) / "pgpool.conf"
        candidate.write_bytes((text + NO_PID_FILE).encode())
        candidate.with_name(NODE_ID_FILE).write_text("0\n")
        try:
            finished = subprocess.run(
                [program, "-f", str(candidate), "reload"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=DEADLINE_S,
                env={**os.environ, "LC_ALL": "C"},
                cwd=folder,
                check=False,
            )
        except (subprocess.TimeoutExpired, OSError) as error:
            return DryRun(is_available=False, note=f"not parsed beforehand: {program} could not be asked ({error})")
    said = (finished.stderr + finished.stdout).decode(errors="replace")
    return judged(said, candidate=str(candidate), code=finished.returncode)


def judged(said: str, *, candidate: str, code: int) -> DryRun:
    """What came of it, from what pgpool said. Raises DryRunRejected."""
    if PARSED_SIGN in said:
        return DryRun(is_available=True, note="pgpool parses the file")
    raise DryRunRejected(_words(said, candidate) or f"it ended with code {code}")


def _words(said: str, candidate: str) -> str:
    """Messages without their time stamps; the candidate's place means nothing to a reader."""
    found = re.findall(r"(?:FATAL|ERROR|WARNING|DETAIL|HINT):\s*(.*)", said)
    return "; ".join(message.strip() for message in found).replace(candidate, "pgpool.conf")
