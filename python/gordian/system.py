"""Detection: a system of processes and resources, and what each event leads to."""

from __future__ import annotations

import ctypes as c
import enum
import threading
import weakref
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Any,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from . import _abi
from ._library import (
    Owned,
    Reading,
    Source,
    call,
    count_of,
    data,
    id_of,
    lib,
    nanoseconds,
    text,
    wants_of,
)
from .batch import Batch, run_batch
from .errors import Deadlock, InputError, Refused, Wait

if TYPE_CHECKING:
    from .snapshot import Snapshot

__all__ = [
    "Op",
    "Outcome",
    "Refusal",
    "Model",
    "Policy",
    "Process",
    "Resource",
    "Edge",
    "Witness",
    "Result",
    "Victimised",
    "Step",
    "System",
]


class _Worded(enum.IntEnum):
    """An enumeration of the library's; as text it is the word that the command prints."""

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", "-")

    def __str__(self) -> str:
        return self.word


class Op(_Worded):
    """What an event is."""

    REQUEST = 1
    RELEASE = 2
    CANCEL = 3
    EXIT = 4
    HOLD = 5
    WAIT = 6
    AWAIT = 7
    ACT = 8


class Outcome(_Worded):
    """What became of an event."""

    GRANTED = 1
    BLOCKED = 2
    DEADLOCK = 3
    DOOMED = 4
    RELEASED = 5
    CANCELLED = 6
    EXITED = 7
    REFUSED = 8

    @property
    def word(self) -> str:
        return "error" if self is Outcome.REFUSED else self.name.lower()


class Refusal(_Worded):
    """Why an event was refused."""

    NONE = 0
    UNKNOWN_PROCESS = 1
    UNKNOWN_RESOURCE = 2
    NO_UNITS = 3
    OVER_TOTAL = 4
    IS_WAITING = 5
    NOT_WAITING = 6
    NOT_HELD = 7
    BAD_HAND_OVER = 8
    NOT_FREE = 9


class Model(_Worded):
    """What a system has asked of its engine so far."""

    SINGLE_UNIT = 0
    MULTI_UNIT = 1
    GENERAL = 2


class Policy(_Worded):
    """Who is ended first when a deadlock is cut."""

    YOUNGEST = 1
    OLDEST = 2
    CHEAPEST = 3
    LOWEST_PRIORITY = 4
    FEWEST_HELD = 5


@dataclass(frozen=True)
class _Member:
    """A process or a resource: its number, and its name if it has one."""

    id: int
    name: str = ""

    def __index__(self) -> int:
        return self.id

    def __int__(self) -> int:
        return self.id

    def __str__(self) -> str:
        return self.name or f"#{self.id}"


@dataclass(frozen=True)
class Process(_Member):
    """A process of a system; usable wherever its name or number is."""


@dataclass(frozen=True)
class Resource(_Member):
    """A resource of a system; usable wherever its name or number is."""

    units: int = field(default=1, compare=False)


ProcessLike = Union[Process, str, int]
ResourceLike = Union[Resource, str, int]
Wants = Union[ResourceLike, Mapping[Any, int], Sequence[ResourceLike]]


@dataclass(frozen=True)
class Edge:
    """`process` waits for `units` of `resource`, or holds them."""

    process: Process
    resource: Resource
    units: int
    waits: bool

    def __str__(self) -> str:
        units = f"{self.units} of " if self.units != 1 else ""
        verb = "waits for" if self.waits else "holds"
        return f"{self.process} {verb} {units}{self.resource}"


@dataclass(frozen=True)
class Witness:
    """Why somebody can never run again: a cycle (waits and holds in turn, leading back to the first
    process), or all waits and holdings of a group in which nobody can ever go on."""

    cycle: bool
    edges: Tuple[Edge, ...]

    @property
    def processes(self) -> Tuple[Process, ...]:
        """Those in it, each once, in the order of the edges."""
        return tuple(dict.fromkeys(edge.process for edge in self.edges))

    @property
    def resources(self) -> Tuple[Resource, ...]:
        return tuple(dict.fromkeys(edge.resource for edge in self.edges))

    def __iter__(self) -> Iterator[Edge]:
        return iter(self.edges)

    def __len__(self) -> int:
        return len(self.edges)

    def __str__(self) -> str:
        if not self.cycle:
            return "; ".join(map(str, self.edges))
        names = []
        for edge in self.edges:
            names.append(str(edge.process if edge.waits else edge.resource))
        return " -> ".join(names + names[:1])


@dataclass(frozen=True)
class Result:
    """What became of an event: the outcome, whose waiting requests it served, and, if the process
    can never run again, why."""

    outcome: Outcome
    served: Tuple[Process, ...] = ()
    witness: Optional[Witness] = None

    @property
    def granted(self) -> bool:
        return self.outcome is Outcome.GRANTED

    @property
    def waits(self) -> bool:
        return Outcome.BLOCKED <= self.outcome <= Outcome.DOOMED

    @property
    def deadlock(self) -> bool:
        """Did this very event close a deadlock?"""
        return self.outcome is Outcome.DEADLOCK

    def check(self) -> "Result":
        """Itself; or raises `Deadlock` if the process can never be served."""
        if self.witness is None:
            return self
        holders = {edge.resource: str(edge.process) for edge in self.witness if not edge.waits}
        raise Deadlock(
            tuple(
                Wait(str(edge.process), str(edge.resource), holders.get(edge.resource, "somebody"))
                for edge in self.witness
                if edge.waits
            )
        )


# Most results have nothing more to tell.
_PLAIN = {int(outcome): Result(outcome) for outcome in Outcome}


@dataclass(frozen=True)
class Victimised:
    """One that was ended to cut a deadlock: what it held, and who could go on at once."""

    process: Process
    weight: int
    frees: Tuple[Edge, ...]
    served: Tuple[Process, ...]


@dataclass(frozen=True)
class Step:
    """An event of a trace, and what became of it."""

    seq: int
    line: int
    column: int
    op: Op
    process: str
    result: Result
    message: str = ""

    @property
    def outcome(self) -> Outcome:
        return self.result.outcome


class _Alone:
    """One thread at a time, by a lock of Python's."""

    __slots__ = ("_system", "_mutex")

    def __init__(self, system: "System") -> None:
        self._system = weakref.proxy(system)
        self._mutex = system._mutex

    def __enter__(self) -> Any:
        self._mutex.acquire()
        handle = self._system._handle
        if handle is None:
            self._mutex.release()
            raise InputError("this System is closed")
        return handle

    def __exit__(self, *_: Any) -> None:
        self._mutex.release()


class _Shared:
    """The same by the library's own lock: other threads may sleep in await_grant meanwhile."""

    __slots__ = ("_system",)

    def __init__(self, system: "System") -> None:
        self._system = weakref.proxy(system)

    def __enter__(self) -> Any:
        handle = self._system._live()
        lib.lock(handle)
        return handle

    def __exit__(self, *_: Any) -> None:
        lib.unlock(self._system._handle)


class System(Owned):
    """Processes, resources, and who holds and waits for what.

    >>> import gordian
    >>> with gordian.System() as table:
    ...     _ = table.add_resource("fork"), table.add_resource("spoon")
    ...     _ = table.request("ann", "fork"), table.request("bob", "spoon")
    ...     _ = table.request("ann", "spoon")
    ...     print(table.request("bob", "fork").witness)
    bob -> fork -> ann -> spoon -> bob

    Any number of threads may use it; each call takes effect as a whole. With `shared=True` a thread
    can also sleep until its process is served: `await_grant`.

    Processes and resources are named by what `add_process` and `add_resource` return, by their names
    or by their numbers. A process whose name is new comes into being with its first request; an event
    that makes no sense raises `Refused`, and changes nothing.
    """

    _close = "close"

    def __init__(self, engine: str = "auto", *, shared: bool = False) -> None:
        self._mutex = threading.RLock()
        self.shared = shared
        options = _abi.options()
        lib.options_init(c.byref(options))
        options.engine, options.shared = data(engine), shared
        self._open(lib.open, c.byref(options))
        self._guarded = _Shared(self) if shared else _Alone(self)

    def __repr__(self) -> str:
        if self.closed:
            return "<gordian.System, closed>"
        with self._guard() as handle:
            processes = sum(1 for _ in self._members("process", Process))
            resources = sum(1 for _ in self._members("resource", Resource))
            engine = text(lib.engine_name(handle))
        return f"<gordian.System, {processes} processes, {resources} resources, {engine}>"

    def _guard(self) -> Any:
        """Gives the handle, and nobody else is at it: what the library hands out lasts until the next
        call."""
        return self._guarded

    def close(self) -> None:
        """Frees it. No other thread may be inside a call of a shared one."""
        with self._mutex:
            super().close()

    # ------------------------------------------------------------ who and what there is

    def add_resource(self, name: Optional[str] = None, units: int = 1) -> Resource:
        """A new resource; the name, if there is one, must be new."""
        id = c.c_uint32()
        with self._guard() as handle:
            call(lib.add_resource, handle, data(name), count_of(units, "units"), c.byref(id))
        return Resource(id.value, name or "", units)

    def add_process(
        self, name: Optional[str] = None, *, priority: Optional[int] = None, cost: Optional[int] = None
    ) -> Process:
        """A new process. Low priority and low cost make it a victim sooner."""
        id = c.c_uint32()
        with self._guard() as handle:
            call(lib.add_process, handle, data(name), c.byref(id))
            process = Process(id.value, name or "")
            if priority is not None:
                call(lib.set_priority, handle, process.id, priority)
            if cost is not None:
                call(lib.set_cost, handle, process.id, cost)
        return process

    def remove_process(self, process: ProcessLike) -> None:
        """Forgets a process that holds nothing and waits for nothing."""
        with self._guard() as handle:
            call(lib.remove_process, handle, self._process(process))

    def remove_resource(self, resource: ResourceLike) -> None:
        """Forgets a resource nobody holds or waits for."""
        with self._guard() as handle:
            call(lib.remove_resource, handle, self._resource(resource))

    def reserve(self, processes: int, resources: int) -> None:
        """Makes room ahead."""
        with self._guard() as handle:
            call(lib.reserve, handle, id_of(processes, "room"), id_of(resources, "room"))

    def process(self, which: ProcessLike) -> Process:
        """The process of this name or number; KeyError if there is none."""
        with self._guard() as handle:
            id = self._process(which)
            name = lib.process_name(handle, id)
            if name is None:
                raise KeyError(which)
            return Process(id, text(name))

    def resource(self, which: ResourceLike) -> Resource:
        """The resource of this name or number; KeyError if there is none."""
        with self._guard() as handle:
            id = self._resource(which)
            if lib.resource_name(handle, id) is None:
                raise KeyError(which)
            return self._resource_at(id)

    @property
    def processes(self) -> List[Process]:
        """All of them, by number."""
        with self._guard():
            return list(self._members("process", Process))

    @property
    def resources(self) -> List[Resource]:
        with self._guard():
            return list(self._members("resource", Resource))

    def _members(self, what: str, kind: type) -> Iterator[Any]:
        name_of = getattr(lib, what + "_name")
        for id in range(getattr(lib, what + "_limit")(self._handle)):
            if name_of(self._handle, id) is not None:
                yield self._process_at(id) if kind is Process else self._resource_at(id)

    def _process_at(self, id: int) -> Process:
        return Process(id, text(lib.process_name(self._handle, id)))

    def _resource_at(self, id: int) -> Resource:
        handle = self._handle
        return Resource(id, text(lib.resource_name(handle, id)), lib.units(handle, id))

    def _process(self, which: ProcessLike) -> int:
        if isinstance(which, str):
            name = data(which)
            id = lib.find_process(self._live(), name, len(name))
            if id == _abi.NONE:
                raise KeyError(f"there is no process {which}")
            return id
        return id_of(which, "process")

    def _resource(self, which: ResourceLike) -> int:
        if isinstance(which, str):
            name = data(which)
            id = lib.find_resource(self._live(), name, len(name))
            if id == _abi.NONE:
                raise KeyError(f"there is no resource {which}")
            return id
        return id_of(which, "resource")

    def _asker(self, which: ProcessLike) -> int:
        """A process by name comes into being when it asks for something."""
        if isinstance(which, str):
            name = data(which)
            id = lib.find_process(self._live(), name, len(name))
            return self.add_process(which).id if id == _abi.NONE else id
        return id_of(which, "process")

    def _wants(self, wants: Wants, units: int) -> List[Tuple[int, int]]:
        if isinstance(wants, (str, int, Resource)) or hasattr(wants, "__index__"):
            return [(self._resource(wants), units)]  # type: ignore[arg-type]
        if isinstance(wants, Mapping):
            return [(self._resource(each), count) for each, count in wants.items()]
        return [(self._resource(each), units) for each in wants]  # type: ignore[union-attr]

    # ------------------------------------------------------------ events

    def request(self, process: ProcessLike, wants: Wants, units: int = 1) -> Result:
        """Asks for units of a resource; of several, all or nothing: `{"fork": 2, "spoon": 1}`."""
        with self._guard():
            return self._demand(Op.REQUEST, process, wants, units)

    def hold(self, process: ProcessLike, resource: ResourceLike, units: int = 1) -> Result:
        """The process holds this already, whoever waits."""
        with self._guard():
            return self._demand(Op.HOLD, process, resource, units)

    def _demand(self, op: Op, process: ProcessLike, wants: Wants, units: int) -> Result:
        pairs = self._wants(wants, units)
        asker = self._asker(process)
        if len(pairs) == 1:
            return self._feed(op, asker, pairs[0][0], units=pairs[0][1])
        return self._feed(op, asker, wants=wants_of(pairs), count=len(pairs))

    def release(
        self,
        process: ProcessLike,
        resource: ResourceLike,
        units: int = 1,
        *,
        to: Optional[ProcessLike] = None,
    ) -> Result:
        """Gives units back; to one who waits for them, or in order of arrival."""
        with self._guard():
            heir = _abi.NONE if to is None else self._process(to)
            return self._feed(
                Op.RELEASE, self._process(process), self._resource(resource), units=units, to=heir
            )

    def cancel(self, process: ProcessLike) -> Result:
        """Gives up what the process waits for."""
        with self._guard():
            return self._feed(Op.CANCEL, self._process(process))

    def exit(self, process: ProcessLike) -> Result:
        """The process gives up its request and returns everything; it stays known."""
        with self._guard():
            return self._feed(Op.EXIT, self._process(process))

    def await_(
        self, process: ProcessLike, others: Iterable[ProcessLike], needed: Optional[int] = None
    ) -> Result:
        """Waits for acts of `needed` of the others; None: of all of them."""
        with self._guard():
            wants = [(self._asker(other), 1) for other in others]
            needed = len(wants) if needed is None else needed
            asker = self._asker(process)
            return self._feed(
                Op.AWAIT, asker, units=needed, wants=wants_of(wants), count=len(wants)
            )

    def act(self, process: ProcessLike, to: Optional[ProcessLike] = None) -> Result:
        """The process has done its part: for `to`, or for all that await it."""
        with self._guard():
            heir = _abi.NONE if to is None else self._process(to)
            return self._feed(Op.ACT, self._process(process), _abi.NONE, to=heir)

    def _feed(
        self,
        op: Op,
        process: int,
        resource: int = 0,
        *,
        units: int = 1,
        to: int = _abi.NONE,
        wants: Any = None,
        count: int = 0,
    ) -> Result:
        event = _abi.event(op, process, resource, to, count_of(units, "units"))
        if wants is not None:
            event.wants, event.want_count = c.cast(wants, c.c_void_p), count
        result = _abi.result()
        call(lib.feed, self._live(), c.byref(event), c.byref(result))
        if result.outcome == Outcome.REFUSED:
            raise self._refused(event, result.refusal)
        return self._result(process, result.outcome, result.served_count)

    def _refused(self, event: Any, refusal: int) -> Refused:
        buffer = c.create_string_buffer(1024)
        message = lib.refusal_text(self._handle, c.byref(event), refusal, buffer, len(buffer))
        return Refused(text(message), Refusal(refusal))

    def _result(self, process: int, outcome: int, served: int) -> Result:
        if not served and outcome not in (Outcome.DEADLOCK, Outcome.DOOMED):
            return _PLAIN[outcome]
        who = self._served() if served else ()
        witness = None
        if outcome in (Outcome.DEADLOCK, Outcome.DOOMED):
            witness = self._explain(process)
        return Result(Outcome(outcome), who, witness)

    def _served(self) -> Tuple[Process, ...]:
        count = c.c_size_t()
        ids = lib.served(self._handle, c.byref(count))
        return tuple([self._process_at(id) for id in ids[: count.value]])

    def feed(self, *columns: Any, **named: Any) -> Batch:
        """Many events at once, as arrays: see `gordian.events` and docs/guide/python.md. Refused ones are
        told by the outcome, not raised."""
        with self._guard() as handle:
            return run_batch(handle, *columns, **named)

    def await_grant(self, process: ProcessLike, timeout: Optional[float] = None) -> bool:
        """Sleeps until the process, whose request waits, is served; False: not within the time, it
        waits on. Raises `Cancelled` or `Victim` if the wait ended so. Needs `shared=True`."""
        with self._guard() as handle:
            id = self._process(process)
        status = call(lib.await_grant, handle, id, nanoseconds(timeout), accept=(_abi.END,))
        return status == _abi.OK

    # ------------------------------------------------------------ questions

    @property
    def engine(self) -> str:
        """The engine at work."""
        with self._guard() as handle:
            return text(lib.engine_name(handle))

    @property
    def model(self) -> Model:
        with self._guard() as handle:
            return Model(lib.system_model(handle))

    def is_waiting(self, process: ProcessLike) -> bool:
        with self._guard() as handle:
            return lib.is_waiting(handle, self._process(process))

    def units(self, resource: ResourceLike) -> int:
        with self._guard() as handle:
            return lib.units(handle, self._resource(resource))

    def free_units(self, resource: ResourceLike) -> int:
        with self._guard() as handle:
            return lib.free_units(handle, self._resource(resource))

    def holdings(self, process: ProcessLike) -> Tuple[Edge, ...]:
        """What the process holds."""
        with self._guard():
            return self._edges(lib.holdings, self._process(process))

    def pending(self, process: ProcessLike) -> Tuple[Edge, ...]:
        """What it waits for."""
        with self._guard():
            return self._edges(lib.pending, self._process(process))

    def holders(self, resource: ResourceLike) -> Tuple[Edge, ...]:
        """Who holds the resource."""
        with self._guard():
            return self._edges(lib.holders, self._resource(resource))

    def waiters(self, resource: ResourceLike) -> Tuple[Edge, ...]:
        """Who waits for it, in order of arrival."""
        with self._guard():
            return self._edges(lib.waiters, self._resource(resource))

    def _edges(self, question: Any, id: int) -> Tuple[Edge, ...]:
        count = question(self._live(), id, None, 0)
        edges = (_abi.edge * count)()
        question(self._handle, id, edges, count)
        return self._edges_of(edges, count)

    def _edges_of(self, edges: Any, count: int) -> Tuple[Edge, ...]:
        return tuple(
            [
                Edge(
                    self._process_at(edge.process),
                    self._resource_at(edge.resource),
                    edge.units,
                    edge.waits,
                )
                for edge in edges[:count]
            ]
        )

    def waits_for(self, process: ProcessLike) -> Tuple[Process, ...]:
        """Whom the process waits for; nobody when it runs."""
        with self._guard():
            return self._list(lib.waits_for, self._process(process))

    def deadlocked(self) -> Tuple[Process, ...]:
        """Every process that can never run again."""
        with self._guard():
            return self._list(lib.deadlocked)

    def _list(self, question: Any, *arguments: int) -> Tuple[Process, ...]:
        ids, count = c.POINTER(c.c_uint32)(), c.c_size_t()
        call(question, self._live(), *arguments, c.byref(ids), c.byref(count))
        return tuple([self._process_at(id) for id in ids[: count.value]])

    def explain(self, process: ProcessLike) -> Witness:
        """Why the process can never run again; InputError if it still can."""
        with self._guard():
            return self._explain(self._process(process))

    def _explain(self, process: int) -> Witness:
        witness = _abi.witness()
        call(lib.explain, self._live(), process, c.byref(witness))
        return Witness(witness.cycle, self._edges_of(witness.edges, witness.count))

    def what_if(self, process: ProcessLike, wants: Wants, units: int = 1) -> Outcome:
        """What a request would be answered now; nothing changes."""
        with self._guard() as handle:
            pairs = self._wants(wants, units)
            event = _abi.event(Op.REQUEST, self._process(process), 0, _abi.NONE, 1)
            list_of = wants_of(pairs)
            event.wants, event.want_count = c.cast(list_of, c.c_void_p), len(pairs)
            outcome = c.c_int()
            call(lib.what_if, handle, c.byref(event), 1, c.byref(outcome))
            return Outcome(outcome.value)

    def what_if_all(self) -> Any:
        """For all pairs: would process p, asking for a unit of resource q now, close a deadlock? A
        NumPy array of bools, p by q; without NumPy a list of lists."""
        from . import batch

        with self._guard() as handle:
            rows, bits = lib.process_limit(handle), lib.resource_limit(handle)
            stride = (bits + 63) // 64
            words = (c.c_uint64 * max(rows * stride, 1))()
            call(lib.what_if_all, handle, words, stride, None)
        return batch.bits_of(words, rows, stride, bits)

    # ------------------------------------------------------------ recovery, snapshots, traces

    def recover(self, policy: Union[Policy, str] = Policy.YOUNGEST) -> List[Victimised]:
        """Ends processes until nobody is deadlocked; tells whom, in order."""
        if isinstance(policy, str):
            chosen = c.c_int()
            if not lib.policy_parse(data(policy), c.byref(chosen)):
                raise InputError(f"there is no policy {policy}")
            policy = Policy(chosen.value)
        victims: List[Victimised] = []
        while True:
            one = self._recover_one(policy)
            if one is None:
                return victims
            victims.append(one)

    def _recover_one(self, policy: Policy) -> Optional[Victimised]:
        victim = _abi.victim()
        with self._guard() as handle:
            status = call(lib.recover_one, handle, policy, c.byref(victim), accept=(_abi.END,))
            if status == _abi.END:
                return None
            # The lists last until the next call; questions about names do not count as one.
            served = tuple([self._process_at(id) for id in victim.served[: victim.served_count]])
            frees = self._edges_of(victim.frees, victim.frees_count)
            return Victimised(self._process_at(victim.process), victim.weight, frees, served)

    def snapshot(self) -> "Snapshot":
        """The state as it is now."""
        from .snapshot import Snapshot

        with self._guard() as handle:
            names = {process.id: process.name for process in self._members("process", Process)}
            others = {each.id: each.name for each in self._members("resource", Resource)}
            return Snapshot._taken(handle, names, others)

    def replay(self, source: Source) -> Iterator[Step]:
        """Feeds a trace, event by event: an iterator of `Step`s. Refused events are steps, too."""
        if self.shared:
            raise InputError("a shared system cannot replay a trace")
        return self._replay(Reading(source))

    def _replay(self, reading: Reading) -> Iterator[Step]:
        with reading as source:
            replay = c.c_void_p()
            with self._guard() as handle:
                call(lib.replay_open, c.byref(replay), handle, source)
            try:
                step = _abi.step()
                while True:
                    with self._guard():
                        status = call(lib.replay_next, replay, c.byref(step), accept=(_abi.END,))
                        if status == _abi.END:
                            return
                        one = self._step(step)
                    yield one
            finally:
                lib.replay_close(replay)

    def _step(self, step: Any) -> Step:
        result = step.result
        return Step(
            step.seq,
            step.line,
            step.column,
            Op(step.event.op),
            text(step.process),
            self._result(step.event.process, result.outcome, result.served_count),
            text(step.message),
        )
