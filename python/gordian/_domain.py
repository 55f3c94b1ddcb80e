"""Deadlock detection for locks of threads and of tasks.

Taking a free lock does not touch this module: the lock itself records its owner. Before a thread
waits, it registers the wait in its *domain*, under the mutex of the domain. It removes the
registration under the same mutex before it continues. While the mutex is held, all registered
waiters therefore stay blocked and keep what they hold, so a cycle among them is consistent. A
deadlock can form only when a wait begins. The domain therefore checks each new wait, and the thread
that would close a cycle gets the exception instead of waiting.
"""

from __future__ import annotations

import _thread
import dis
import gc
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from .errors import Deadlock, Place, Wait
from .snapshot import Snapshot

Taken = Tuple[Any, int]  # code and instruction: the line is computed on demand

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_INSIDE = (threading.__file__,)


def calling_frame() -> Any:
    """The frame that uses a lock: the innermost outside this package and threading."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and file not in _INSIDE:
            break
        frame = frame.f_back
    return frame


def place_of(frame: Any) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def place_taken(taken: Optional[Taken]) -> Optional[Place]:
    """The source line of an instruction."""
    if taken is None:
        return None
    code, instruction = taken
    line = code.co_firstlineno
    for start, number in dis.findlinestarts(code):
        if start > instruction:
            break
        line = number or line
    return Place(code.co_filename, line, code.co_name)


class Waiting:
    """A wait: the waiter, the lock and the source line. `certain` means that it has no time
    limit."""

    __slots__ = ("actor", "lock", "place", "certain", "before")

    def __init__(self, actor: Any, lock: Any, place: Place, certain: bool) -> None:
        self.actor = actor
        self.lock = lock
        self.place = place
        self.certain = certain
        self.before: Optional[Waiting] = None


def name_of(actor: Any) -> str:
    """The name of a thread or a task."""
    if not isinstance(actor, int):
        return actor.get_name() if hasattr(actor, "get_name") else repr(actor)
    thread = getattr(threading, "_active", {}).get(actor)
    return thread.name if thread is not None else f"thread {actor}"


def _will_run(actor: Any) -> bool:
    """True if a task is about to run again, because it was woken or cancelled."""
    if isinstance(actor, int):
        return False
    if getattr(actor, "cancelling", lambda: 0)() or getattr(actor, "_must_cancel", False):
        return True
    waiter = getattr(actor, "_fut_waiter", None)
    return waiter is not None and waiter.done()


# Called with every Deadlock of a lock just before it is raised, in the thread that gets it.
deadlock_listeners: List[Callable[[Deadlock], None]] = []


class Domain:
    """Locks that are judged together. Locks created without a domain share a default domain."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._waiting: Dict[Any, Waiting] = {}
        self._mutex = _thread.allocate_lock()
        Snapshot().close()  # fail now if the library is missing, and not at the first wait
        _domains.add(self)

    def __repr__(self) -> str:
        return f"<gordian.Domain {self.name or 'default'}, {len(self._waiting)} wait>"

    def enter(self, waiting: Waiting) -> None:
        """Registers a wait. Raises Deadlock, without registering it, if the wait would never
        end."""
        cycle = None
        with self._mutex:
            # A signal handler may wait while its thread waits.
            waiting.before = self._waiting.get(waiting.actor)
            self._waiting[waiting.actor] = waiting
            if waiting.certain and not waiting.lock._signals and self._may_be_stuck(waiting):
                cycle = self._judge(waiting)
                if cycle is not None:
                    self._forget(waiting)
        if cycle is not None:
            error = Deadlock(cycle)
            for listener in list(deadlock_listeners):
                listener(error)
            raise error

    def leave(self, waiting: Waiting) -> None:
        """Removes a wait."""
        with self._mutex:
            self._forget(waiting)

    def _forget(self, waiting: Waiting) -> None:
        if waiting.before is None:
            self._waiting.pop(waiting.actor, None)
        else:
            self._waiting[waiting.actor] = waiting.before

    def _may_be_stuck(self, waiting: Waiting) -> bool:
        """A cheap check: does a holder of the lock wait?"""
        return any(actor in self._waiting for actor, _ in waiting.lock._holders())

    def _judge(self, last: Waiting) -> Optional[Tuple[Wait, ...]]:
        """The cycle, if the last wait would never end; otherwise None."""
        # A garbage collection could run a finalizer here, which could take a lock.
        collects = gc.isenabled()
        gc.disable()
        try:
            return self._deadlock(last)
        finally:
            if collects:
                gc.enable()

    def _deadlock(self, last: Waiting) -> Optional[Tuple[Wait, ...]]:
        reached, actors, locks = self._reach(last)
        with Snapshot() as snapshot:
            for _ in actors:
                snapshot.add_process()
            numbers = {actor: number for number, actor in enumerate(actors)}
            for number, (lock, holders) in enumerate(locks.values()):
                units = max(lock._capacity, sum(count for _, count in holders))
                snapshot.add_resource(units=units)
                for actor, count in holders:
                    snapshot.hold(numbers[actor], number, count)
            order = {key: number for number, key in enumerate(locks)}
            for waiting in reached:
                snapshot.wait(numbers[waiting.actor], order[id(waiting.lock)])
            report = snapshot.check("sparse", threads=1)
        me = numbers[last.actor]
        if all(process.id != me for process in report.deadlocked):
            return None
        stuck = {actors[process.id] for process in report.deadlocked}
        waits = [waiting for waiting in reached if waiting.actor in stuck]
        return self._cycle_waits(last, waits, locks)

    def _reach(self, last: Waiting) -> Tuple[List[Waiting], List[Any], Dict[int, Any]]:
        """The waits, actors and locks that the last wait depends on."""
        reached: List[Waiting] = []
        actors: Dict[Any, None] = {last.actor: None}
        locks: Dict[int, Any] = {}
        todo = [last.actor]
        while todo:
            waiting = self._waiting.get(todo.pop())
            if waiting is None or not waiting.certain or waiting.lock._signals:
                continue
            if waiting is not last and _will_run(waiting.actor):
                continue
            reached.append(waiting)
            if id(waiting.lock) in locks:
                continue
            holders = list(waiting.lock._holders())
            locks[id(waiting.lock)] = (waiting.lock, holders)
            for actor, _ in holders:
                if actor not in actors:
                    actors[actor] = None
                    todo.append(actor)
        return reached, list(actors), locks

    def _cycle_waits(
        self, last: Waiting, stuck: List[Waiting], locks: Dict[int, Any]
    ) -> Tuple[Wait, ...]:
        """The waits of the deadlock in order, beginning with the last one."""
        by_actor = {waiting.actor: waiting for waiting in stuck}
        sides, todo, seen = [], [last], {last.actor}
        while todo:
            waiting = todo.pop(0)
            holders = locks[id(waiting.lock)][1]
            sides.append(_wait_of(waiting, [actor for actor, _ in holders]))
            for actor, _ in holders:
                if actor in by_actor and actor not in seen:
                    seen.add(actor)
                    todo.append(by_actor[actor])
        return tuple(sides)

    def waits(self) -> List[Wait]:
        """All current waits with the holders, for reports."""
        with self._mutex:
            found = list(self._waiting.values())
        return [_wait_of(each, [actor for actor, _ in each.lock._holders()]) for each in found]

    def _after_fork(self) -> None:
        """In the child, only the forking thread exists, and it is running."""
        self._mutex = _thread.allocate_lock()
        self._waiting = {}


def _wait_of(waiting: Waiting, holders: Iterable[Any]) -> Wait:
    names = ", ".join(name_of(actor) for actor in holders)
    return Wait(
        name_of(waiting.actor),
        waiting.lock.name,
        names or "an unknown holder",
        waiting.place,
        place_taken(waiting.lock._taken),
    )


_domains: "weakref.WeakSet[Domain]" = weakref.WeakSet()
_default: List[Domain] = []
_making = _thread.allocate_lock()


def default_domain() -> Domain:
    """The domain of all locks that are created without one."""
    with _making:
        if not _default:
            _default.append(Domain())
        return _default[0]


class TrackedLock:
    """The common part of all locks: a domain, a name, and the place where the lock was last
    taken."""

    _capacity = 1
    _taken: Optional[Taken] = None
    _signals = False

    def _begin(self, name: Optional[str], domain: Optional[Domain]) -> None:
        self._domain = domain if domain is not None else default_domain()
        self._name = name
        self._made = None if name else place_of(calling_frame())

    @property
    def name(self) -> str:
        """The given name, or the place where the lock was created."""
        if self._name or self._made is None:
            return self._name or ""
        return f"{type(self).__name__} of {self._made.file}:{self._made.line}"


def all_waits() -> List[Wait]:
    """All waits for locks of this package, in all domains."""
    return [wait for domain in list(_domains) for wait in domain.waits()]


def _after_fork() -> None:
    global _making
    _making = _thread.allocate_lock()
    for domain in list(_domains):
        domain._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
