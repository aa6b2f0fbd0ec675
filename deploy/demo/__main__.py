"""`python -m deploy.demo run|up|down|reset|fault`: what `make demo` and its sisters call."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deploy.demo import faults, keeping, stack
from deploy.demo.place import DEFAULT_ROOT, MARK, Place

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def show(announcement: Mapping[str, Any], where: Place) -> None:
    print(
        f"\nLifeguard is at  {announcement['url']}\n"
        f"  user           {announcement['email']}\n"
        f"  password       {announcement['password']}\n"
        f"  or, once       {announcement['sign_in_url']}\n"
        f"  API token      in {where.announcement}",
        flush=True,
    )


def run(where: Place) -> int:
    """Until Ctrl-C, or until the demo is stopped from elsewhere."""
    begun = time.monotonic()
    stack.refuse_to_move(where)
    try:
        show(stack.up(where), where)
        print(
            f"\nReady after {time.monotonic() - begun:.0f} s. Ctrl-C stops everything; what it knows is kept.",
            flush=True,
        )
        while keeping.keeper_of(where.directory) is not None:
            time.sleep(0.5)
        print("The demo was stopped.", flush=True)
    except KeyboardInterrupt:
        print("\nStopping everything …", flush=True)
    finally:
        ignore_signals()
        stack.down(where)
    print("Stopped. Nothing is left running; make reset forgets what it knows.", flush=True)
    return 0


def up(where: Place) -> int:
    begun = time.monotonic()
    stack.refuse_to_move(where)
    show(stack.up(where), where)
    stop = "make down" if where.root == DEFAULT_ROOT else f"python -m deploy.demo --root {where.root} down"
    print(f"\nReady after {time.monotonic() - begun:.0f} s. Stop it with: {stop}", flush=True)
    return 0


def down(where: Place) -> int:
    stack.down(where)
    print("The demo is stopped; what it knows is kept. make demo-up starts it again, make reset forgets it.")
    return 0


def reset(where: Place) -> int:
    stack.reset(where)
    print("The demo is stopped and forgotten.")
    return 0


def fault(where: Place, words: Sequence[str]) -> int:
    if keeping.keeper_of(where.directory) is None:
        print("The demo is not running. Start it: make demo-up", file=sys.stderr)
        return 1
    return faults.break_something(stack.lab_of(where), words)


def ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def interrupt(_number: int, _frame: object) -> None:
    """Once: a second Ctrl-C must not leave half of it behind."""
    ignore_signals()
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.demo", description=__doc__)
    parser.add_argument(
        "--root", type=Path, default=DEFAULT_ROOT, help="where it keeps its files (default: .lifeguard)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "up", "down", "reset"):
        commands.add_parser(name)
    breaking = commands.add_parser("fault", help="break something")
    breaking.add_argument("words", nargs="*", metavar="WORD", help="as in: freeze pgpool-2")
    choice = parser.parse_args(arguments)
    where = Place(choice.root.absolute())
    # For the children; it is by this that a later start finds what a killed one left.
    os.environ[MARK] = str(where.directory)
    # SIGINT too: a shell that starts it in the background has it ignored, and Python leaves that so.
    for number in SIGNALS:
        signal.signal(number, interrupt)
    try:
        if choice.command == "fault":
            return fault(where, choice.words)
        return {"run": run, "up": up, "down": down, "reset": reset}[choice.command](where)
    except KeyboardInterrupt:
        return 130
    except (RuntimeError, ValueError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
