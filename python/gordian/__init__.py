"""Gordian cuts deadlocks: detection, avoidance, composition and makespans, from Python.

    import gordian

    table = gordian.System()           # who holds and waits for what
    bank = gordian.Bank()              # lends only what is safe
    lock = gordian.Lock()              # raises Deadlock instead of hanging
    client = gordian.Client()          # of `gordian serve`; gordian.aio.Client for asyncio

docs/guide/python.md tells it all, with examples. The package is plain Python over libgordian.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List

from . import _abi
from ._domain import Domain
from ._library import VERSION as __version__
from ._library import lib as _lib
from ._library import text as _text
from ._library import version
from .bank import Answer, Bank, BankStep, Plan, Planned, Pool, Reason, Verdict
from .batch import NOBODY, Batch, event_dtype, events
from .circuit import CheckResult, Circuit, Graph, Product, ProductDeadlock
from .client import Client, Notice, Reply, usual_uri
from .errors import (
    Cancelled,
    Deadlock,
    GordianError,
    InputError,
    IOFailure,
    OutOfMemory,
    Place,
    Refused,
    UnavailableError,
    Victim,
    Wait,
)
from .locks import BoundedSemaphore, Lock, RLock, Semaphore, patched
from .makespan import Bound, Chip, Makespan, Ptx, PtxPath, Schedule, Unit, chip, chips
from .snapshot import Line, Report, Snapshot, check, read_trace
from .system import (
    Edge,
    Model,
    Op,
    Outcome,
    Policy,
    Process,
    Refusal,
    Resource,
    Result,
    Step,
    System,
    Victimised,
    Witness,
)

__all__ = [
    "Answer", "Bank", "BankStep", "Batch", "Bound", "BoundedSemaphore", "Cancelled", "CheckResult",
    "Chip", "Circuit", "Client", "Deadlock", "Domain", "Edge", "Engine", "GordianError", "Graph",
    "IOFailure", "InputError", "Line", "Lock", "Makespan", "Model", "NOBODY", "Notice", "Op",
    "Outcome", "OutOfMemory", "Place", "Plan", "Planned", "Policy", "Pool", "Process", "Product",
    "ProductDeadlock", "Ptx", "PtxPath", "RLock", "Reason", "Refusal", "Refused", "Reply", "Report",
    "Resource", "Result", "Schedule", "Semaphore", "Snapshot", "Step", "System", "UnavailableError",
    "Unit", "Verdict", "Victim", "Victimised", "Wait", "Witness", "aio", "check", "chip", "chips",
    "engines", "event_dtype", "events", "patched", "read_trace", "usual_uri", "version",
    "__version__",
]  # fmt: skip


@dataclass(frozen=True)
class Engine:
    """A way to solve a family of problems: is it usable here, and if not, why?"""

    family: str
    name: str
    summary: str
    available: bool
    reason: str


def engines() -> List[Engine]:
    """All that the library has."""
    import ctypes

    found: List[Engine] = []
    info = _abi.engine_info()
    while _lib.engine(len(found), ctypes.byref(info)) == _abi.OK:
        family, name, summary = _text(info.family), _text(info.name), _text(info.summary)
        found.append(Engine(family, name, summary, info.available, _text(info.reason)))
    return found


def __getattr__(name: str) -> Any:
    """`gordian.aio` is there without asking, and asyncio is loaded only by whoever uses it."""
    if name == "aio":
        import importlib

        return importlib.import_module(".aio", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
