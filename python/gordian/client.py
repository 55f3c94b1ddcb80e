"""A client of `gordian serve`: the library's own, which keeps sessions alive over broken connections.

Everything goes by name, in the lines of docs/reference/protocol.md; answers are `Reply` objects.
"""

from __future__ import annotations

import ctypes as c
import json
import os
import re
import select
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Set, Tuple, Union

from . import _abi
from ._library import Owned, call, data, error_of, lib, milliseconds, text
from .errors import Deadlock, InputError, Refused, Victim, Wait

__all__ = ["Client", "Reply", "Notice", "usual_uri"]

Names = Union[str, Iterable[str], Mapping[str, int]]
Labels = Mapping[str, Optional[str]]

_NAME = re.compile(r"[^\s#=\0]+")
# How often a wait asks how things stand, in case the word of a grant was lost with a connection; and
# how long it looks away at most, for the sake of Python's signals and other threads.
_ASK_S = 1.0
_LOOK_S = 0.05
_KINDS = {1: "deadlock", 2: "event", 3: "gap"}  # gordian_notice


@dataclass(frozen=True)
class Reply:
    """The service's answer to an event. `result` is its word: "granted", "blocked", "deadlock", ...;
    `served` names those whose waiting requests it served; `json` is the whole of it."""

    result: str
    waits: bool = False
    served: Tuple[str, ...] = ()
    witness: Tuple[str, ...] = ()
    json: Dict[str, Any] = field(default_factory=dict, compare=False)
    process: Optional[int] = field(default=None, compare=False)

    @property
    def granted(self) -> bool:
        return self.result == "granted"

    def check(self) -> "Reply":
        """Itself; or raises `Deadlock` if the request can never be served."""
        if self.result not in ("deadlock", "doomed"):
            return self
        names = self.witness
        sides = [
            Wait(names[i], names[i + 1], names[(i + 2) % len(names)])
            for i in range(0, len(names) - 1, 2)
        ]
        raise Deadlock(tuple(sides))


@dataclass(frozen=True)
class Notice:
    """Something that happened: `kind` is "deadlock" or "event". Or "gap": the connection was lost, and
    the client has subscribed again; of the events after `json["gap"]["from"]`, up to
    `json["gap"]["seq"]`, some or all were not told (`json["gap"]` is empty where that is not known, as
    always without "events"). `line("history")` has the deadlocks that were missed."""

    kind: str
    json: Dict[str, Any]


def usual_uri() -> str:
    """Where `gordian serve` listens if not told otherwise."""
    buffer = c.create_string_buffer(512)
    return text(lib.client_usual_uri(buffer, len(buffer)))


def name_word(name: str) -> str:
    """A name, as a word of a line."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name: it is empty, or has blanks, '#', '=' or a NUL")
    return name


def want_words(wants: Names, units: int = 1) -> List[str]:
    """Resources and units, as words of a line."""
    if isinstance(wants, str):
        wants = {wants: units}
    elif not isinstance(wants, Mapping):
        wants = {name: units for name in wants}
    return [f"{name_word(name)}={int(count)}" for name, count in wants.items()]


def label_line(labels: Labels, process: Optional[str], resource: Optional[str]) -> str:
    """Labels of one of the two, as a line."""
    if (process is None) == (resource is None):
        raise InputError("labels are of a process or of a resource: name one of them")
    kind, name = ("process", process) if process is not None else ("resource", resource)
    for key, value in labels.items():
        if ":" in name_word(key) or value == "":
            raise InputError(f"{key!r}: a key has no colon, and a value is not empty")
    words = [name_word(f"{key}:{'' if value is None else value}") for key, value in labels.items()]
    return " ".join(["label", kind, name_word(name or ""), *words])


def reply_of(answer: Dict[str, Any], waits: bool, process: int) -> Reply:
    """A Reply from what the service says; raises `Refused`."""
    result = answer.get("result", "")
    if result == "error":
        raise Refused(answer.get("message", ""))
    witness = answer.get("witness") or ()
    if not all(isinstance(each, str) for each in witness):
        witness = ()  # of a knot: all of it is in json
    return Reply(
        result,
        waits,
        tuple(answer.get("granted_to") or ()),
        tuple(witness),
        answer,
        None if process == _abi.NONE else process,
    )


class Core(Owned):
    """What the blocking client and that of asyncio share: the library's client and its callbacks."""

    _close = "client_close"

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._pending: Dict[int, Callable[..., None]] = {}
        self._next = 0
        self.granted: Set[int] = set()
        self.on_grant: Callable[[int], None] = lambda process: None
        self.on_notice: Callable[[Notice], None] = lambda notice: None
        # ctypes must not collect these while the library may call them.
        self._callbacks = (
            _abi.ANSWERED(self._answered),
            _abi.GRANTED(self._granted),
            _abi.NOTICE(self._noticed),
        )

    def connect(self, uri: Optional[str], **named: Any) -> None:
        options = _abi.client_options()
        lib.client_options_init(c.byref(options))
        for name in ("name", "token", "system", "tls_ca", "tls_name", "tls_certificate", "tls_key"):
            value = named.pop(name, None)
            setattr(options, name, data(os.fspath(value)) if value is not None else None)
        options.lease_ms = milliseconds(named.pop("lease", 0))
        options.timeout_ms = milliseconds(named.pop("timeout", 10))
        options.keep = named.pop("keep", False)
        session = named.pop("session", None)
        kept = c.create_string_buffer(session or b"", 16)
        options.session = c.cast(kept, c.c_void_p) if session else None
        kind = named.pop("open", None)
        if kind is not None:
            word, _, rest = kind.partition(" ")
            options.open = {"detect": 1, "avoid": 2}[word]
            options.open_options = data(rest)
        if named:
            raise TypeError(f"there is no option {', '.join(named)}")
        options.granted = c.cast(self._callbacks[1], c.c_void_p)
        options.notice = c.cast(self._callbacks[2], c.c_void_p)
        self._open(lib.client_open, data(uri), c.byref(options))

    def _live(self) -> Any:
        if os.getpid() != self._pid:
            raise InputError("a client belongs to the process that opened it")
        return super()._live()

    def close(self) -> None:
        """Ends the session, and with it what its processes hold (unless `keep`)."""
        handle, self._handle = self._handle, None
        if handle is not None:
            ours = os.getpid() == self._pid
            (lib.client_close if ours else lib.client_leave)(handle)

    def leave(self) -> None:
        """Goes without a word: the session lives until its lease is over."""
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.client_leave(handle)

    def send(self, line: str, event: bool, done: Callable[..., None]) -> None:
        """Queues a line; `done` gets (answer, waits, process, None), or (.., error)."""
        self._next += 1
        key = self._next
        self._pending[key] = done
        content = data(line)
        try:
            call(
                lib.client_send_line,
                self._live(),
                content,
                len(content),
                event,
                self._callbacks[0],
                key,
            )
        except BaseException:
            self._pending.pop(key, None)
            raise

    def _answered(self, key: int, place: Any) -> None:
        reply = place.contents
        done = self._pending.pop(key, None)
        self.granted.update(reply.served[: reply.served_count])
        for process in reply.served[: reply.served_count]:
            self.on_grant(process)
        if done is None:
            return
        if reply.status != _abi.OK:
            failure = error_of(reply.status, text(reply.message))
            failure.code = reply.code  # type: ignore[attr-defined]
            done({}, False, reply.process, failure)
            return
        content = c.string_at(reply.json, reply.json_length) if reply.json else b"{}"
        answer = json.loads(content or b"{}")
        waits = bool(reply.waits) or answer.get("result") in ("blocked", "deadlock", "doomed")
        if waits:
            self.granted.discard(reply.process)
        done(answer, waits, reply.process, None)

    def _granted(self, _: Any, process: int) -> None:
        self.granted.add(process)
        self.on_grant(process)

    def _noticed(self, _: Any, kind: int, place: int, length: int) -> None:
        answer = json.loads(c.string_at(place, length))
        if kind in _KINDS:
            self.on_notice(Notice(_KINDS[kind], answer))

    @property
    def session(self) -> bytes:
        buffer = c.create_string_buffer(16)
        lib.client_session(self._live(), buffer)
        return buffer.raw


def mask_of(words: Iterable[str]) -> int:
    """What to be told of, as the library's bits. Grants always."""
    bits = {"mine": 2, "deadlocks": 4, "events": 8}
    mask = 1
    for word in words:
        if word not in bits:
            raise InputError(f"{word!r}: expected mine, deadlocks or events")
        mask |= bits[word]
    return mask


class Client:
    """A connection to `gordian serve`: "unix:/path", "tcp://host:port" or "tls://host:port"; None:
    $GORDIAN_SERVICE, or the usual socket.

        with gordian.Client("unix:/run/gordian/gordian.sock") as client:
            client.resource("table")
            with client.holding("worker-7", "table"):
                ...

    Options: `name`, `token`, `system`, `open` ("detect" or "avoid", and options of it: makes the
    system if it is not there), `lease` (seconds: the session outlives a broken connection for so
    long), `keep`, `session` (bytes: goes on with that one), `timeout` (seconds), `tls_ca`,
    `tls_name`, `tls_certificate`, `tls_key`. Threads may share one; each had better have its own.
    After a fork the child must open another.
    """

    def __init__(self, uri: Optional[str] = None, **options: Any) -> None:
        self._mutex = threading.RLock()
        self._core = Core()
        self._notices: List[Notice] = []
        self._core.on_notice = self._notices.append
        self._core.connect(uri, **options)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._core.closed:
            return "<gordian.Client, closed>"
        return f"<gordian.Client of gordian serve {self.server_version}>"

    def close(self) -> None:
        """Ends the session: what its processes hold is given back (unless `keep`)."""
        with self._mutex:
            self._core.close()

    def leave(self) -> None:
        """Goes without a word: the session lives until its lease is over, and can be resumed."""
        with self._mutex:
            self._core.leave()

    @property
    def session(self) -> bytes:
        """What to give as `session` to go on after a restart."""
        with self._mutex:
            return self._core.session

    @property
    def server_version(self) -> str:
        with self._mutex:
            return text(lib.client_server_version(self._core._live()))

    @property
    def fence(self) -> int:
        """A number to show to whatever a lock protects, while you hold it: see docs/guide/cluster.md."""
        with self._mutex:
            return int(lib.client_fence(self._core._live()))

    @property
    def durability(self) -> str:
        with self._mutex:
            return text(lib.client_durability(self._core._live()))

    # ------------------------------------------------------------ lines

    def line(self, line: str, *, event: bool = False) -> Dict[str, Any]:
        """Says a line of docs/reference/protocol.md: "state", "history since=0", ... and what it answers."""
        return self._say([line], event)[0][0]

    def lines(self, lines: Iterable[str]) -> List[Reply]:
        """Many events in one go, as lines of a trace; refused ones have the result "error"."""
        replies = []
        for answer, waits, process in self._say(lines, True):
            if answer.get("result") == "error":
                replies.append(Reply("error", json=answer))
            else:
                replies.append(reply_of(answer, waits, process))
        return replies

    def _say(self, lines: Iterable[str], event: bool) -> List[Tuple[Dict[str, Any], bool, int]]:
        answers: List[Tuple[Dict[str, Any], bool, int]] = []
        failures: List[Exception] = []

        def done(answer: Dict[str, Any], waits: bool, process: int, failure: Any) -> None:
            answers.append((answer, waits, process))
            if failure is not None:
                failures.append(failure)

        with self._mutex:
            for line in lines:
                self._core.send(line, event, done)
            # In slices, so that Ctrl-C is heard.
            while call(lib.client_drain, self._core._live(), 200, accept=(_abi.END,)) == _abi.END:
                pass
        if failures:
            raise failures[0]
        return answers

    def _event(self, *words: str) -> Reply:
        return reply_of(*self._say([" ".join(words)], True)[0])

    # ------------------------------------------------------------ events

    def resource(self, name: str, units: int = 1) -> None:
        """Declares a resource; one that is there already must have as many units."""
        self.line(f"resource {name_word(name)} {int(units)}")

    def process(self, name: str, claims: Names = (), **weights: int) -> None:
        """Declares a process: its claims where the system avoids; priority= and cost= where it
        detects."""
        words = [f"{key}={int(value)}" for key, value in weights.items()]
        self.line(" ".join(["process", name_word(name), *want_words(claims), *words]))

    def label(
        self, labels: Labels, *, process: Optional[str] = None, resource: Optional[str] = None
    ) -> None:
        """Labels of a process or a resource, for people to find it by: a key of which the value is
        None is taken away, others stay as they are."""
        self.line(label_line(labels, process, resource))

    def request(self, process: str, wants: Names, units: int = 1) -> Reply:
        """Asks; does not wait for a grant."""
        return self._event("request", name_word(process), *want_words(wants, units))

    def release(self, process: str, wants: Names, units: int = 1, *, to: Optional[str] = None) -> Reply:
        heir = ["to", name_word(to)] if to is not None else []
        return self._event("release", name_word(process), *want_words(wants, units), *heir)

    def cancel(self, process: str) -> Reply:
        return self._event("cancel", name_word(process))

    def exit(self, process: str) -> Reply:
        return self._event("exit", name_word(process))

    def acquire(
        self, process: str, wants: Names, units: int = 1, *, timeout: Optional[float] = None
    ) -> bool:
        """Asks, and waits until it is granted: True; False when the time is up, and nothing waits any
        more. Raises `Deadlock` at once where it would wait for ever, and `Victim` if the service ended
        the process meanwhile."""
        until = None if timeout is None else time.monotonic() + timeout
        reply = self.request(process, wants, units)
        if reply.result in ("deadlock", "doomed"):
            if self._give_up(process, want_words(wants, units)):
                return True
            reply.check()
        if reply.granted or not reply.waits:
            return reply.granted
        if self._granted_by(process, reply.process, until):
            return True
        return self._give_up(process, want_words(wants, units))

    @property
    def _handle(self) -> Any:
        return self._core._live()

    def _granted_by(self, process: str, number: Any, until: Optional[float]) -> bool:
        """Waits for the word of a grant; False: the time is up, or it is not certain how it ended."""
        ask_at = time.monotonic() + _ASK_S
        while True:
            with self._mutex:
                if number in self._core.granted:
                    self._core.granted.discard(number)
                    return True
            now = time.monotonic()
            if until is not None and now >= until:
                return False
            if now >= ask_at:
                if not self.state(process)["waiting"]:
                    return False
                ask_at = now + _ASK_S
            self._pump(min(_LOOK_S, *([until - now] if until is not None else [_LOOK_S])))

    def _pump(self, seconds: float) -> None:
        """Looks for what the service says, at most for so long."""
        with self._mutex:
            fd, wanted = lib.client_fd(self._handle), lib.client_events(self._handle)
        if fd >= 0:
            poll = select.poll()
            poll.register(fd, wanted)
            poll.poll(max(seconds * 1000, 1))
        else:
            time.sleep(seconds)
        with self._mutex:
            call(lib.client_work, self._handle)

    def _give_up(self, process: str, words: List[str]) -> bool:
        """Cancels a request; True: it had been granted in that very moment."""
        try:
            self.cancel(process)
            return False
        except Refused:  # it does not wait any more: granted, or ended
            holds = self.state(process)["holds"]
            wants = dict(word.rsplit("=", 1) for word in words)
            if all(holds.get(name, 0) >= int(units) for name, units in wants.items()):
                return True
            raise Victim(f"{process} was ended while it waited") from None

    def holding(
        self, process: str, wants: Names, units: int = 1, *, timeout: Optional[float] = None
    ) -> "_Holding":
        """A context manager: acquires, and releases at the end. TimeoutError when the time is up."""
        return _Holding(self, process, wants, units, timeout)

    # ------------------------------------------------------------ questions

    def state(self, name: Optional[str] = None) -> Dict[str, Any]:
        """Of a process, a resource, or of the system."""
        return self.line("state" if name is None else f"state {name_word(name)}")["state"]

    def what_if(self, process: str, wants: Names, units: int = 1) -> str:
        """What a request would be answered now."""
        words = ["what-if", name_word(process), *want_words(wants, units)]
        return self.line(" ".join(words))["result"]

    def systems(self) -> List[Dict[str, Any]]:
        return self.line("systems")["systems"]

    def use(self, name: str) -> None:
        """Goes on in another system, which must exist; also after a lost connection, unlike
        `line("use ...")`, which is that connection's alone."""
        with self._mutex:
            call(lib.client_use, self._handle, data(name))

    def ping(self) -> None:
        with self._mutex:
            call(lib.client_ping, self._handle)

    def subscribe(self, *what: str) -> None:
        """What to be told of: "mine" (deadlocks with a process of mine), "deadlocks", "events". With a
        lease it is said again after the connection was lost; a notice of the kind "gap" tells."""
        with self._mutex:
            call(lib.client_subscribe, self._handle, mask_of(what))

    def notices(self, timeout: Optional[float] = None) -> Iterator[Notice]:
        """What was subscribed to, as it comes; ends when nothing came for so long."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._mutex:
                ready, self._notices[:] = list(self._notices), []
            for notice in ready:
                yield notice
                until = None if timeout is None else time.monotonic() + timeout
            if not ready:
                if until is not None and time.monotonic() >= until:
                    return
                self._pump(_LOOK_S)


class _Holding:
    def __init__(self, client: Client, process: str, wants: Names, units: int, timeout: Any) -> None:
        self._client, self._process = client, process
        self._wants = dict(word.rsplit("=", 1) for word in want_words(wants, units))
        self._timeout = timeout

    def __enter__(self) -> Client:
        wants = {name: int(units) for name, units in self._wants.items()}
        if not self._client.acquire(self._process, wants, timeout=self._timeout):
            raise TimeoutError(f"{self._process} was not served within {self._timeout} s")
        return self._client

    def __exit__(self, *_: Any) -> None:
        for name, units in self._wants.items():
            self._client.release(self._process, name, int(units))
