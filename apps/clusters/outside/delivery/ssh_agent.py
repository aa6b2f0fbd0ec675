"""The keys of an ssh-agent: those that are offered to a host, and their public halves for people."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass

import asyncssh

from apps.clusters.outside.sockets import DeadlinePassed, by_deadline

LOOK_DEADLINE_S = 2.0


@dataclass(frozen=True)
class AgentKeys:
    """lines: public keys as in authorized_keys, in the agent's order, without certificates.

    trouble: why none are known; empty if they are.
    """

    lines: tuple[str, ...] = ()
    trouble: str = ""


class OfferedKeys:
    """What an agent offers for one sign-in, asked for once the host has shown its key.

    count: its keys. trouble: why it could not be asked, in words after "the agent"; empty if it was.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._agent: asyncssh.SSHAgentClient | None = None
        self._is_taken = False
        self.is_asking = False
        self.count = 0
        self.trouble = ""

    async def take(self) -> list[asyncssh.SSHKeyPair] | None:
        """All its keys, the first time; none after that."""
        if self._is_taken:
            return None
        self._is_taken = self.is_asking = True
        try:
            self._agent = await asyncssh.connect_agent(self._path)
            keys = list(await self._agent.get_keys())
        except (OSError, ValueError) as error:
            self.trouble = f"cannot be asked: {_words(error)}"
            keys = []
        self.is_asking = False
        self.count = len(keys)
        return keys or None

    def close(self) -> None:
        if self._agent is not None:
            self._agent.close()


def look(path: str) -> AgentKeys:
    """The keys of the agent at this socket. Ends by LOOK_DEADLINE_S, also where it hangs."""
    try:
        return AgentKeys(lines=asyncio.run(_lines(path)))
    except DeadlinePassed:
        return AgentKeys(trouble=f"it did not answer within {LOOK_DEADLINE_S:.3g} s")
    except (OSError, ValueError) as error:
        return AgentKeys(trouble=f"it cannot be asked: {_words(error)}")


async def _lines(path: str) -> tuple[str, ...]:
    return await by_deadline(_ask(path), deadline_s=LOOK_DEADLINE_S)


async def _ask(path: str) -> tuple[str, ...]:
    async with asyncssh.connect_agent(path) as agent:
        return tuple([_line(pair) for pair in await agent.get_keys() if not pair.has_cert])


def _line(pair: asyncssh.SSHKeyPair) -> str:
    # Whoever gave the key to the agent chose its comment.
    comment = " ".join((pair.get_comment(errors="replace") or "").split())
    return f"{pair.get_algorithm()} {base64.b64encode(pair.public_data).decode()} {comment}".strip()


def _words(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or str(error) or "it closed the connection")
