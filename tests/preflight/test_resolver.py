"""The question to a DNS resolver: bytes as RFC 1035 has them, and a resolver on loopback."""

import socket
import struct
import threading

import pytest

from inferfab.preflight.reader import ReadFailed
from inferfab.preflight.resolver import SystemResolver, answered, question


def reply(mark: int, servers: tuple[str, ...], *, code: int = 0) -> bytes:
    """With the zone's name once, and pointers to it (section 4.1.4)."""
    asked = question("llm.example.com", mark)
    head = struct.pack(">HHHHHH", mark, 0x8180 | code, 1, len(servers), 0, 0)
    body = asked[12:]
    for server in servers:
        host = server.removesuffix(".example.com")
        # `example.com` of the question begins 4 bytes behind the header: one length byte and `llm`.
        name = bytes([len(host)]) + host.encode() + struct.pack(">H", 0xC000 | (12 + 4))
        body += struct.pack(">HHHIH", 0xC00C, 2, 1, 300, len(name)) + name
    return head + body


def test_the_question() -> None:
    """Header with recursion desired, one question: labels by length, NS (2), IN (1)."""
    assert question("llm.example.com.", 0x1234) == (
        bytes.fromhex("123401000001000000000000") + b"\x03llm\x07example\x03com\x00" + bytes.fromhex("00020001")
    )


def test_answers() -> None:
    assert answered(reply(7, ("ns1.example.com", "ns2.example.com")), 7) == ("ns1.example.com", "ns2.example.com")
    assert answered(reply(7, (), code=3), 7) == ()
    with pytest.raises(ReadFailed, match="code 2"):
        answered(reply(7, (), code=2), 7)


@pytest.mark.parametrize("cut", range(0, 60, 3))
def test_broken_answers(cut: int) -> None:
    """Cut anywhere, of another question, or with a name that points to itself."""
    whole = reply(7, ("ns1.example.com",))
    with pytest.raises(ReadFailed):
        answered(whole[: min(cut, len(whole) - 1)], 7)
    with pytest.raises(ReadFailed):
        answered(whole, 8)
    with pytest.raises(ReadFailed):
        answered(whole[:12] + struct.pack(">H", 0xC00C) + whole[14:], 7)


def test_over_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)

        def serve() -> None:
            asked, who = server.recvfrom(512)
            server.sendto(reply(struct.unpack(">H", asked[:2])[0], ("ns1.example.com",)), who)

        thread = threading.Thread(target=serve)
        thread.start()
        assert SystemResolver(server.getsockname()).name_servers("llm.example.com") == ("ns1.example.com",)
        thread.join()


def test_nobody_there() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ReadFailed, match="does not answer"):
        SystemResolver(("127.0.0.1", port)).name_servers("llm.example.com")
