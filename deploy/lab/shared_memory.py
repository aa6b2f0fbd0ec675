"""System V shared memory and semaphores of a Pgpool-II: one that was killed leaves them behind."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.lab.account import Account
from deploy.lab.processes import ENV, look_up

PCP_SEGMENT_BYTES = 1


@dataclass(frozen=True)
class Holdings:
    """segments: id -> pid of its creator; semaphores: ids of sets."""

    segments: Mapping[int, int]
    semaphores: frozenset[int]


def semaphore_ids() -> frozenset[int]:
    return frozenset(int(row[1]) for row in _table("sem"))


def holdings_of(pids: Collection[int], *, before: Collection[int], account: Account) -> Holdings:
    """What these processes hold. before: the semaphore sets that were there when they started."""
    candidates = semaphore_ids() - frozenset(before)
    touched = frozenset(each for each in candidates if _is_touched_only_by(each, pids, account))
    return Holdings(segments=segments_of(pids), semaphores=touched)


def segments_of(pids: Collection[int]) -> dict[int, int]:
    """The segments that these processes made."""
    return {int(row[1]): int(row[4]) for row in _table("shm") if int(row[4]) in pids}


def merged(first: Holdings, second: Holdings) -> Holdings:
    return Holdings({**first.segments, **second.segments}, first.semaphores | second.semaphores)


def unusable(account: Account) -> Holdings:
    """What the PCP processes of killed Pgpool-IIs left: they are replaced now and then, each with a byte of its own.

    A nameless segment that nobody uses and whose creator and last user are both gone can be found by nobody any more.
    """
    segments = {}
    for row in _table("shm"):
        key, segment, size, creator, latest, users, owner = (int(row[column]) for column in (0, 1, 3, 4, 5, 6, 7))
        is_ours = owner == account.uid and key == 0 and size == PCP_SEGMENT_BYTES and users == 0
        if is_ours and look_up(creator) is None and look_up(latest) is None:
            segments[segment] = creator
    return Holdings(segments, frozenset())


def _is_touched_only_by(semaphore: int, pids: Collection[int], account: Account) -> bool:
    # The kernel records no creator for a set, only who touched each semaphore last.
    text = account.run(["ipcs", "-s", "-i", str(semaphore)], env=ENV, cwd=Path("/")).stdout
    rows = [line.split() for line in text.splitlines()]
    touched = {int(row[4]) for row in rows if len(row) == 5 and all(field.isdigit() for field in row)} - {0}
    return bool(touched) and touched <= set(pids)


def release(holdings: Holdings, account: Account) -> None:
    """Remove what a dead server held, as far as nobody uses it."""
    arguments: list[str] = []
    for row in _table("shm"):
        segment, creator, users, owner = int(row[1]), int(row[4]), int(row[6]), int(row[7])
        if holdings.segments.get(segment) == creator and users == 0 and owner == account.uid:
            arguments += ["-m", str(segment)]
    for semaphore in semaphore_ids() & holdings.semaphores:
        arguments += ["-s", str(semaphore)]
    if arguments:
        account.run(["ipcrm", *arguments], env=ENV, cwd=Path("/"))


def _table(kind: str) -> list[list[str]]:
    return [line.split() for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]]
