"""Many events in one call. Events and results are NumPy arrays, or sequences without NumPy.

An array of `event_dtype` has the memory layout of the library, so it is not copied.
"""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Sequence, Tuple

from . import _abi
from ._library import count_of, error_of, lib, text
from .errors import InputError

try:
    import numpy as _numpy
except ImportError:
    _numpy = None  # type: ignore[assignment]

__all__ = ["Batch", "event_dtype", "events"]

#: No process is named: waiters are served in order of arrival.
NOBODY = _abi.NONE

if _numpy is not None:
    #: An event: `op`, `process`, `resource`, `to`, `units`. The remaining bytes of an item are zero.
    event_dtype: Any = _numpy.dtype(
        {
            "names": ["op", "process", "resource", "to", "units"],
            "formats": ["u4", "u4", "u4", "u4", "u8"],
            "offsets": [0, 4, 8, 12, 16],
            "itemsize": c.sizeof(_abi.event),
        }
    )
    _result_dtype: Any = _numpy.dtype(
        {
            "names": ["outcome", "refusal", "served"],
            "formats": ["u1", "u1", "u4"],
            "offsets": [0, 1, 4],
            "itemsize": c.sizeof(_abi.result),
        }
    )
else:
    event_dtype = None


@dataclass(frozen=True)
class Batch:
    """The results of many events. `outcome`, `refusal` and `served_count` have one item per event.
    `served` lists the processes (numbers) whose waits were served, in the order of the events that
    served them. All are NumPy arrays, or lists without NumPy."""

    outcome: Any
    refusal: Any
    served_count: Any
    served: Any

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        return f"<gordian.Batch of {len(self)} events, {len(self.served)} served>"

    def count(self, outcome: int) -> int:
        """The number of events with this outcome."""
        if _numpy is not None:
            return int(_numpy.count_nonzero(self.outcome == outcome))
        return self.outcome.count(outcome)


def events(
    op: Any, process: Any, resource: Any = 0, units: Any = 1, to: Any = NOBODY
) -> Any:
    """An array of events from columns. A column is an array, or a number that applies to all
    events."""
    if _numpy is None:
        return _columns(op, process, resource, units, to)
    columns = _Columns(op, process, resource, units, to)
    made = _numpy.empty((columns.count, _WORDS), _numpy.uint64)
    for start in range(0, columns.count, _CHUNK):
        columns.write(made[start : start + _CHUNK], start)
    return made.view(event_dtype).reshape(columns.shape)


# Events that are filled at a time: few enough that all columns fit into the processor cache.
_CHUNK = 4096
_WORDS = c.sizeof(_abi.event) // 8


class _Columns:
    """Columns of events, which are assembled in chunks."""

    def __init__(
        self, op: Any, process: Any, resource: Any = 0, units: Any = 1, to: Any = NOBODY
    ) -> None:
        named = {"op": op, "process": process, "resource": resource, "units": units, "to": to}
        columns = {name: _numpy.asarray(each) for name, each in named.items()}
        for name, column in columns.items():
            _check_range(name, column, 64 if name == "units" else 32)
        self.shape = _numpy.broadcast_shapes(*(each.shape for each in columns.values())) or (1,)
        self.count = int(_numpy.prod(self.shape))
        same = _numpy.zeros(1, event_dtype)
        self._differ = []
        for name, column in columns.items():
            if column.size == 1:
                same[name] = column.reshape(())
            else:
                spread = _numpy.broadcast_to(column, self.shape).reshape(-1)
                self._differ.append((name, spread))
        self._same = same.view(_numpy.uint64)

    def write(self, words: Any, start: int) -> None:
        """Writes the events from `start` on into `words`, beginning with the constant fields."""
        words[:] = self._same
        rows = words.view(event_dtype).reshape(-1)
        for name, column in self._differ:
            rows[name] = column[start : start + len(rows)]


def _run_columns(handle: Any, columns: _Columns) -> Batch:
    """Feeds in chunks through a buffer that fits into the cache; the whole array is never built."""
    buffer = _numpy.empty((min(columns.count, _CHUNK), _WORDS), _numpy.uint64)
    results = _numpy.empty(columns.count, _result_dtype)
    served: List[int] = []
    for start in range(0, columns.count, _CHUNK):
        words = buffer[: columns.count - start]
        columns.write(words, start)
        place = results.ctypes.data + start * results.itemsize
        served += _feed(handle, words.ctypes.data, len(words), place, start)
    return _batch(results, served)


def _batch(results: Any, served: List[int]) -> Batch:
    return Batch(
        results["outcome"],
        results["refusal"],
        results["served"],
        _numpy.array(served, dtype=_numpy.uint32),
    )


def _check_range(name: str, column: Any, bits: int) -> None:
    """Checks the range, because NumPy would truncate numbers silently."""
    if column.dtype.kind == "u" and column.dtype.itemsize * 8 <= bits or not column.size:
        return
    if column.dtype.kind not in "iuO":
        raise InputError(f"{name}: expected integers, not {column.dtype}")
    if column.min() < 0 or int(column.max()) >= 1 << bits:
        raise InputError(f"{name}: a number is negative or needs more than {bits} bits")


def _columns(*columns: Any) -> List[Tuple[int, ...]]:
    """Without NumPy: tuples, in the order of the fields of an event."""
    length = max([len(each) for each in columns if hasattr(each, "__len__")], default=1)
    spread = [each if hasattr(each, "__len__") else [each] * length for each in columns]
    if any(len(each) != length for each in spread):
        raise InputError("the columns of a batch have different lengths")
    return list(zip(*spread))


def run_batch(handle: Any, first: Any, *columns: Any, **named: Any) -> Batch:
    """Feeds events: an array of `event_dtype`, columns, or tuples (op, process, resource, units,
    to), of which the last three fields are optional."""
    if (columns or named) and _numpy is not None:
        return _run_columns(handle, _Columns(first, *columns, **named))
    if columns or named:
        first = events(first, *columns, **named)
    if _numpy is not None and isinstance(first, _numpy.ndarray):
        return _run_array(handle, first)
    return _run_tuples(handle, first)


def _run_array(handle: Any, array: Any) -> Batch:
    if array.dtype != event_dtype:
        raise InputError("an array of events must have the dtype gordian.event_dtype")
    array = _numpy.ascontiguousarray(array).reshape(-1)
    # `wants` is a pointer for C callers: the library would follow a stray address.
    if array.size and array.view(_numpy.uint64).reshape(-1, 5)[:, 3:].any():
        raise InputError("reserved bytes of an event are not zero: use numpy.zeros or gordian.events")
    results = _numpy.empty(array.size, _result_dtype)
    return _batch(results, _feed(handle, array.ctypes.data, array.size, results.ctypes.data))


def _run_tuples(handle: Any, tuples: Iterable[Sequence[Any]]) -> Batch:
    rows = list(tuples)
    array, results = (_abi.event * len(rows))(), (_abi.result * len(rows))()
    for event, row in zip(array, rows):
        op, process, resource, units, to = _fields(*row)
        event.op, event.process, event.resource, event.to = op, process, resource, to
        event.units = count_of(units, "units")
    served = _feed(handle, c.addressof(array), len(rows), c.addressof(results))
    columns = [
        [result.outcome for result in results],
        [result.refusal for result in results],
        [result.served_count for result in results],
    ]
    if _numpy is None:
        return Batch(columns[0], columns[1], columns[2], served[:])
    kinds = (_numpy.uint8, _numpy.uint8, _numpy.uint32)
    arrays = [_numpy.array(column, dtype=kind) for column, kind in zip(columns, kinds)]
    return Batch(arrays[0], arrays[1], arrays[2], _numpy.array(served, dtype=_numpy.uint32))


def _fields(
    op: Any, process: Any, resource: Any = 0, units: Any = 1, to: Optional[Any] = None
) -> Tuple[int, ...]:
    return op, int(process), int(resource), units, NOBODY if to is None else int(to)


def _feed(handle: Any, array: int, count: int, results: int, before: int = 0) -> List[int]:
    """Feeds the events and returns the processes that they served."""
    done, error = c.c_size_t(), _abi.error()
    status = lib.feed_batch(handle, array, count, results, c.byref(done), c.byref(error))
    if status != _abi.OK:
        failure = error_of(status, text(error.message))
        failure.done = before + done.value  # type: ignore[attr-defined]
        raise failure
    length = c.c_size_t()
    served = lib.served(handle, c.byref(length))
    return served[: length.value] if length.value else []


def bits_of(words: Any, rows: int, stride: int, bits: int) -> Any:
    """Rows of packed bits, as a table of bools."""
    if _numpy is None:
        return [
            [bool(words[row * stride + bit // 64] >> bit % 64 & 1) for bit in range(bits)]
            for row in range(rows)
        ]
    packed = _numpy.frombuffer(words, dtype="<u8", count=rows * stride).reshape(rows, stride)
    table = _numpy.unpackbits(packed.view(_numpy.uint8), axis=1, bitorder="little")
    return table[:, :bits].astype(bool)
