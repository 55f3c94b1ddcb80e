"""The exceptions of this package. Their messages are those of the library.

All of them can be pickled, so they can cross process boundaries (multiprocessing,
concurrent.futures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

__all__ = [
    "GordianError",
    "InputError",
    "Refused",
    "UnavailableError",
    "OutOfMemory",
    "IOFailure",
    "Cancelled",
    "Victim",
    "Place",
    "Wait",
    "Deadlock",
]


class GordianError(Exception):
    """Base class of all exceptions of this package. `message` is the message of the library. `line`
    and `column` (from 1, in bytes) are the position of a fault in a text, or 0 if there is none."""

    def __init__(self, message: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column

    def __str__(self) -> str:
        if self.line:
            return f"line {self.line}, column {self.column}: {self.message}"
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (type(self), dict(self.__dict__))


def _rebuild(kind: type, members: dict) -> BaseException:
    """Rebuilds a pickled exception. Every class can be constructed without arguments."""
    error = kind()
    error.__dict__.update(members)
    error.args = (members.get("message", ""),)
    return error


class InputError(GordianError, ValueError):
    """Bad usage, or a text with a syntax error."""


class Refused(InputError):
    """An invalid event; nothing has changed. `reason` is a `Refusal` of a system or a `Reason` of a
    bank."""

    def __init__(self, message: str = "", reason: Any = None) -> None:
        super().__init__(message)
        self.reason = reason


class UnavailableError(GordianError, RuntimeError):
    """The requested engine is not available or cannot solve this problem, or the library cannot be
    loaded."""


class OutOfMemory(GordianError, MemoryError):
    """Out of memory; nothing has changed."""


class IOFailure(GordianError, OSError):
    """Reading, writing or connecting failed."""

    def __init__(self, message: str = "", line: int = 0, column: int = 0) -> None:
        GordianError.__init__(self, message, line, column)


class Cancelled(GordianError):
    """The request that was waited for has been cancelled."""


class Victim(GordianError):
    """The process was ended while it waited, and holds nothing any more."""


@dataclass(frozen=True)
class Place:
    """A source line of a program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        inside = f", in {self.function}" if self.function else ""
        return f"{self.file}:{self.line}{inside}"


@dataclass(frozen=True)
class Wait:
    """One wait of a cycle: `who` waits at `at` for `wants`, which `holder` took at `taken`."""

    who: str
    wants: str
    holder: str
    at: Optional[Place] = None
    taken: Optional[Place] = None

    def __str__(self) -> str:
        text = f"{self.who} waits for {self.wants}"
        if self.at:
            text += f" at {self.at}"
        text += f"\n        held by {self.holder}"
        if self.taken:
            text += f" since {self.taken}"
        return text


class Deadlock(GordianError, RuntimeError):
    """The wait would never end. `cycle` lists all waits of the deadlock. The first is the wait of
    the thread that gets this exception. The holder of the last lock is in the list as well."""

    def __init__(self, cycle: Tuple[Wait, ...] = ()) -> None:
        self.cycle = tuple(cycle)
        sides = "".join(f"\n    {wait}" for wait in self.cycle)
        names = list(dict.fromkeys(wait.who for wait in self.cycle))
        super().__init__(f"deadlock of {', '.join(names)}:{sides}")
