"""The binary form of the protocol, as much of it as the tests need: docs/reference/protocol.md."""
import socket
import struct

START = b"\0GRD\1\0\0\0"
HELLO, DECLARE, EVENTS, STATE = 1, 4, 5, 8
WELCOME, DECLARED, RESULTS, GRANTED, INCIDENT, STATED, ERROR, EVENT, FENCE = 65, 66, 67, 68, 69, 70, 73, 75, 77
REQUEST, CANCEL = 1, 3  # events
GRANTED_NOW, BLOCKED, DEADLOCK, CANCELLED = 1, 2, 3, 6  # outcomes
FENCES = 2  # a flag of HELLO


def frame(kind, body=b""):
    return struct.pack("<IB", len(body) + 1, kind) + body


def text16(text):
    return struct.pack("<H", len(text)) + text


def event(op, process, *resources):
    wants = b"".join(struct.pack("<IQ", resource, 1) for resource in resources)
    return struct.pack("<BBHI", op, 0, len(resources), process) + wants


class Frames:
    """A connection. `address`: a path, or (host, port)."""

    def __init__(self, address, token=b"", lease_ms=0, flags=0, timeout=None):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.welcome = self.ask(HELLO, bytes(16) + struct.pack("<IB", lease_ms, flags) + text16(token) + text16(b"test"),
                                start=START)

    def receive(self, count):
        data = bytearray()
        while len(data) < count:
            more = self.socket.recv(min(1 << 16, count - len(data)))
            if not more:
                raise EOFError("the connection has ended")
            data += more
        return bytes(data)

    def answer(self):
        """The next frame that is no notice: its kind, its body."""
        while True:
            size, kind = struct.unpack("<IB", self.receive(5))
            body = self.receive(size - 1)
            if kind not in (GRANTED, INCIDENT, EVENT, FENCE):
                return kind, body

    def ask(self, kind, body, start=b""):
        self.socket.sendall(start + frame(kind, body))
        return self.answer()

    def declare(self, *names):
        """(1: process, 2: resource; name) of each."""
        items = b"".join(struct.pack("<BB", what, len(name)) + name + struct.pack("<QH", what - 1, 0)
                         for what, name in names)
        kind, body = self.ask(DECLARE, struct.pack("<I", len(names)) + items)
        assert kind == DECLARED, (kind, body)
        return struct.unpack("<%dI" % len(names), body[4:])

    def send_events(self, events, first=0):
        self.socket.sendall(frame(EVENTS, struct.pack("<QI", first, len(events)) + b"".join(events)))

    def outcomes(self):
        """Of the events of the frame whose answer is next."""
        kind, body = self.answer()
        assert kind == RESULTS, (kind, body)
        count = struct.unpack_from("<QI", body)[1]
        return [body[12 + 4 * i] for i in range(count)]


def storm(link, pairs):
    """Events of one frame: two processes that are nearly deadlocked, then so many times the request that closes the
    deadlock, and its end. And their outcomes."""
    a, b, p, q = link.declare((2, b"a"), (2, b"b"), (1, b"p"), (1, b"q"))
    head = [event(REQUEST, p, a), event(REQUEST, q, b), event(REQUEST, p, b)]
    return (head + [event(REQUEST, q, a), event(CANCEL, q)] * pairs,
            [GRANTED_NOW, GRANTED_NOW, BLOCKED] + [DEADLOCK, CANCELLED] * pairs)
