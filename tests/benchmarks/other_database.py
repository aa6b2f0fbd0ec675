"""A pooler that leads to another database than sessions ask for, before the PostgreSQL of these tests; a silent one."""

import contextlib
import select
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator

from django.db import connection

SSL_REQUEST = 80877103


def _exactly(taken: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        if not (more := taken.recv(count - len(found))):
            raise ConnectionError("gone before it said what it wants")
        found += more
    return found


def _renamed(body: bytes, database: str, options: str) -> bytes:
    """Of a startup message: name and value by turns, each with a NUL behind it, and one more at the end."""
    parts = body.split(b"\0")
    facts = dict(zip(parts[0::2], parts[1::2], strict=False))
    facts.pop(b"", None)
    facts[b"database"] = database.encode()
    if options:
        facts[b"options"] = options.encode()
    return b"".join(name + b"\0" + value + b"\0" for name, value in facts.items()) + b"\0"


@contextlib.contextmanager
def leading_to(database: str, *, options: str = "") -> Iterator[int]:
    """Its port on loopback. options: that its sessions begin with, as PGOPTIONS."""
    place = connection.settings_dict

    class Session(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            size, code = struct.unpack("!II", _exactly(self.request, 8))
            if code == SSL_REQUEST:
                self.request.sendall(b"N")
                size, code = struct.unpack("!II", _exactly(self.request, 8))
            body = _renamed(_exactly(self.request, size - 8), database, options)
            with socket.create_connection((place["HOST"], int(place["PORT"]))) as server:
                server.sendall(struct.pack("!II", len(body) + 8, code) + body)
                self.pass_on(server)

        def pass_on(self, server: socket.socket) -> None:
            both = {self.request: server, server: self.request}
            while True:
                for one in select.select(list(both), [], [])[0]:
                    if not (said := one.recv(65536)):
                        return
                    both[one].sendall(said)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield serving.server_address[1]
        finally:
            serving.shutdown()
            thread.join()


@contextlib.contextmanager
def silent() -> Iterator[tuple[int, threading.Event]]:
    """The port on loopback of a server that takes connections and says nothing; set once there was one."""
    came, is_over = threading.Event(), threading.Event()

    class Session(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            came.set()
            is_over.wait()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield serving.server_address[1], came
        finally:
            is_over.set()
            serving.shutdown()
            thread.join()
