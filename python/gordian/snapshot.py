"""Snapshots: holds and waits that are judged together; and traces, line by line."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import _abi
from ._library import Owned, Reading, Source, call, count_of, data, lib, text, u32s
from .system import Edge, Model, Op, Process, Resource, Witness

__all__ = ["Snapshot", "Report", "Line", "read_trace", "check"]


@dataclass(frozen=True)
class Report:
    """The result of a check. True if no process is deadlocked."""

    model: Model
    deadlocked: Tuple[Process, ...]
    deadlocks: Tuple[Witness, ...]
    engine: str

    def __bool__(self) -> bool:
        return not self.deadlocked

    def __str__(self) -> str:
        if self:
            return "no deadlock"
        return "\n".join(f"deadlock: {each}" for each in self.deadlocks)


class Snapshot(Owned):
    """A set of holds and waits, added in any order and judged together.

    >>> import gordian
    >>> with gordian.Snapshot() as now:
    ...     now.hold("ann", "fork"); now.wait("ann", "spoon")
    ...     now.hold("bob", "spoon"); now.wait("bob", "fork")
    ...     print(now.check())
    deadlock: ann -> spoon -> bob -> fork -> ann

    New names are created on first use, resources with one unit. A snapshot must not be used by several
    threads at the same time.
    """

    _close = "snapshot_close"

    def __init__(self) -> None:
        self._processes: Dict[int, str] = {}
        self._resources: Dict[int, str] = {}
        self._by_name: Dict[Tuple[str, str], int] = {}
        self._names: Any = None
        self._open(lib.snapshot_open, None)

    @classmethod
    def _bare(cls) -> "Snapshot":
        snapshot = cls.__new__(cls)
        snapshot._processes, snapshot._resources, snapshot._by_name = {}, {}, {}
        snapshot._names = None
        return snapshot

    @classmethod
    def _taken(cls, system: Any, processes: Dict[int, str], resources: Dict[int, str]) -> "Snapshot":
        snapshot = cls._bare()
        snapshot._open(lib.snapshot_take, system)
        snapshot._processes, snapshot._resources = processes, resources
        for kind, names in (("process", processes), ("resource", resources)):
            snapshot._by_name.update({(kind, name): id for id, name in names.items() if name})
        return snapshot

    @classmethod
    def read(cls, source: Source) -> "Snapshot":
        """Reads a snapshot: lines of `resource`, `process`, `hold`, `wait` and `await`, or the
        packed form."""
        snapshot = cls._bare()
        names = c.c_void_p()
        reading = Reading(source)
        with reading as place:
            snapshot._open(lib.snapshot_read_for, c.byref(names), place, None, None)
        snapshot._names = names
        return snapshot

    def __repr__(self) -> str:
        if self.closed:
            return "<gordian.Snapshot, closed>"
        processes = lib.snapshot_processes(self._handle)
        return f"<gordian.Snapshot, {processes} processes, {lib.snapshot_resources(self._handle)} resources>"

    def close(self) -> None:
        super().close()
        names, self._names = getattr(self, "_names", None), None
        if names is not None:
            lib.names_close(names)

    def add_resource(self, name: str = "", units: int = 1) -> Resource:
        id = c.c_uint32()
        call(lib.snapshot_add_resource, self._live(), count_of(units, "units"), c.byref(id))
        self._remember("resource", self._resources, id.value, name)
        return Resource(id.value, name, units)

    def add_process(self, name: str = "") -> Process:
        id = c.c_uint32()
        call(lib.snapshot_add_process, self._live(), c.byref(id))
        self._remember("process", self._processes, id.value, name)
        return Process(id.value, name)

    def _remember(self, kind: str, names: Dict[int, str], id: int, name: str) -> None:
        names[id] = name
        if name:
            self._by_name[kind, name] = id

    def _id(self, kind: str, which: Any) -> int:
        if not isinstance(which, str):
            return which.__index__()
        id = self._by_name.get((kind, which))
        if id is None:
            id = self.add_process(which).id if kind == "process" else self.add_resource(which).id
        return id

    def hold(self, process: Any, resource: Any, units: int = 1) -> None:
        """The process holds these units."""
        who, what = self._id("process", process), self._id("resource", resource)
        call(lib.snapshot_hold, self._live(), who, what, count_of(units, "units"))

    def wait(self, process: Any, resource: Any, units: int = 1) -> None:
        """The process waits for these units. All waits of a process together are one request."""
        who, what = self._id("process", process), self._id("resource", resource)
        call(lib.snapshot_wait, self._live(), who, what, count_of(units, "units"))

    def await_(self, process: Any, others: Iterable[Any], needed: Optional[int] = None) -> None:
        """The process waits for acts of `needed` of the others; None means all of them."""
        ids = [self._id("process", other) for other in others]
        needed = len(ids) if needed is None else needed
        who = self._id("process", process)
        resource = c.c_uint32()
        call(lib.snapshot_await, self._live(), who, u32s(ids), len(ids), needed, c.byref(resource))
        self._resources[resource.value] = ""

    def check(self, engine: str = "auto", *, threads: int = 0) -> Report:
        """Judges the snapshot."""
        options = _abi.check_options(data(engine), threads)
        report = _abi.report()
        call(lib.snapshot_check_for, self._live(), c.byref(options), c.byref(report))
        deadlocked = tuple([self._process(id) for id in report.deadlocked[: report.deadlocked_count]])
        parts = tuple([self._witness(report.parts[i]) for i in range(report.part_count)])
        return Report(Model(report.model), deadlocked, parts, text(report.engine))

    def _witness(self, part: Any) -> Witness:
        edges: Any = c.POINTER(_abi.edge)()
        count = c.c_size_t()
        call(lib.snapshot_edges, self._handle, c.byref(part), c.byref(edges), c.byref(count))
        made = [
            Edge(self._process(e.process), self._resource(e.resource), e.units, e.waits)
            for e in edges[: count.value]
        ]
        return Witness(part.cycle, tuple(_cycle_order(made, part) if part.cycle else made))

    def _process(self, id: int) -> Process:
        if self._names is not None and id not in self._processes:
            return Process(id, text(lib.names_process(self._names, id)))
        return Process(id, self._processes.get(id, ""))

    def _resource(self, id: int) -> Resource:
        if self._names is not None and id not in self._resources:
            return Resource(id, text(lib.names_resource(self._names, id)))
        return Resource(id, self._resources.get(id, ""))


def _cycle_order(edges: List[Edge], part: Any) -> List[Edge]:
    """The edges of a cycle in order: wait, hold, wait, and so on."""
    waits = {edge.process.id: edge for edge in edges if edge.waits}
    holds = {(edge.process.id, edge.resource.id): edge for edge in edges if not edge.waits}
    length, turn = part.process_count, []
    for i in range(length):
        resource = part.resources[i]
        turn.append(waits[part.processes[i]])
        turn.append(holds[part.processes[(i + 1) % length], resource])
    return turn


def check(source: Source, engine: str = "auto", *, threads: int = 0) -> Report:
    """Reads a snapshot and judges it."""
    with Snapshot.read(source) as snapshot:
        return snapshot.check(engine, threads=threads)


@dataclass(frozen=True)
class Line:
    """A line of a trace. `kind` is "event", "process" or "resource". `items` are the resources of
    an event with their units, or the KEY=VALUE pairs of a process."""

    line: int
    kind: str
    name: str
    op: Optional[Op] = None
    units: int = 1
    to: str = ""
    items: Tuple[Tuple[str, Union[int, str]], ...] = ()
    words: Tuple[str, ...] = ()


_KINDS = {1: "event", 2: "process", 3: "resource"}


def read_trace(source: Source, *, avoidance: bool = False, acts: bool = True) -> Iterator[Line]:
    """The lines of a trace or a snapshot, one by one, without interpretation. A syntax error raises
    InputError with line and column."""
    return _lines(Reading(source), avoidance, acts)


def _lines(reading: Reading, avoidance: bool, acts: bool) -> Iterator[Line]:
    with reading as source:
        trace = _abi.trace()
        call(lib.trace_open, c.byref(trace), source, None)
        trace.avoidance, trace.acts = avoidance, acts
        try:
            while call(lib.trace_next, c.byref(trace), accept=(_abi.END,)) == _abi.OK:
                yield _line(trace)
        finally:
            lib.trace_close(c.byref(trace))


def _word(word: Any) -> str:
    return text(c.string_at(word.text, word.length)) if word.text else ""


def _line(trace: Any) -> Line:
    event = trace.kind == 1
    items = []
    for item in trace.items[: trace.item_count]:
        items.append((_word(item.name), item.units if event else _word(item.value)))
    return Line(
        trace.line,
        _KINDS[trace.kind],
        _word(trace.name),
        Op(trace.op) if event else None,
        trace.units if trace.kind == 3 or trace.op == Op.AWAIT else 1,
        _word(trace.to),
        tuple(items),
        tuple([_word(word) for word in trace.words[: trace.word_count]]),
    )
