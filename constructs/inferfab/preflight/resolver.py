"""A question to the machine's DNS resolver: who answers for a zone. RFC 1035; Python's own resolver knows addresses
only."""

import secrets
import socket
import struct
from pathlib import Path

from inferfab.preflight.reader import ReadFailed

_NS, _IN, _NO_SUCH_NAME = 2, 1, 3
_HEADER = struct.Struct(">HHHHHH")
_RECURSION_DESIRED = 0x0100
_TRUNCATED = 0x0200
_SECONDS = 3.0


class SystemResolver:
    """Asks the first server of ``/etc/resolv.conf``.

    :param server: address and port to ask instead.
    """

    def __init__(self, server: tuple[str, int] | None = None) -> None:
        self._server = server

    def name_servers(self, zone: str) -> tuple[str, ...]:
        """As :class:`~inferfab.preflight.names.Resolver` says."""
        address, port = self._server or (_first_server(), 53)
        mark = secrets.randbelow(1 << 16)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asking:
                asking.settimeout(_SECONDS)
                # A connected socket takes no answer from anybody else.
                asking.connect((address, port))
                asking.send(question(zone, mark))
                answer = asking.recv(4096)
        except OSError as error:
            why = error.strerror or f"nothing within {_SECONDS} s"
            raise ReadFailed(f"the DNS resolver {address} does not answer: {why}") from error
        return answered(answer, mark)


def _first_server() -> str:
    try:
        lines = Path("/etc/resolv.conf").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ReadFailed("this machine names no DNS resolver in /etc/resolv.conf") from error
    servers = [line.split()[1] for line in lines if line.startswith("nameserver") and len(line.split()) > 1]
    if not servers:
        raise ReadFailed("this machine names no DNS resolver in /etc/resolv.conf")
    return servers[0].partition("%")[0]


def question(zone: str, mark: int) -> bytes:
    """A query for the zone's NS records."""
    labels = b"".join(bytes([len(part)]) + part.encode("ascii") for part in zone.rstrip(".").split("."))
    return _HEADER.pack(mark, _RECURSION_DESIRED, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", _NS, _IN)


def answered(answer: bytes, mark: int) -> tuple[str, ...]:
    """Name servers in an answer; empty where there is no such name.

    :raises ReadFailed: if it is no answer to the question, or the resolver failed.
    """
    try:
        ours, flags, questions, answers, _, _ = _HEADER.unpack_from(answer)
        if ours != mark or flags & _TRUNCATED:
            raise ReadFailed("the DNS resolver gave no whole answer")
        if flags & 0xF == _NO_SUCH_NAME:
            return ()
        if flags & 0xF:
            raise ReadFailed(f"the DNS resolver failed (code {flags & 0xF})")
        at = _HEADER.size
        for _question in range(questions):
            at = _name(answer, at)[1] + 4
        found = []
        for _record in range(answers):
            _, at = _name(answer, at)
            kind, _class, _ttl, length = struct.unpack_from(">HHIH", answer, at)
            at += 10
            if kind == _NS:
                found.append(_name(answer, at)[0])
            at += length
    except (struct.error, IndexError) as error:
        raise ReadFailed("the DNS resolver gave no whole answer") from error
    return tuple(found)


def _name(message: bytes, at: int) -> tuple[str, int]:
    """A name, which may end with a pointer to an earlier place, and where it ends."""
    parts: list[str] = []
    end: int | None = None
    for _hop in range(128):
        length = message[at]
        if length & 0xC0 == 0xC0:
            end = end or at + 2
            at = struct.unpack_from(">H", message, at)[0] & 0x3FFF
        elif length == 0:
            return ".".join(parts), end or at + 1
        else:
            parts.append(message[at + 1 : at + 1 + length].decode("ascii", "replace"))
            at += 1 + length
    raise ReadFailed("the DNS resolver gave a name without an end")
