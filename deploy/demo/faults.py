"""Breaks a server of the demo's lab, for watching how the dashboard shows it."""

import sys
from collections.abc import Callable, Sequence

from deploy.lab import Lab
from deploy.lab.promotion import fail_over, switch_over

KINDS: dict[str, str] = {
    "stop": "the clean end that an administrator gives",
    "kill": "all processes at once, as when a host dies",
    "freeze": "the port still accepts, nobody answers",
    "resume": "undo freeze",
    "start": "undo stop and kill",
    "pause-replay": "a standby falls behind",
    "resume-replay": "undo pause-replay",
}
PROMOTIONS = {
    "failover": "the primary dies, and a standby is promoted",
    "switchover pg2": "pg2 becomes the primary, and the old one its standby",
}


def action(lab: Lab, kind: str) -> Callable[[str], None]:
    actions: dict[str, Callable[[str], None]] = {
        "stop": lab.stop,
        "kill": lab.kill,
        "freeze": lab.freeze,
        "resume": lab.resume,
        "start": lab.start,
        "pause-replay": lab.pause_replay,
        "resume-replay": lab.resume_replay,
    }
    return actions[kind]


def offer(lab: Lab) -> None:
    print("State of the lab:")
    for server in lab.status():
        print(f"  {server.name:10} {server.host}:{server.port:<6} {server.az:12} {server.state}")
    print("\nWhat can be done to one of them:")
    for kind, meaning in KINDS.items():
        print(f"  {kind:14} {meaning}")
    print("\nTo the primary:")
    for kind, meaning in PROMOTIONS.items():
        print(f"  {kind:14} {meaning}")
    print('\nAs in: make demo-fault FAULT="freeze pgpool-2". Everything back: make demo-fault FAULT=repair')


def break_something(lab: Lab, words: Sequence[str]) -> int:
    if list(words) == ["repair"]:
        lab.repair()
        print("Every server runs again.")
        return 0
    if not words and sys.stdin.isatty():
        offer(lab)
        words = input("\nWhat shall happen (nothing: leave it)? ").split()
    elif not words:
        offer(lab)
    if not words:
        return 0
    if list(words) == ["failover"] or (len(words) == 2 and words[0] == "switchover"):
        new = fail_over(lab) if len(words) == 1 else switch_over(lab, words[1])
        print(f"{new.name} is the primary now.")
        return 0
    if len(words) != 2 or words[0] not in KINDS:
        print(
            f"Say what and to whom, as in: freeze pgpool-2. What: {', '.join(KINDS)}; failover, switchover, repair.",
            file=sys.stderr,
        )
        return 2
    action(lab, words[0])(words[1])
    print(f"{words[0]} {words[1]}: done.")
    return 0
