"""Makespans of groups of GPU warps, and the instruction strings of kernels from their PTX."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from . import _abi
from ._library import Owned, Reading, Source, call, data, data_of, lib, text, u32s
from .errors import InputError

__all__ = ["Unit", "Chip", "Schedule", "Bound", "Makespan", "Ptx", "PtxPath", "chips", "chip"]


@dataclass(frozen=True)
class Unit:
    """A kind of functional unit. `units` warps can start on it per cycle; `lanes` gives the number
    of hardware units instead. An instruction occupies it for `latency` cycles, or for `latency` to
    `latency_most` cycles."""

    letter: str
    units: int = 0
    lanes: int = 0
    latency: int = 1
    latency_most: int = 0


@dataclass(frozen=True)
class Chip:
    """The units of a real chip's multiprocessor."""

    name: str
    title: str
    schedulers: int
    max_warps: int
    units: Tuple[Unit, ...]
    source: str


def chips() -> List[Chip]:
    """All known chips."""
    found: List[Chip] = []
    info = _abi.chip()
    while lib.chip_info(len(found), c.byref(info)) == _abi.OK:
        units = tuple([_unit_of(info.units[i]) for i in range(info.unit_count)])
        found.append(
            Chip(
                text(info.name),
                text(info.title),
                info.schedulers,
                info.max_warps,
                units,
                text(info.source),
            )
        )
    return found


def chip(name: str) -> Chip:
    """The chip with this name; KeyError if it is unknown."""
    for each in chips():
        if each.name == name:
            return each
    raise KeyError(name)


def _unit_of(unit: Any) -> Unit:
    return Unit(text(unit.letter), unit.units, unit.lanes, unit.latency, unit.latency_most)


@dataclass(frozen=True)
class Schedule:
    """A schedule: entry i is an instruction of `warps[i]` (from 1) in `cycles[i]` (from 1), piece
    `pieces[i]` (from 1) of the kernel."""

    warps: Tuple[int, ...]
    cycles: Tuple[int, ...]
    pieces: Tuple[int, ...]

    def __len__(self) -> int:
        return len(self.warps)


@dataclass(frozen=True)
class Bound:
    """The true value lies between `lower` and `upper`. `schedule` reaches one of them."""

    lower: int
    upper: int
    exact: bool
    schedule: Schedule
    evaluations: int
    states: int
    stop: str
    engine: str
    note: str
    seconds: float


_STOPS = ("done", "time", "memory", "stopped")


class Makespan(Owned):
    """A kernel (one letter per instruction), a number of warps, and functional units.

    >>> import gordian
    >>> with gordian.Makespan("LCL", warps=2, units={"L": 1, "C": 1}) as problem:
    ...     bound = problem.worst()
    >>> bound.exact, bound.upper
    (True, 4)
    """

    _close = "makespan_close"

    def __init__(
        self,
        kernel: str,
        warps: int,
        units: Union[Mapping[str, int], Sequence[Unit], Chip],
        *,
        schedulers: Optional[int] = None,
        warp_size: int = 32,
        issue: int = 1,
    ) -> None:
        if isinstance(units, Chip):
            schedulers = units.schedulers if schedulers is None else schedulers
            units = units.units
        if isinstance(units, Mapping):
            units = [Unit(letter, count) for letter, count in units.items()]
        table = (_abi.unit * max(len(units), 1))()
        for each, unit in zip(table, units):
            each.letter = data_of(unit.letter)
            each.units, each.lanes = unit.units, unit.lanes
            each.latency, each.latency_most = unit.latency, unit.latency_most
        letters = data_of(kernel)
        problem = _abi.makespan_problem(
            letters, len(letters), warps, schedulers or 0, warp_size, issue
        )
        problem.units, problem.unit_count = c.cast(table, c.c_void_p), len(units)
        self._open(lib.makespan_open, c.byref(problem), None)

    def __repr__(self) -> str:
        if self.closed:
            return "<gordian.Makespan, closed>"
        return f"<gordian.Makespan of {lib.makespan_warps(self._handle)} warps of {self.kernel}>"

    @property
    def kernel(self) -> str:
        """The string as it is scheduled, one letter per cycle."""
        return text(lib.makespan_kernel(self._live()))

    def worst(self, engine: str = "auto", **options: Any) -> Bound:
        """The maximum makespan. Options: seed, chains, evaluations, threads, max_seconds,
        max_memory."""
        return self._solve(0, engine, **options)

    def best(self, engine: str = "auto", **options: Any) -> Bound:
        """The minimum makespan."""
        return self._solve(1, engine, **options)

    def _solve(self, goal: int, engine: str, max_seconds: Optional[float] = None, **named: Any) -> Bound:
        options = _abi.makespan_options()
        lib.makespan_options_init(c.byref(options))
        options.engine, options.goal = data(engine), goal
        if max_seconds is not None:
            options.max_ns = max(int(max_seconds * 1e9), 1)
        for name, value in named.items():
            if name not in ("seed", "chains", "evaluations", "threads", "max_memory", "temperature"):
                raise TypeError(f"unknown option {name}")
            setattr(options, name, value)
        answer = _abi.makespan_answer()
        call(lib.makespan_solve, self._live(), c.byref(options), c.byref(answer))
        count = answer.witness_count
        schedule = Schedule(
            tuple(answer.witness[:count]), tuple(answer.cycles[:count]), tuple(answer.pieces[:count])
        )
        return Bound(
            answer.lower,
            answer.upper,
            answer.exact,
            schedule,
            answer.evaluations,
            answer.states,
            _STOPS[answer.stop],
            text(answer.engine),
            text(answer.note),
            answer.seconds,
        )

    def check(self, schedule: Schedule) -> None:
        """Checks that a schedule is work-conserving. InputError gives the reason if it is not."""
        call(
            lib.makespan_check_pieces,
            self._live(),
            u32s(schedule.warps),
            u32s(schedule.pieces),
            u32s(schedule.cycles),
            len(schedule),
        )


@dataclass(frozen=True)
class PtxPath:
    """A path through a kernel: its letters, the source line of each, and the assumptions made."""

    letters: str
    lines: Tuple[int, ...]
    instructions: int
    barriers: int
    notes: Tuple[Tuple[int, str], ...]

    def __str__(self) -> str:
        return self.letters


class Ptx(Owned):
    """A PTX text, the assembly language of NVIDIA GPUs."""

    _close = "ptx_close"

    def __init__(self, content: Union[str, bytes]) -> None:
        content = data_of(content) if isinstance(content, str) else bytes(content)
        self._open(lib.ptx_open, content, len(content), None)

    @classmethod
    def read(cls, source: Source) -> "Ptx":
        ptx = cls.__new__(cls)
        with Reading(source) as place:
            ptx._open(lib.ptx_read, place, None)
        return ptx

    @property
    def kernels(self) -> List[str]:
        """The names of the kernels, as written."""
        names: List[str] = []
        length = c.c_size_t()
        while True:
            name = lib.ptx_entry(self._live(), len(names), c.byref(length))
            if not name:
                return names
            names.append(text(c.string_at(name, length.value)))

    def path(
        self,
        kernel: Optional[str] = None,
        *,
        path: str = "longest",
        loops: Mapping[str, int] = {},
        values: Mapping[str, int] = {},
        calls: Mapping[str, str] = {},
    ) -> PtxPath:
        """The string of one path: the longest one, the one on which no branch is taken ("fall"), or
        the one that passes the given labels ("LABEL,LABEL"). `loops` gives trip counts of loops,
        `values` kernel parameters, and `calls` the letters of external functions."""
        question = _abi.ptx_question()
        lib.ptx_question_init(c.byref(question))
        question.entry, question.path = data(kernel), data(path)
        kept = [_named(loops), _named(values)]
        question.loops, question.loop_count = c.cast(kept[0], c.c_void_p), len(loops)
        question.values, question.value_count = c.cast(kept[1], c.c_void_p), len(values)
        elsewhere = (_abi.ptx_call * max(len(calls), 1))()
        for each, (name, letters) in zip(elsewhere, calls.items()):
            each.name, each.letters = data(name), data(letters)
        question.calls, question.call_count = c.cast(elsewhere, c.c_void_p), len(calls)
        answer = _abi.ptx_answer()
        call(lib.ptx_ask, self._live(), c.byref(question), c.byref(answer))
        if answer.letters is None:
            raise InputError(f"the path has too many letters to list: {answer.count}")
        notes = [(note.line, text(note.text)) for note in answer.notes[: answer.note_count]]
        return PtxPath(
            text(answer.letters),
            tuple(answer.lines[: answer.count]),
            answer.instructions,
            answer.barriers,
            tuple(notes),
        )


def _named(names: Mapping[str, int]) -> Any:
    table = (_abi.ptx_named * max(len(names), 1))()
    for each, (name, value) in zip(table, names.items()):
        each.name, each.value = data(name), value
    return table
