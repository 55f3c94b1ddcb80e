"""Avoidance: a bank that grants only safe requests, and plans that compute how many units
suffice."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any, Iterator, List, Mapping, Optional, Tuple, Union

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
from .errors import Refused
from .system import Edge, Op, Process, ProcessLike, Resource, ResourceLike, Wants, Witness, _Worded

__all__ = ["Verdict", "Reason", "Answer", "Bank", "BankStep", "Pool", "Planned", "Plan"]


class Verdict(_Worded):
    """The answer of a bank."""

    GRANTED = 1
    UNSAFE = 2
    UNAVAILABLE = 3
    RELEASED = 4
    CANCELLED = 5
    EXITED = 6
    CHANGED = 7
    REFUSED = 8

    @property
    def word(self) -> str:
        return "error" if self is Verdict.REFUSED else self.name.lower()


class Reason(_Worded):
    """Why a bank rejects an event."""

    NONE = 0
    UNKNOWN_PROCESS = 1
    UNKNOWN_RESOURCE = 2
    NO_UNITS = 3
    OVER_CLAIM = 4
    NEVER_FITS = 5
    BELOW_HELD = 6
    IS_WAITING = 7
    NOT_WAITING = 8
    ON_TRIAL = 9
    NO_TRIAL = 10
    TOO_MANY = 11
    OUT_OF_TURN = 12


@dataclass(frozen=True)
class Answer:
    """The answer of a bank to a call. With `reasons=True`, `sequence` is an order in which all
    processes can finish; if there is none, `stuck` lists the processes that could not finish and
    `lacks` what each would lack (process, resource, units)."""

    verdict: Verdict
    waits: bool = False
    reason: Reason = Reason.NONE
    served: Tuple[Process, ...] = ()
    sequence: Tuple[Process, ...] = ()
    stuck: Tuple[Process, ...] = ()
    lacks: Tuple[Tuple[Process, Resource, int], ...] = ()

    @property
    def granted(self) -> bool:
        return self.verdict is Verdict.GRANTED


@dataclass(frozen=True)
class BankStep:
    """A line of a trace, and the answer of the bank. `op` is None for a declaration."""

    seq: int
    line: int
    column: int
    kind: str
    op: Optional[Op]
    name: str
    answer: Answer
    message: str = ""


class _Answering:
    """An answer that the library fills in; it is freed at the end of a `with`."""

    def __init__(self, reasons: bool) -> None:
        self.answer = _abi.answer()
        lib.answer_init(c.byref(self.answer), int(reasons))

    def __enter__(self) -> Any:
        return self.answer

    def __exit__(self, *_: Any) -> None:
        lib.answer_free(c.byref(self.answer))


class Bank(Owned):
    """Grants units to processes that have declared their maximum claims. It grants a request only if
    all processes can still finish afterwards, so its grants can never end in a deadlock.

    >>> import gordian
    >>> with gordian.Bank() as bank:
    ...     _ = bank.add_resource("gpu", 4)
    ...     _ = bank.add_process("a", {"gpu": 3}), bank.add_process("b", {"gpu": 3})
    ...     print(bank.request("a", "gpu", 2).verdict, bank.request("b", "gpu", 2).verdict)
    granted unsafe

    Any number of threads may share a bank. With `queue=True`, requests that cannot be granted wait,
    and `acquire` blocks until they are granted. An invalid event raises `Refused`.
    """

    _close = "bank_close"

    def __init__(
        self,
        engine: str = "auto",
        *,
        queue: bool = False,
        patience: int = 16,
        reasons: bool = False,
    ) -> None:
        options = _abi.bank_options()
        lib.bank_options_init(c.byref(options))
        options.engine, options.queue, options.patience = data(engine), queue, patience
        self.reasons = reasons
        self._open(lib.bank_open, c.byref(options))

    def __repr__(self) -> str:
        if self.closed:
            return "<gordian.Bank, closed>"
        return f"<gordian.Bank, {len(self.processes)} processes, {len(self.resources)} resources>"

    # ------------------------------------------------------------ processes and resources

    def add_resource(self, name: Optional[str] = None, units: int = 1) -> Resource:
        id = c.c_uint32()
        call(lib.bank_add_resource, self._live(), data(name), count_of(units, "units"), c.byref(id))
        return Resource(id.value, name or "", units)

    def remove_resource(self, resource: ResourceLike) -> None:
        """Removes a resource that no process claims."""
        call(lib.bank_remove_resource, self._live(), self._resource(resource))

    def set_units(self, resource: ResourceLike, units: int) -> Answer:
        """Changes the number of units, if the state remains safe."""
        return self._ask(lib.bank_set_units, self._resource(resource), count_of(units, "units"))

    def add_process(self, name: Optional[str] = None, claims: Wants = ()) -> Process:
        """Adds a process with its claim: the maximum of each resource that it will ever hold."""
        wants = self._wants(claims, 1)
        id = c.c_uint32()
        with _Answering(self.reasons) as answer:
            call(
                lib.bank_add_process,
                self._live(),
                data(name),
                wants_of(wants),
                len(wants),
                c.byref(id),
                c.byref(answer),
            )
            self._raise_refused(answer)
        return Process(id.value, name or "")

    def set_claims(self, process: ProcessLike, claims: Wants) -> Answer:
        return self._ask_for(lib.bank_set_claims, process, claims, 1)

    @property
    def processes(self) -> List[Process]:
        limit = lib.bank_process_limit(self._live())
        return [self._process_at(id) for id in range(limit) if self._name("process", id) is not None]

    @property
    def resources(self) -> List[Resource]:
        limit = lib.bank_resource_limit(self._live())
        return [self._resource_at(id) for id in range(limit) if self._name("resource", id) is not None]

    def _name(self, what: str, id: int) -> Optional[str]:
        buffer = c.create_string_buffer(_abi.NAME_MAX + 1)
        name = getattr(lib, f"bank_{what}_name")(self._live(), id, buffer)
        return None if name is None else text(name)

    def _process_at(self, id: int) -> Process:
        return Process(id, self._name("process", id) or "")

    def _resource_at(self, id: int) -> Resource:
        units = lib.bank_units(self._live(), id)
        return Resource(id, self._name("resource", id) or "", units)

    def _process(self, which: ProcessLike) -> int:
        return self._find("process", which)

    def _resource(self, which: ResourceLike) -> int:
        return self._find("resource", which)

    def _find(self, what: str, which: Any) -> int:
        if not isinstance(which, str):
            return id_of(which, what)
        name = data(which)
        id = getattr(lib, "bank_find_" + what)(self._live(), name, len(name))
        if id == _abi.NONE:
            raise KeyError(f"unknown {what} {which}")
        return id

    def _wants(self, wants: Wants, units: int) -> List[Tuple[int, int]]:
        if isinstance(wants, Mapping):
            return [(self._resource(each), count) for each, count in wants.items()]
        if isinstance(wants, (str, int, Resource)):
            return [(self._resource(wants), units)]
        return [(self._resource(each), units) for each in wants]

    # ------------------------------------------------------------ requests and releases

    def request(self, process: ProcessLike, wants: Wants, units: int = 1) -> Answer:
        """Requests units. A request for several resources is granted completely or not at all."""
        return self._ask_for(lib.bank_request, process, wants, units)

    def acquire(
        self, process: ProcessLike, wants: Wants, units: int = 1, *, timeout: Optional[float] = None
    ) -> Answer:
        """Requests units, and blocks until they are granted or the timeout expires. Needs
        `queue=True`."""
        return self._ask_for(lib.bank_acquire, process, wants, units, nanoseconds(timeout))

    def release(self, process: ProcessLike, wants: Wants, units: int = 1) -> Answer:
        return self._ask_for(lib.bank_release, process, wants, units)

    def try_(self, process: ProcessLike, wants: Wants, units: int = 1) -> Answer:
        """A request that never waits, and is tentative until `commit` or `cancel`."""
        return self._ask_for(lib.bank_try_, process, wants, units)

    def commit(self, process: ProcessLike) -> Answer:
        return self._ask(lib.bank_commit, self._process(process))

    def cancel(self, process: ProcessLike) -> Answer:
        """Cancels a waiting request or a tentative grant."""
        return self._ask(lib.bank_cancel, self._process(process))

    def exit(self, process: ProcessLike) -> Answer:
        """The process releases everything and is removed."""
        return self._ask(lib.bank_exit, self._process(process))

    def _ask_for(self, function: Any, process: ProcessLike, wants: Wants, units: int, *more: int) -> Answer:
        pairs = self._wants(wants, units)
        return self._ask(function, self._process(process), wants_of(pairs), len(pairs), *more)

    def _ask(self, function: Any, *arguments: Any) -> Answer:
        with _Answering(self.reasons) as answer:
            call(function, self._live(), *arguments, c.byref(answer))
            self._raise_refused(answer)
            return self._answer(answer)

    def _raise_refused(self, answer: Any) -> None:
        if answer.verdict == Verdict.REFUSED:
            raise Refused(text(lib.reason_text(answer.reason)), Reason(answer.reason))

    def _answer(self, answer: Any) -> Answer:
        return Answer(
            Verdict(answer.verdict),
            answer.waits,
            Reason(answer.reason),
            self._process_list(answer.served, answer.served_count),
            self._process_list(answer.sequence, answer.sequence_count),
            self._process_list(answer.stuck, answer.stuck_count),
            tuple(
                [
                    (self._process_at(lack.process), self._resource_at(lack.resource), lack.units)
                    for lack in answer.lacks[: answer.lack_count]
                ]
            ),
        )

    def _process_list(self, ids: Any, count: int) -> Tuple[Process, ...]:
        return tuple([self._process_at(id) for id in ids[:count]])

    # ------------------------------------------------------------ queries

    def what_if(self, process: ProcessLike, wants: Wants, units: int = 1) -> Verdict:
        """The verdict that a request would get now; nothing changes."""
        pairs = self._wants(wants, units)
        list_of = wants_of(pairs)
        item = _abi.bank_request_item(
            self._process(process), c.cast(list_of, c.c_void_p), len(pairs)
        )
        verdict = c.c_int()
        call(lib.bank_what_if, self._live(), c.byref(item), 1, c.byref(verdict))
        return Verdict(verdict.value)

    def sequence(self) -> Tuple[Process, ...]:
        """An order in which all processes can finish now."""
        capacity = lib.bank_process_limit(self._live())
        ids = (c.c_uint32 * max(capacity, 1))()
        count = lib.bank_sequence(self._handle, ids, capacity)
        return self._process_list(ids, min(count, capacity))

    def slack(self, resource: ResourceLike) -> int:
        """The maximum number of units that could be removed from the bank now."""
        units = c.c_uint64()
        call(lib.bank_slack, self._live(), self._resource(resource), c.byref(units))
        return units.value

    def units(self, resource: ResourceLike) -> int:
        return lib.bank_units(self._live(), self._resource(resource))

    def free_units(self, resource: ResourceLike) -> int:
        return lib.bank_free_units(self._live(), self._resource(resource))

    def claim(self, process: ProcessLike, resource: ResourceLike) -> int:
        return lib.bank_claim(self._live(), self._process(process), self._resource(resource))

    def held(self, process: ProcessLike, resource: ResourceLike) -> int:
        return lib.bank_held(self._live(), self._process(process), self._resource(resource))

    def is_waiting(self, process: ProcessLike) -> bool:
        return lib.bank_is_waiting(self._live(), self._process(process))

    def holdings(self, process: ProcessLike) -> Tuple[Edge, ...]:
        return self._edges(lib.bank_holdings, self._process(process))

    def pending(self, process: ProcessLike) -> Tuple[Edge, ...]:
        return self._edges(lib.bank_pending, self._process(process))

    def _edges(self, question: Any, id: int) -> Tuple[Edge, ...]:
        count = question(self._live(), id, None, 0)
        edges = (_abi.edge * max(count, 1))()
        count = min(count, question(self._handle, id, edges, count))
        return tuple(
            [
                Edge(self._process_at(e.process), self._resource_at(e.resource), e.units, e.waits)
                for e in edges[:count]
            ]
        )

    def replay(self, source: Source) -> Iterator[BankStep]:
        """Feeds a trace with claims, line by line: an iterator of `BankStep`s."""
        return self._replay(Reading(source))

    def _replay(self, reading: Reading) -> Iterator[BankStep]:
        with reading as source, _Answering(self.reasons) as answer:
            replay, step = c.c_void_p(), _abi.bank_step()
            call(lib.bank_replay_open, c.byref(replay), self._live(), source)
            try:
                while (
                    call(
                        lib.bank_replay_next,
                        replay,
                        c.byref(step),
                        c.byref(answer),
                        accept=(_abi.END,),
                    )
                    == _abi.OK
                ):
                    yield self._step(step, answer)
            finally:
                lib.bank_replay_close(replay)

    def _step(self, step: Any, answer: Any) -> BankStep:
        event = step.kind == 1
        return BankStep(
            step.seq,
            step.line,
            step.column,
            ("event", "process", "resource")[step.kind - 1],
            Op(step.op) if event else None,
            text(step.name),
            self._answer(answer),
            text(step.message),
        )


@dataclass(frozen=True)
class Pool:
    """The result of a plan for one resource."""

    resource: Resource
    cost: int
    claims: int
    largest: int
    alone: int
    least: int
    missing: int
    claimants: int


@dataclass(frozen=True)
class Planned:
    """The result of a plan. `safe` means that no deadlock is reachable with the given pools,
    without a bank. Otherwise `witness` is a reachable deadlock."""

    safe: bool
    pools: Tuple[Pool, ...]
    least_units: int
    least_cost: int
    missing_units: int
    missing_cost: int
    witness: Optional[Witness]


class Plan(Owned):
    """Computes how many units processes with these claims need so that no deadlock is possible.

    >>> import gordian
    >>> with gordian.Plan({"buffer": 4}, {"a": {"buffer": 3}, "b": {"buffer": 3}}) as plan:
    ...     answer = plan.solve()
    >>> answer.safe, answer.least_units
    (False, 5)
    """

    _close = "plan_close"

    def __init__(
        self,
        resources: Mapping[str, int] = {},
        processes: Mapping[str, Mapping[Union[str, Resource], int]] = {},
    ) -> None:
        self._open(lib.plan_open, None)
        for name, units in resources.items():
            self.add_resource(name, units)
        for name, claims in processes.items():
            self.add_process(name, claims)

    @classmethod
    def read(cls, source: Source) -> "Plan":
        """A plan from the declarations of a trace."""
        plan = cls.__new__(cls)
        with Reading(source) as place:
            plan._open(lib.plan_read, place, None)
        return plan

    def add_resource(self, name: Optional[str] = None, units: int = 0, *, cost: int = 1) -> Resource:
        id = c.c_uint32()
        call(lib.plan_add_resource, self._live(), data(name), count_of(units, "units"), c.byref(id))
        if cost != 1:
            call(lib.plan_set_cost, self._live(), id.value, count_of(cost, "cost"))
        return Resource(id.value, name or "", units)

    def add_process(self, name: Optional[str] = None, claims: Mapping[Any, int] = {}) -> Process:
        pairs = [(self._resource(each), count) for each, count in claims.items()]
        id = c.c_uint32()
        call(lib.plan_add_process, self._live(), data(name), wants_of(pairs), len(pairs), c.byref(id))
        return Process(id.value, name or "")

    def _resource(self, which: ResourceLike) -> int:
        if not isinstance(which, str):
            return id_of(which, "resource")
        name = data(which)
        id = lib.plan_find_resource(self._live(), name, len(name))
        if id == _abi.NONE:
            raise KeyError(f"unknown resource {which}")
        return id

    def solve(self) -> Planned:
        answer = _abi.plan_answer()
        call(lib.plan_solve, self._live(), c.byref(answer))
        pools = tuple([self._pool(i, answer.pools[i]) for i in range(answer.pool_count)])
        witness = None
        if not answer.safe:
            witness = Witness(answer.witness.cycle, self._edges(answer.witness))
        return Planned(
            answer.safe,
            pools,
            answer.least_units,
            answer.least_cost,
            answer.missing_units,
            answer.missing_cost,
            witness,
        )

    def _pool(self, id: int, pool: Any) -> Pool:
        resource = Resource(id, text(lib.plan_resource_name(self._handle, id)), pool.units)
        return Pool(
            resource,
            pool.cost,
            pool.claims,
            pool.largest,
            pool.alone,
            pool.least,
            pool.missing,
            pool.claimants,
        )

    def _edges(self, witness: Any) -> Tuple[Edge, ...]:
        return tuple(
            [
                Edge(
                    Process(e.process, text(lib.plan_process_name(self._handle, e.process))),
                    Resource(e.resource, text(lib.plan_resource_name(self._handle, e.resource))),
                    e.units,
                    e.waits,
                )
                for e in witness.edges[: witness.count]
            ]
        )
