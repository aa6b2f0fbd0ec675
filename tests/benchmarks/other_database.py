"""A pooler that leads to another database than sessions ask for, before the PostgreSQL of these tests."""

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


def _renamed(body: bytes, database: str) -> bytes:
    """Of a startup message: name and value by turns, each with a NUL behind it, and one more at the end."""
    parts = body.split(b"\0")
    facts = dict(zip(parts[0::2], parts[1::2], strict=False))
    facts.pop(b"", None)
    facts[b"database"] = database.encode()
    return b"".join(name + b"\0" + value + b"\0" for name, value in facts.items()) + b"\0"


@contextlib.contextmanager
def leading_to(database: str) -> Iterator[int]:
    """Its port on loopback."""
    place = connection.settings_dict

    class Session(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            size, code = struct.unpack("!II", _exactly(self.request, 8))
            if code == SSL_REQUEST:
                self.request.sendall(b"N")
                size, code = struct.unpack("!II", _exactly(self.request, 8))
            body = _renamed(_exactly(self.request, size - 8), database)
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
