"""Locks that take the place of threading's, and raise `Deadlock` instead of hanging.

    import gordian
    lock = gordian.Lock()          # as threading.Lock()
    with lock: ...

They behave as threading's do, with these differences. Where waiting would never end because each of
some threads waits for what another one holds, the thread that would close the circle gets `Deadlock`,
and does not wait. Whoever takes a lock is taken to be the one who gives it back; a lock that another
thread gives back is a signal, and takes no part in this from then on; say `signals=True` to say so
from the start. Semaphores are signals often: only units taken by `with` count as held, unless
`signals=False` says that they always are. A wait with a timeout ends by itself: it never raises, and
never closes a circle for others.
"""

from __future__ import annotations

import _thread
import sys
import threading
from _thread import get_ident
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

from ._domain import Domain, Noted, Waiting, calling_frame, default_domain, place_of

__all__ = ["Lock", "RLock", "Semaphore", "BoundedSemaphore", "patched"]

Holders = Iterable[Tuple[Any, int]]


class _Lockable(Noted):
    """What all of them have."""

    def __init__(self, name: Optional[str], domain: Optional[Domain], signals: bool) -> None:
        self._begin(name, domain)
        self._signals = signals

    def _wait(self, actor: Any, block: Any, timeout: float) -> bool:
        """Waits, and tells the domain."""
        waiting = Waiting(actor, self, place_of(calling_frame()), timeout < 0)
        self._domain.enter(waiting)
        try:
            return block(True, timeout)
        finally:
            self._domain.leave(waiting)


def _check_timeout(blocking: bool, timeout: float) -> None:
    """As threading's locks do."""
    if not blocking:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0:
        raise ValueError("timeout value must be a non-negative number")


class Lock(_Lockable):
    """As `threading.Lock`. `name` is for messages."""

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
        """Takes it: True; or False if it is not free in time."""
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
        """Gives it back."""
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
    """As `threading.RLock`: the thread that has it may take it again."""

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

    # What threading.Condition asks of a lock.

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
    """As `threading.Semaphore`. Units taken by `with` are held by the thread until its end, others
    may be given back by anybody (`signals=False`: no, by whom took them)."""

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
        # Not one of these locks, even where they have taken the place of threading's.
        self._inner._cond = threading.Condition(_thread.allocate_lock())  # type: ignore[arg-type]
        self._capacity = value
        self._held: Dict[int, int] = {}  # by thread; each touches its own only

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
        """This thread has a unit more."""
        me = get_ident()
        self._taken = frame.f_code, frame.f_lasti
        self._held[me] = self._held.get(me, 0) + 1

    def _drop(self, n: int) -> None:
        """And fewer again."""
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
    """As `threading.BoundedSemaphore`: more releases than acquires are a ValueError."""

    _kind = threading.BoundedSemaphore


_KINDS = {
    "Lock": Lock,
    "RLock": RLock,
    "Semaphore": Semaphore,
    "BoundedSemaphore": BoundedSemaphore,
}


@contextmanager
def patched() -> Iterator[None]:
    """Within, threading's locks and semaphores are these: what is made there, also by other modules
    that say `threading.Lock()`, raises `Deadlock` instead of hanging."""
    before = {name: getattr(threading, name) for name in _KINDS}
    default_domain()
    try:
        for name, kind in _KINDS.items():
            setattr(threading, name, kind)
        yield
    finally:
        for name, kind in before.items():
            setattr(threading, name, kind)
