"""Composition: what can circuits of constraint automata (Reo) do together, and can they get stuck?"""

from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Tuple

from . import _abi
from ._library import Owned, Reading, Source, call, data, data_of, error_of, lib, text
from .errors import InputError

__all__ = ["Circuit", "Graph", "Product", "ProductDeadlock", "CheckResult"]

_FORMATS = {"treo": 1, "ca": 2, "aut": 3, "dot": 4, "pnml": 5, "mcrl2": 6, "promela": 7}
_STOPS = ("complete", "states", "memory", "time", "stopped", "unsafe", "cut")


@dataclass(frozen=True)
class ProductDeadlock:
    """A state that nothing leads out of: in which state each automaton is, and the names that fire
    together in each step of a shortest way there. Of a run that was stopped the number may be
    2**64 - 1, which is not known, and then there may be no steps."""

    number: int
    states: Tuple[str, ...]
    steps: Tuple[str, ...]


@dataclass(frozen=True)
class Product:
    """What a circuit comes to. `deadlocks` counts all, `found` describes the nearest. Of a net that
    is not 1-safe (`stop` is "unsafe") `found` has the way to a second token instead."""

    states: int
    transitions: int
    deadlocks: int
    found: Tuple[ProductDeadlock, ...]
    stop: str
    engine: str
    note: str
    memory: int

    @property
    def complete(self) -> bool:
        return self.stop == "complete"


@dataclass(frozen=True)
class CheckResult:
    """Does a formula hold in every initial state, or in every fair run? `path`, and then `cycle`
    for ever, show why, as far as one way can. True if it holds. Of the best way: is there one, with
    its `cost` and the `costs` of its steps."""

    holds: bool
    states: int
    path: Tuple[str, ...]
    cycle: Tuple[str, ...]
    dead_end: bool
    cost: float = 0.0
    costs: Tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return self.holds


_FAIRNESS = ("none", "weak", "strong")
_SEMIRINGS = ("weighted", "fuzzy", "probability")


def _linear(formula: str, fair: str) -> Any:
    """A question of LTL."""
    if fair not in _FAIRNESS:
        raise ValueError(f"fairness is one of {', '.join(_FAIRNESS)}")
    return _abi.question(data(formula), True, _FAIRNESS.index(fair))


def _format(name: str) -> int:
    try:
        return _FORMATS[name]
    except KeyError:
        raise InputError(f"there is no format {name}") from None


class Circuit(Owned):
    """Automata that share names, read from a text (.treo, .ca or .pnml). It never changes: any
    number of threads may use it.

    >>> import gordian
    >>> with gordian.Circuit("ring() { fifofull<0>(a,b) fifo1(b,a) }") as ring:
    ...     product = ring.compose()
    >>> product.states, product.deadlocks
    (2, 0)
    """

    _close = "circuit_close"

    def __init__(
        self,
        content: str,
        format: str = "treo",
        *,
        main: Optional[str] = None,
        data: Optional[str] = None,
        define: Optional[str] = None,
        name: str = "input",
    ) -> None:
        self._read(data_of(content), _format(format), name, main, data, define, False)

    @classmethod
    def read(
        cls,
        path: "os.PathLike[str] | str",
        *,
        main: Optional[str] = None,
        data: Optional[str] = None,
        define: Optional[str] = None,
    ) -> "Circuit":
        """From a file, whose name tells the format; what it imports is looked for beside it."""
        circuit = cls.__new__(cls)
        format = lib.format_of(os.fsencode(path))
        circuit._read(path, format, os.fspath(path), main, data, define, True)
        return circuit

    def _read(
        self,
        source: Source,
        format: int,
        name: str,
        main: Optional[str],
        values: Optional[str],
        define: Optional[str],
        files: bool,
    ) -> None:
        options = _abi.circuit_options()
        lib.circuit_options_init(c.byref(options))
        options.main, options.data, options.define = data(main), data(values), data(define)
        options.files = files
        fault, error, handle = _abi.fault(), _abi.error(), c.c_void_p()
        with Reading(source) as place:
            status = lib.circuit_read(
                c.byref(handle),
                format,
                data(name),
                place,
                c.byref(options),
                c.byref(fault),
                c.byref(error),
            )
        if status != _abi.OK:
            raise _faulty(status, error, fault)
        self._handle = handle

    def __repr__(self) -> str:
        if self.closed:
            return "<gordian.Circuit, closed>"
        return f"<gordian.Circuit {self.title}, {len(self.automata)} automata, {len(self.names)} names>"

    def _info(self) -> Any:
        info = _abi.circuit_info()
        lib.circuit_describe(self._live(), c.byref(info))
        return info

    @property
    def title(self) -> str:
        return text(self._info().title)

    @property
    def names(self) -> List[str]:
        return [text(lib.circuit_name(self._live(), i)) for i in range(self._info().name_count)]

    @property
    def automata(self) -> List[str]:
        """As texts: "fifo1(a,b)"."""
        count = self._info().automaton_count
        return [_fill(lib.circuit_automaton_text, self._handle, i) for i in range(count)]

    @property
    def notes(self) -> List[str]:
        """What a user should know of the text."""
        return text(lib.circuit_notes(self._live())).splitlines()

    def compose(self, engine: str = "auto", **options: Any) -> Product:
        """Composes it. Options: full, indivisible, count_transitions, reduce, max_states,
        max_memory, max_seconds, max_deadlocks, threads."""
        result = _abi.compose_result()
        chosen = _compose_options(engine, options)
        call(lib.compose, self._live(), c.byref(chosen), None, c.byref(result))
        return self._product(result)

    def graph(self, engine: str = "auto", **options: Any) -> "Graph":
        """Composes it and keeps the product."""
        result, handle = _abi.compose_result(), c.c_void_p()
        chosen = _compose_options(engine, options)
        call(
            lib.compose_graph,
            c.byref(handle),
            self._live(),
            c.byref(chosen),
            None,
            None,
            c.byref(result),
        )
        return _graph(handle, self._product(result))

    def check(self, formula: str, engine: str = "auto", **options: Any) -> CheckResult:
        """Does a formula of CTL hold of the product? docs/guide/compose.md has the language."""
        return self._ask(_abi.question(data(formula)), engine, options)

    def check_ltl(
        self, formula: str, fair: str = "weak", engine: str = "auto", **options: Any
    ) -> CheckResult:
        """Does a formula of LTL hold in every run that is fair: "none", "weak" or "strong"?"""
        return self._ask(_linear(formula, fair), engine, options)

    def best(
        self, formula: str, semiring: str = "weighted", engine: str = "auto", **options: Any
    ) -> CheckResult:
        """The best way to a state in which a formula holds, by what steps cost: "weighted",
        "fuzzy" or "probability"."""
        if semiring not in _SEMIRINGS:
            raise ValueError(f"a semiring is one of {', '.join(_SEMIRINGS)}")
        question = _abi.question(data(formula), False, 0, 1 + _SEMIRINGS.index(semiring))
        return self._ask(question, engine, options)

    def _ask(self, question: Any, engine: str, options: Any) -> CheckResult:
        result, handle, check = _abi.compose_result(), c.c_void_p(), _abi.check()
        chosen = _compose_options(engine, options)
        call(
            lib.compose_check,
            c.byref(handle),
            self._live(),
            c.byref(chosen),
            c.byref(question),
            None,
            c.byref(check),
            c.byref(result),
        )
        with _graph(handle, self._product(result)) as graph:
            return graph._checked(check)

    def _product(self, result: Any) -> Product:
        try:
            found = [self._found(result.found[i]) for i in range(result.found_count)]
            return Product(
                result.states,
                result.transitions,
                result.deadlocks,
                tuple(found),
                _STOPS[result.stop],
                text(result.engine),
                text(result.note),
                result.memory,
            )
        finally:
            lib.compose_result_free(c.byref(result))

    def _found(self, found: Any) -> ProductDeadlock:
        info = self._info()
        states = [
            _fill(lib.circuit_state_text, self._handle, i, found.state[i])
            for i in range(info.automaton_count)
        ]
        first = c.cast(found.labels, c.c_void_p).value or 0
        steps = [
            _fill(lib.circuit_label_text, self._handle, first + i * info.label_words * 8)
            for i in range(found.step_count)
        ]
        return ProductDeadlock(found.number, tuple(states), tuple(steps))


def _fill(function: Any, *arguments: Any) -> str:
    """A text that goes into a caller's buffer, as long as it is."""
    buffer = c.create_string_buffer(256)
    length = function(*arguments, buffer, len(buffer))
    if length >= len(buffer):
        buffer = c.create_string_buffer(length + 1)
        function(*arguments, buffer, len(buffer))
    return text(buffer.value)


def _faulty(status: int, error: Any, fault: Any) -> Exception:
    """An error in a text, with the line and a caret under the place."""
    failure = error_of(status, text(error.message), error.line, error.column)
    if fault.line:
        line = text(fault.line)
        failure.message += f"\n    {line}\n    {' ' * fault.caret}^"
    return failure


_FLAGS = ("full", "indivisible", "count_transitions", "reduce")
_NUMBERS = ("max_states", "max_memory", "max_deadlocks", "threads")


def _compose_options(engine: str, named: Mapping[str, Any]) -> Any:
    options = _abi.compose_options()
    lib.compose_options_init(c.byref(options))
    options.engine = data(engine)
    for name, value in named.items():
        if name == "max_seconds":
            options.max_ns = max(int(value * 1e9), 1)
        elif name in _FLAGS or name in _NUMBERS:
            setattr(options, name, value)
        else:
            raise TypeError(f"there is no option {name}")
    return options


class Graph(Owned):
    """A product in memory: states from 0, and labelled arcs between them. It never changes."""

    _close = "graph_close"

    #: What the composition that made it came to; None if it was made otherwise.
    product: Optional[Product] = None

    @classmethod
    def read(cls, source: Source) -> "Graph":
        """From a .aut."""
        handle, fault, error = c.c_void_p(), _abi.fault(), _abi.error()
        reading = Reading(source)
        with reading as place:
            status = lib.graph_read(
                c.byref(handle),
                data(reading.name),
                place,
                None,
                None,
                c.byref(fault),
                c.byref(error),
            )
        if status != _abi.OK:
            raise _faulty(status, error, fault)
        return _graph(handle, None)

    def __len__(self) -> int:
        return lib.graph_states(self._live())

    def __repr__(self) -> str:
        if self.closed:
            return "<gordian.Graph, closed>"
        return f"<gordian.Graph, {len(self)} states, {self.transitions} transitions>"

    @property
    def transitions(self) -> int:
        return lib.graph_transitions(self._live())

    @property
    def initial(self) -> List[int]:
        count = c.c_size_t()
        states = lib.graph_initial(self._live(), c.byref(count))
        return states[: count.value]

    def arcs(self, state: int) -> List[Tuple[str, int]]:
        """What leads out of a state: labels and where to."""
        if not 0 <= state < len(self):
            raise IndexError(state)
        count = c.c_size_t()
        arcs = lib.graph_arcs(self._live(), state, c.byref(count))
        return [(self._label(arc.label), arc.to) for arc in arcs[: count.value]]

    def __iter__(self) -> Iterator[Tuple[int, str, int]]:
        """All arcs: from, label, to."""
        for state in range(len(self)):
            for label, to in self.arcs(state):
                yield state, label, to

    def _label(self, label: int) -> str:
        return text(lib.graph_label(self._live(), label))

    def _labels(self, arcs: Any, count: int) -> Tuple[str, ...]:
        return tuple([self._label(arc.label) for arc in arcs[:count]])

    def way_to_deadlock(self) -> Optional[Tuple[str, ...]]:
        """A shortest way to a state that nothing leads out of; None: there is none."""
        found = _abi.graph_deadlocks()
        call(lib.graph_find_deadlocks, self._live(), c.byref(found))
        try:
            return self._labels(found.path, found.path_count) if found.deadlocks else None
        finally:
            lib.graph_deadlocks_free(c.byref(found))

    def minimise(self) -> "Graph":
        """The smallest graph that is strongly bisimilar."""
        handle = c.c_void_p()
        call(lib.graph_minimise, c.byref(handle), self._live())
        return _graph(handle, None)

    def hide(self, *names: str) -> "Graph":
        """The graph with these names hidden."""
        hidden = {data(name) for name in names}
        hides = _abi.HIDES(lambda _, name, length: c.string_at(name, length) in hidden)
        hiding = _abi.hiding(c.cast(hides, c.c_void_p), None)
        handle = c.c_void_p()
        call(lib.graph_hide, c.byref(handle), self._live(), c.byref(hiding))
        return _graph(handle, None)

    def check(self, formula: str) -> CheckResult:
        """Does a formula of CTL about names hold?"""
        return self._ask(_abi.question(data(formula)))

    def check_ltl(self, formula: str, fair: str = "weak") -> CheckResult:
        """Does a formula of LTL hold in every run that is fair: "none", "weak" or "strong"?"""
        return self._ask(_linear(formula, fair))

    def _ask(self, question: Any) -> CheckResult:
        check = _abi.check()
        call(lib.graph_check, self._live(), c.byref(question), c.byref(check))
        return self._checked(check)

    def _checked(self, check: Any) -> CheckResult:
        try:
            return CheckResult(
                check.holds,
                check.states,
                self._labels(check.path, check.path_count),
                self._labels(check.cycle, check.cycle_count),
                check.dead_end,
                check.cost,
                tuple(check.costs[i] for i in range(check.path_count)) if check.costs else (),
            )
        finally:
            lib.check_free(c.byref(check))

    def is_bisimilar(self, other: "Graph") -> bool:
        """Can nobody tell the two apart?"""
        equal = c.c_bool()
        call(lib.graph_equal, self._live(), other._live(), c.byref(equal), None)
        return equal.value

    def write(self, path: "os.PathLike[str] | str", title: str = "product") -> None:
        """To a file, in the format that its name ends in."""
        format = lib.format_of(os.fsencode(path))
        if format == 0:
            raise InputError(f"{os.fspath(path)}: its name tells no format")
        with open(path, "wb", buffering=0) as file:
            fd = c.c_int(file.fileno())
            writer = lib.writer_fd(c.byref(fd))
            call(lib.graph_write, self._live(), data(title), None, format, c.byref(writer))


def _graph(handle: Any, product: Optional[Product]) -> Graph:
    if not handle:
        raise InputError(f"the composition was stopped: {product.stop if product else ''}")
    graph = Graph.__new__(Graph)
    graph._handle = handle
    graph.product = product
    return graph
