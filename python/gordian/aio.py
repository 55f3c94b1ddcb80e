"""For asyncio: locks that raise `Deadlock` instead of hanging, and the client of `gordian serve`.

The locks are asyncio's own, and note which task holds them. Everything said in `gordian.locks` holds
here with tasks in place of threads. A task that waits under `asyncio.timeout` is taken to wait for
ever: asyncio does not tell.
"""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Dict, List, Optional, Tuple

from ._domain import Domain, Noted, Waiting, calling_frame, place_of
from ._library import call, data, lib, text
from .client import (
    Core,
    Labels,
    Names,
    Notice,
    Reply,
    label_line,
    mask_of,
    name_word,
    reply_of,
    want_words,
)
from .errors import GordianError, Refused, Victim

__all__ = ["Lock", "Semaphore", "BoundedSemaphore", "Client"]


class _Held(Noted):
    """What they add to asyncio's: who holds it, and since where."""

    def _begin(self, name: Optional[str], domain: Optional[Domain]) -> None:
        super()._begin(name, domain)
        self._held: Dict[Any, int] = {}

    def _holders(self) -> Tuple[Tuple[Any, int], ...]:
        return tuple(self._held.copy().items())

    async def _take(self, acquire: Callable[[], Any], frame: Any, owned: bool) -> bool:
        task = asyncio.current_task()
        if self.locked():  # type: ignore[attr-defined]
            waiting = Waiting(task, self, place_of(frame), True)
            self._domain.enter(waiting)
            try:
                await acquire()
            finally:
                self._domain.leave(waiting)
        else:
            await acquire()
        if owned:
            self._taken = frame.f_code, frame.f_lasti
            self._held[task] = self._held.get(task, 0) + 1
        return True

    def _drop(self, must: bool) -> None:
        """The task gives a unit back; one that had none sends a signal."""
        task = asyncio.current_task() if _in_loop() else None
        left = self._held.pop(task, 0) - 1
        if left > 0:
            self._held[task] = left
        elif left < 0 and must:
            self._signals = True
            self._held.clear()


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Lock(_Held, asyncio.Lock):
    """As `asyncio.Lock`."""

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        domain: Optional[Domain] = None,
        signals: bool = False,
    ) -> None:
        super().__init__()
        self._begin(name, domain)
        self._signals = signals

    async def acquire(self) -> bool:  # type: ignore[override]
        return await self._take(super().acquire, calling_frame(), True)

    def release(self) -> None:
        if self.locked():
            self._drop(True)
        super().release()

    async def __aenter__(self) -> None:
        await self._take(super().acquire, calling_frame(), True)


class Semaphore(_Held, asyncio.Semaphore):
    """As `asyncio.Semaphore`. Units taken by `async with` are held by the task until its end, others
    may be given back by anybody (`signals=False`: no, by whom took them)."""

    def __init__(
        self,
        value: int = 1,
        name: Optional[str] = None,
        *,
        domain: Optional[Domain] = None,
        signals: Optional[bool] = None,
    ) -> None:
        super().__init__(value)
        self._begin(name, domain)
        self._capacity = value
        self._signals = signals is True or value == 0
        self._strict = signals is False

    async def acquire(self) -> bool:  # type: ignore[override]
        return await self._take(super().acquire, calling_frame(), self._strict)

    def release(self) -> None:
        if self._strict:
            self._drop(True)
        super().release()

    async def __aenter__(self) -> None:
        await self._take(super().acquire, calling_frame(), True)

    async def __aexit__(self, *_: Any) -> None:
        self._drop(False)
        super().release()


class BoundedSemaphore(Semaphore):
    """As `asyncio.BoundedSemaphore`: more releases than acquires are a ValueError."""

    def __init__(self, value: int = 1, *arguments: Any, **named: Any) -> None:
        super().__init__(value, *arguments, **named)
        self._bound = value

    def release(self) -> None:
        self._check_bound()
        super().release()

    async def __aexit__(self, *_: Any) -> None:
        self._check_bound()
        await super().__aexit__(*_)

    def _check_bound(self) -> None:
        if self._value >= self._bound:
            raise ValueError("BoundedSemaphore released too many times")


class Client:
    """`gordian.Client` for asyncio: the same methods, to be awaited.

        async with gordian.aio.Client("unix:/run/gordian/gordian.sock") as client:
            await client.resource("table")
            await client.acquire("worker-7", "table")

    Any number of tasks of one event loop may use it at once: their events travel together.
    """

    def __init__(self, uri: Optional[str] = None, **options: Any) -> None:
        self._uri, self._options = uri, options
        self._core = Core()
        self._core.on_grant = self._grant
        self._core.on_notice = self._notice
        self._grants: Dict[int, "asyncio.Future[None]"] = {}
        self._notices: List[Notice] = []
        self._news: Any = None
        self._loop: Any = None
        self._watched: Tuple[int, int] = (-1, 0)
        self._timer: Any = None
        self._failed: Optional[BaseException] = None
        self._busy: Any = None

    async def connect(self) -> "Client":
        """Connects; `async with` does it, too."""
        self._loop = asyncio.get_running_loop()
        self._news, self._busy = asyncio.Event(), asyncio.Lock()
        connect = lambda: self._core.connect(self._uri, **self._options)  # noqa: E731
        await self._loop.run_in_executor(None, connect)
        self._watch()
        return self

    async def __aenter__(self) -> "Client":
        return await self.connect()

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the session."""
        self._unwatch()
        if not self._core.closed:
            await self._loop.run_in_executor(None, self._core.close)

    # ------------------------------------------------------------ in the loop

    def _unwatch(self) -> None:
        fd, _ = self._watched
        for remove in (self._loop.remove_reader, self._loop.remove_writer) if fd >= 0 else ():
            try:
                remove(fd)
            except OSError:  # the library has closed it, and the loop has let it go
                pass
        self._watched = (-1, 0)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self) -> None:
        """Has the loop wait for what the library waits for."""
        if self._core.closed:
            return
        handle = self._core._handle
        fd, wanted = lib.client_fd(handle), lib.client_events(handle)
        # While it connects one socket may follow another under the same number, of which the loop
        # would not hear.
        if (fd, wanted) != self._watched or not wanted & 1:
            self._unwatch()
            if fd >= 0 and wanted & 1:
                self._loop.add_reader(fd, self._work)
            if fd >= 0 and wanted & 4:
                self._loop.add_writer(fd, self._work)
            self._watched = (fd, wanted)
        if self._timer is not None:
            self._timer.cancel()
        wait = lib.client_timeout(handle)
        self._timer = None if wait < 0 else self._loop.call_later(wait / 1000, self._work)

    def _work(self) -> None:
        if self._core.closed or self._failed is not None:
            return
        try:
            call(lib.client_work, self._core._live())
        except Exception as failure:  # final: all who wait for an answer have been told
            self._failed = failure
            self._unwatch()
            for waiter in list(self._grants.values()):
                if not waiter.done():
                    waiter.set_exception(failure)
            self._news.set()
            return
        self._watch()

    def _grant(self, process: int) -> None:
        waiter = self._grants.get(process)
        if waiter is not None:
            self._loop.call_soon_threadsafe(_finish, waiter, None)

    def _notice(self, notice: Notice) -> None:
        self._notices.append(notice)
        if self._news is not None:
            self._loop.call_soon_threadsafe(self._news.set)

    async def _wait_in_thread(self, function: Any, *arguments: Any) -> None:
        """A call that waits, made elsewhere, while the loop keeps its hands off the client."""
        async with self._busy:
            self._unwatch()
            try:
                await self._loop.run_in_executor(
                    None, lambda: call(function, self._core._live(), *arguments)
                )
            finally:
                self._watch()

    # ------------------------------------------------------------ lines

    async def line(self, line: str, *, event: bool = False) -> Dict[str, Any]:
        """Says a line of docs/reference/protocol.md, and what it answers."""
        return (await self._say(line, event))[0]

    async def _say(self, line: str, event: bool) -> Tuple[Dict[str, Any], bool, int]:
        if self._failed is not None:
            raise self._failed
        future = self._loop.create_future()

        def done(answer: Dict[str, Any], waits: bool, process: int, failure: Any) -> None:
            self._loop.call_soon_threadsafe(_finish, future, (answer, waits, process), failure)

        async with self._busy:
            self._core.send(line, event, done)
            call(lib.client_flush, self._core._live())
            self._watch()
        return await future

    async def _event(self, *words: str) -> Reply:
        return reply_of(*await self._say(" ".join(words), True))

    async def resource(self, name: str, units: int = 1) -> None:
        await self.line(f"resource {name_word(name)} {int(units)}")

    async def process(self, name: str, claims: Names = (), **weights: int) -> None:
        words = [f"{key}={int(value)}" for key, value in weights.items()]
        await self.line(" ".join(["process", name_word(name), *want_words(claims), *words]))

    async def label(
        self, labels: Labels, *, process: Optional[str] = None, resource: Optional[str] = None
    ) -> None:
        """As `gordian.Client.label`."""
        await self.line(label_line(labels, process, resource))

    async def request(self, process: str, wants: Names, units: int = 1) -> Reply:
        return await self._event("request", name_word(process), *want_words(wants, units))

    async def release(
        self, process: str, wants: Names, units: int = 1, *, to: Optional[str] = None
    ) -> Reply:
        heir = ["to", name_word(to)] if to is not None else []
        return await self._event("release", name_word(process), *want_words(wants, units), *heir)

    async def cancel(self, process: str) -> Reply:
        return await self._event("cancel", name_word(process))

    async def exit(self, process: str) -> Reply:
        return await self._event("exit", name_word(process))

    async def acquire(
        self, process: str, wants: Names, units: int = 1, *, timeout: Optional[float] = None
    ) -> bool:
        """As `gordian.Client.acquire`. A task that is cancelled while it waits gives the request up."""
        words = want_words(wants, units)
        stop = self._loop.create_future()
        task = asyncio.ensure_future(self._acquire(process, words, timeout, stop))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set_result(None)
            await asyncio.shield(self._return(process, words, task))
            raise

    async def _acquire(
        self, process: str, words: List[str], timeout: Optional[float], stop: "asyncio.Future[None]"
    ) -> bool:
        """Never cancelled in the middle of an exchange, or nobody would know what came of it."""
        reply = await self._event("request", name_word(process), *words)
        if reply.result in ("deadlock", "doomed"):
            if await self._give_up(process, words):
                return True
            reply.check()
        if reply.granted or not reply.waits:
            return reply.granted
        if await self._granted_by(process, reply.process, timeout, stop):
            return True
        return await self._give_up(process, words)

    async def _return(self, process: str, words: List[str], task: "asyncio.Task[bool]") -> None:
        """Nobody waits for it any more: what was granted goes back."""
        try:
            for word in words if await task else []:
                await self._event("release", name_word(process), word)
        except GordianError:
            pass  # nothing was granted, or nobody is left to give it back to

    async def _granted_by(
        self, process: str, number: Any, timeout: Optional[float], stop: "asyncio.Future[None]"
    ) -> bool:
        until = None if timeout is None else self._loop.time() + timeout
        waiter = self._loop.create_future()
        self._grants[number] = waiter
        try:
            if number in self._core.granted:
                return True
            while True:
                left = 1.0 if until is None else min(1.0, until - self._loop.time())
                await asyncio.wait(
                    [waiter, stop], timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED
                )
                if waiter.done():
                    return waiter.result() is None
                if stop.done() or (until is not None and self._loop.time() >= until):
                    return False
                if not (await self.state(process))["waiting"]:  # its word may have been lost
                    return False
        finally:
            self._grants.pop(number, None)

    async def _give_up(self, process: str, words: List[str]) -> bool:
        try:
            await self.cancel(process)
            return False
        except Refused:
            holds = (await self.state(process))["holds"]
            wants = dict(word.rsplit("=", 1) for word in words)
            if all(holds.get(name, 0) >= int(units) for name, units in wants.items()):
                return True
            raise Victim(f"{process} was ended while it waited") from None

    async def state(self, name: Optional[str] = None) -> Dict[str, Any]:
        line = "state" if name is None else f"state {name_word(name)}"
        return (await self.line(line))["state"]

    async def what_if(self, process: str, wants: Names, units: int = 1) -> str:
        words = ["what-if", name_word(process), *want_words(wants, units)]
        return (await self.line(" ".join(words)))["result"]

    async def systems(self) -> List[Dict[str, Any]]:
        return (await self.line("systems"))["systems"]

    async def use(self, name: str) -> None:
        """As `gordian.Client.use`."""
        await self._wait_in_thread(lib.client_use, data(name))

    async def subscribe(self, *what: str) -> None:
        await self._wait_in_thread(lib.client_subscribe, mask_of(what))

    async def notices(self) -> AsyncIterator[Notice]:
        """What was subscribed to, as it comes."""
        while True:
            while self._notices:
                yield self._notices.pop(0)
            if self._failed is not None:
                raise self._failed
            self._news.clear()
            await self._news.wait()

    @property
    def fence(self) -> int:
        """A number to show to whatever a lock protects, while you hold it: see docs/guide/cluster.md."""
        return int(lib.client_fence(self._core._live()))

    @property
    def server_version(self) -> str:
        return text(lib.client_server_version(self._core._live()))


def _finish(future: Any, result: Any, failure: Optional[BaseException] = None) -> None:
    """A task that was cancelled does not want to know any more."""
    if future.done():
        return
    if failure is not None:
        future.set_exception(failure)
    else:
        future.set_result(result)
