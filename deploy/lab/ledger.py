"""What a lab has started, on disk: the next start finds what a killed one left behind, of this lab or another."""

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.lab import processes, shared_memory
from deploy.lab.account import SHARED, Account
from deploy.lab.shared_memory import Holdings

NAME = "started.json"
CLAIM = "claim.json"


@dataclass(frozen=True)
class Entry:
    """One started server: its parent process and what the kernel keeps for it."""

    folder: Path
    pid: int
    started: int
    holdings: Holdings

    def is_alive(self) -> bool:
        process = processes.look_up(self.pid)
        return process is not None and process.started == self.started


def read(private: Path) -> dict[str, Entry]:
    try:
        content = json.loads((private / NAME).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return {
        name: Entry(
            folder=Path(row["folder"]),
            pid=row["pid"],
            started=row["started"],
            holdings=Holdings(
                segments={int(segment): creator for segment, creator in row["segments"].items()},
                semaphores=frozenset(row["semaphores"]),
            ),
        )
        for name, row in content.items()
    }


def write(private: Path, entries: Mapping[str, Entry]) -> None:
    content = {
        name: {
            "folder": str(entry.folder),
            "pid": entry.pid,
            "started": entry.started,
            "segments": dict(entry.holdings.segments),
            "semaphores": sorted(entry.holdings.semaphores),
        }
        for name, entry in entries.items()
    }
    draft = private / f"{NAME}.draft"
    draft.write_text(json.dumps(content, indent=1), encoding="utf-8")
    draft.replace(private / NAME)


def holdings(private: Path, name: str, folder: Path, account: Account) -> Holdings:
    """What was noted of a server at its start, and what its processes, some of them started later, have made."""
    entry = read(private).get(name)
    made = _made_in(folder, account)
    return made if entry is None else shared_memory.merged(entry.holdings, made)


def _made_in(folder: Path, account: Account) -> Holdings:
    living = [process.pid for process in processes.members(folder, account)]
    return Holdings(shared_memory.segments_of(living), frozenset())


def remove_notes(private: Path) -> None:
    """Of a lab that does not run; the folder goes too, unless the lab's data lie in it.

    Its own `down` and the sweeps of other labs may be at it at once: whoever comes later finds less, or nothing.
    """
    for name in (NAME, CLAIM):
        (private / name).unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if not any(private.iterdir()):
            private.rmdir()


def bury(entry: Entry, account: Account) -> None:
    """End what a server whose parent died left behind."""
    held = shared_memory.merged(entry.holdings, _made_in(entry.folder, account))
    processes.kill(entry.folder, account)
    shared_memory.release(held, account)


def bury_dead(private: Path, account: Account) -> None:
    for entry in read(private).values():
        if not entry.is_alive():
            bury(entry, account)


@dataclass(frozen=True)
class Claim:
    """Whose lab this is. owner: the process it must not outlive, None if it may outlive everybody."""

    root: Path
    owner: processes.Process | None

    def is_abandoned(self) -> bool:
        if not self.root.exists():
            return True
        found = processes.look_up(self.owner.pid) if self.owner else None
        return self.owner is not None and (found is None or found.started != self.owner.started)


def write_claim(private: Path, claim: Claim) -> None:
    owner = {"pid": claim.owner.pid, "started": claim.owner.started} if claim.owner else None
    draft = private / f"{CLAIM}.draft"
    draft.write_text(json.dumps({"root": str(claim.root), "owner": owner}), encoding="utf-8")
    draft.replace(private / CLAIM)


def read_claim(private: Path) -> Claim | None:
    try:
        content = json.loads((private / CLAIM).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    known = content["owner"]
    owner = processes.Process(pid=known["pid"], parent=0, state="", started=known["started"]) if known else None
    return Claim(root=Path(content["root"]), owner=owner)


def sweep(account: Account, *, own: Path) -> None:
    """Bury the labs that were killed or abandoned, of any clone on this machine; the others are left alone."""
    for private in {path.parent for name in (NAME, CLAIM) for path in SHARED.glob(f"lifeguard-*/{name}")}:
        if private == own or not _is_alike(private, own):
            continue
        entries, claim = read(private), read_claim(private)
        is_abandoned = claim is not None and claim.is_abandoned()
        if is_abandoned or (entries and not any(entry.is_alive() for entry in entries.values())):
            for entry in entries.values():
                bury(entry, account)
            (private / NAME).unlink(missing_ok=True)
        if claim is not None and is_abandoned:
            _clear_away(private, claim, account)
    shared_memory.release(shared_memory.unusable(account), account)


def _is_alike(private: Path, own: Path) -> bool:
    """Whether both folders are of one account; not where somebody else cleared the first away meanwhile."""
    try:
        return private.stat().st_uid == own.stat().st_uid
    except FileNotFoundError:
        return False


def _clear_away(private: Path, claim: Claim, account: Account) -> None:
    """A lab that was killed while it started has servers that it did not note yet."""
    for folder in (private, claim.root.resolve()):
        made = _made_in(folder, account)
        processes.kill(folder, account)
        shared_memory.release(made, account)
    shutil.rmtree(private / "s", ignore_errors=True)  # their sockets
    remove_notes(private)
