"""Replacements for the locks of threading that raise `Deadlock` instead of hanging.

    import gordian
    lock = gordian.Lock()          # as threading.Lock()
    with lock: ...

They behave like those of threading, with one difference: if a wait would close a cycle of threads that
wait for each other, the thread gets `Deadlock` instead of waiting.

Not every wait is a deadlock:

- A lock is expected to be released by the thread that took it. A lock that another thread releases is
  a signal, and takes no part in cycles from then on. `signals=True` declares this from the start.
- Semaphores are often signals. Only units taken by `with` count as held, unless `signals=False` says
  that all units do.
- A wait with a timeout ends by itself. It never raises, and never closes a cycle for other threads.
"""

from __future__ import annotations

import _thread
import sys
import threading
from _thread import get_ident
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

from ._domain import Domain, TrackedLock, Waiting, calling_frame, default_domain, place_of

__all__ = ["Lock", "RLock", "Semaphore", "BoundedSemaphore", "patched"]

Holders = Iterable[Tuple[Any, int]]


class _Lockable(TrackedLock):
    """The common part of these locks."""

    def __init__(self, name: Optional[str], domain: Optional[Domain], signals: bool) -> None:
        self._begin(name, domain)
        self._signals = signals

    def _wait(self, actor: Any, block: Any, timeout: float) -> bool:
        """Waits, and registers the wait in the domain."""
        waiting = Waiting(actor, self, place_of(calling_frame()), timeout < 0)
        self._domain.enter(waiting)
        try:
            return block(True, timeout)
        finally:
            self._domain.leave(waiting)


def _check_timeout(blocking: bool, timeout: float) -> None:
    """Same checks as in the locks of threading."""
    if not blocking:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0:
        raise ValueError("timeout value must be a non-negative number")


class Lock(_Lockable):
    """Same as `threading.Lock`. `name` appears in messages."""

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        domain: Optional[Domain] = None,
        signals: bool = False,
    ) -> None:
        super().__init__(name, domain, signals)
        self._block = _thread.allocate_lock()
        self._owner: Optional[int] = None

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes the lock and returns True, or False if it is not free in time."""
        if timeout != -1:
            _check_timeout(blocking, timeout)
        if not self._block.acquire(False):
            if not blocking or not self._wait(get_ident(), self._block.acquire, timeout):
                return False
        frame = sys._getframe(1)
        self._taken = frame.f_code, frame.f_lasti
        self._owner = get_ident()
        return True

    def release(self) -> None:
        """Releases the lock."""
        if self._owner != get_ident() and self._owner is not None:
            self._signals = True
        self._owner = None
        self._block.release()

    def locked(self) -> bool:
        return self._block.locked()

    def __enter__(self) -> bool:
        if not self._block.acquire(False):
            self._wait(get_ident(), self._block.acquire, -1)
        frame = sys._getframe(1)
        self._taken = frame.f_code, frame.f_lasti
        self._owner = get_ident()
        return True

    def __exit__(self, *_: Any) -> None:
        self.release()

    def _holders(self) -> Holders:
        owner = self._owner
        return () if owner is None else ((owner, 1),)

    def _at_fork_reinit(self) -> None:
        self._block = _thread.allocate_lock()
        self._owner = None

    def __repr__(self) -> str:
        return f"<{'locked' if self.locked() else 'unlocked'} gordian.{type(self).__name__} {self.name}>"


class RLock(_Lockable):
    """Same as `threading.RLock`: its owner may take it again."""

    def __init__(self, name: Optional[str] = None, *, domain: Optional[Domain] = None) -> None:
        super().__init__(name, domain, False)
        self._block = _thread.allocate_lock()
        self._owner: Optional[int] = None
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if timeout != -1:
            _check_timeout(blocking, timeout)
        return self._take(blocking, timeout, sys._getframe(1))

    def _take(self, blocking: bool, timeout: float, frame: Any) -> bool:
        me = get_ident()
        if self._owner == me:
            self._count += 1
            return True
        if not self._block.acquire(False):
            if not blocking or not self._wait(me, self._block.acquire, timeout):
                return False
        self._taken = frame.f_code, frame.f_lasti
        self._count = 1
        self._owner = me
        return True

    def release(self) -> None:
        if self._owner != get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._count -= 1
        if self._count == 0:
            self._owner = None
            self._block.release()

    def __enter__(self) -> bool:
        return self._take(True, -1, sys._getframe(1))

    def __exit__(self, *_: Any) -> None:
        self.release()

    # The methods that threading.Condition requires of a lock.

    def _is_owned(self) -> bool:
        return self._owner == get_ident()

    def _release_save(self) -> int:
        if self._owner != get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        count, self._count = self._count, 0
        self._owner = None
        self._block.release()
        return count

    def _acquire_restore(self, count: int) -> None:
        self.acquire()
        self._count = count

    _holders = Lock._holders

    def _at_fork_reinit(self) -> None:
        self._block = _thread.allocate_lock()
        self._owner = None
        self._count = 0

    def __repr__(self) -> str:
        state = "locked" if self._block.locked() else "unlocked"
        return f"<{state} gordian.RLock {self.name}, count {self._count}>"


class Semaphore(_Lockable):
    """Same as `threading.Semaphore`. The thread holds units taken by `with` until the end of the
    block. Any thread may release the other units, unless `signals=False` says that each thread
    releases its own."""

    _kind: Any = threading.Semaphore

    def __init__(
        self,
        value: int = 1,
        name: Optional[str] = None,
        *,
        domain: Optional[Domain] = None,
        signals: Optional[bool] = None,
    ) -> None:
        super().__init__(name, domain, signals is True or value == 0)
        self._strict = signals is False
        self._inner = self._kind(value)
        # A plain lock, even while the locks of threading are replaced by these.
        self._inner._cond = threading.Condition(_thread.allocate_lock())  # type: ignore[arg-type]
        self._capacity = value
        self._held: Dict[int, int] = {}  # by thread; each thread changes only its own entry

    def acquire(self, blocking: bool = True, timeout: Optional[float] = None) -> bool:
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        if not self._inner.acquire(False):
            seconds = -1 if timeout is None else max(timeout, 0)
            if not blocking or not self._wait(get_ident(), self._block, seconds):
                return False
        if self._strict:
            self._note(sys._getframe(1))
        return True

    def _block(self, _: bool, timeout: float) -> bool:
        return self._inner.acquire(True, None if timeout < 0 else timeout)

    def _note(self, frame: Any) -> None:
        """This thread takes one unit."""
        me = get_ident()
        self._taken = frame.f_code, frame.f_lasti
        self._held[me] = self._held.get(me, 0) + 1

    def _drop(self, n: int) -> None:
        """This thread releases units."""
        me = get_ident()
        left = self._held.pop(me, 0) - n
        if left > 0:
            self._held[me] = left
        elif left < 0:
            self._signals = True

    def release(self, n: int = 1) -> None:
        if self._strict:
            self._drop(n)
        self._inner.release(n)

    def __enter__(self) -> bool:
        if not self._inner.acquire(False):
            self._wait(get_ident(), self._block, -1)
        self._note(sys._getframe(1))
        return True

    def __exit__(self, *_: Any) -> None:
        self._drop(1)
        self._inner.release()

    def _holders(self) -> Holders:
        return tuple(self._held.copy().items())

    def __repr__(self) -> str:
        return f"<gordian.{type(self).__name__} {self.name}, {self._inner._value} of {self._capacity}>"


class BoundedSemaphore(Semaphore):
    """Same as `threading.BoundedSemaphore`: more releases than acquires raise ValueError."""

    _kind = threading.BoundedSemaphore


_KINDS = {
    "Lock": Lock,
    "RLock": RLock,
    "Semaphore": Semaphore,
    "BoundedSemaphore": BoundedSemaphore,
}


@contextmanager
def patched() -> Iterator[None]:
    """Replaces the locks and semaphores of threading by these within the block. Locks created
    there, also by other modules that call `threading.Lock()`, raise `Deadlock` instead of
    hanging."""
    before = {name: getattr(threading, name) for name in _KINDS}
    default_domain()
    try:
        for name, kind in _KINDS.items():
            setattr(threading, name, kind)
        yield
    finally:
        for name, kind in before.items():
            setattr(threading, name, kind)
