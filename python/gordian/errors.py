"""What can go wrong, as exceptions that carry the library's own words.

Every one of them can be pickled: it crosses processes (multiprocessing, concurrent.futures) whole.
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
    """The base of all of them. `message` is the library's; `line` and `column` (from 1, in bytes)
    say where in a text it found the fault, and are 0 where there is no such place."""

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
    """An exception as it was. All of them can be made of nothing."""
    error = kind()
    error.__dict__.update(members)
    error.args = (members.get("message", ""),)
    return error


class InputError(GordianError, ValueError):
    """Bad use, or a text that is not what it should be."""


class Refused(InputError):
    """An event that makes no sense; nothing has changed. `reason` is a `Refusal` of a system, or a
    `Reason` of a bank."""

    def __init__(self, message: str = "", reason: Any = None) -> None:
        super().__init__(message)
        self.reason = reason


class UnavailableError(GordianError, RuntimeError):
    """The engine asked for is not here, or cannot do this problem; or the library itself is not."""


class OutOfMemory(GordianError, MemoryError):
    """Out of memory; nothing has changed."""


class IOFailure(GordianError, OSError):
    """Reading, writing or connecting failed."""

    def __init__(self, message: str = "", line: int = 0, column: int = 0) -> None:
        GordianError.__init__(self, message, line, column)


class Cancelled(GordianError):
    """What was waited for has been given up."""


class Victim(GordianError):
    """The process was ended while it waited: it holds nothing any more."""


@dataclass(frozen=True)
class Place:
    """A line of a program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        inside = f", in {self.function}" if self.function else ""
        return f"{self.file}:{self.line}{inside}"


@dataclass(frozen=True)
class Wait:
    """One side of a cycle: `who` waits at `at` for `wants`, which `holder` took at `taken`."""

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
    """Waiting would never end. `cycle` lists who waits for what, held by whom: the first is the one
    that got this exception, and whoever holds the last one's lock is in the list, too."""

    def __init__(self, cycle: Tuple[Wait, ...] = ()) -> None:
        self.cycle = tuple(cycle)
        sides = "".join(f"\n    {wait}" for wait in self.cycle)
        names = list(dict.fromkeys(wait.who for wait in self.cycle))
        super().__init__(f"deadlock of {', '.join(names)}:{sides}")
