"""A memcached in this process, as one that answers, freezes, talks nonsense or is gone."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Self

CAPTURED = (Path(__file__).parent / "captured" / "memcached-1.6.18" / "stats").read_bytes()
Mode = Literal["ok", "frozen", "half", "nonsense", "endless", "close", "full"]
_SAID: dict[Mode, bytes] = {
    "ok": CAPTURED,
    "frozen": b"",
    "half": CAPTURED[:200],
    "nonsense": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "endless": b"VERSION 1.6.18\r\n" + b"STAT a 1\r\n" * 2000,
    "full": b"ERROR Too many open connections\r\n",
    "close": b"",
}
_CLOSING: tuple[Mode, ...] = ("nonsense", "close", "full")


class FakeMemcached:
    """Run it with `async with`, or `with FakeMemcached().running() as memcached:` (own thread)."""

    def __init__(self) -> None:
        self.mode: Mode = "ok"
        self.host = "127.0.0.1"
        self.port = 0
        self.questions = 0
        self.open = 0
        self.most_open = 0
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._talk, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await asyncio.sleep(0)

    @contextmanager
    def running(self) -> Iterator["FakeMemcached"]:
        loop = self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        try:
            self.begin()
            yield self
        finally:
            self.end()
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=30)
            loop.close()

    def begin(self) -> None:
        """Listen again at the same port."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.__aenter__(), self._loop).result(timeout=30)

    def end(self) -> None:
        """Nobody listens there any more."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self.__aexit__(), self._loop).result(timeout=30)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        with suppress(OSError):
            if await reader.readline():
                self.questions += 1
                writer.write(_SAID[self.mode])
                if self.mode not in _CLOSING:
                    await reader.read()  # until the other side has gone
        self.open -= 1
        writer.close()
