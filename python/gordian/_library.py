"""Finds and loads libgordian, and converts its status codes into exceptions."""

from __future__ import annotations

import ctypes as c
import io
import os
import threading
from pathlib import Path
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple, Union, overload

from . import _abi
from .errors import (
    Cancelled,
    GordianError,
    InputError,
    IOFailure,
    OutOfMemory,
    UnavailableError,
    Victim,
)

try:  # written if the package is installed next to a library of the same build
    from ._installed import LIBRARY as _INSTALLED  # type: ignore
except ImportError:
    _INSTALLED = None

VERSION = "0.2.0"
SONAME = "libgordian.so.0"

#: A path (str or PathLike), the content (bytes), or a file that is open for reading.
Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Any]


def _candidates() -> List[str]:
    """Paths of the library: only that of the environment variable, if it is set; otherwise those of
    the wheel, of the build and of the system."""
    chosen = os.environ.get("GORDIAN_LIBRARY")
    if chosen:
        return [chosen]
    carried = Path(__file__).resolve().parent / SONAME
    return [str(carried)] * carried.exists() + [_INSTALLED] * bool(_INSTALLED) + [SONAME]


def _load() -> c.CDLL:
    failures = []
    for candidate in _candidates():
        try:
            library = c.CDLL(candidate)
            library.gordian_version.restype = c.c_char_p
            version = library.gordian_version().decode()
        except (OSError, AttributeError) as failure:
            failures.append(str(failure))
            continue
        # Structs may differ between 0.x and 0.y.
        if version.split(".")[:2] != VERSION.split(".")[:2]:
            failures.append(f"{candidate} is version {version}, this package needs {VERSION}")
            continue
        _abi.declare(library)
        return library
    raise UnavailableError(
        "cannot load libgordian: " + "; ".join(failures) + ": set GORDIAN_LIBRARY to its path"
    )


class _Lazy:
    """The functions of the library by name, without their prefix. The library is loaded at the
    first use, so that importing the package never fails."""

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._library: Optional[c.CDLL] = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        with self._loading:
            if self._library is None:
                self._library = _load()
        function = getattr(self._library, "gordian_" + name.rstrip("_"))  # await_, try_
        setattr(self, name, function)
        return function


lib = _Lazy()

_KINDS = {
    _abi.INPUT: InputError,
    _abi.UNAVAILABLE: UnavailableError,
    _abi.MEMORY: OutOfMemory,
    _abi.IO: IOFailure,
    _abi.CANCELLED: Cancelled,
    _abi.VICTIM: Victim,
}


def error_of(status: int, message: str, line: int = 0, column: int = 0) -> GordianError:
    """The exception for a status."""
    kind = _KINDS.get(status, GordianError)
    return kind(message or text(lib.status_text(status)), line, column)


def call(function: Callable[..., int], *arguments: Any, accept: Tuple[int, ...] = ()) -> int:
    """Calls a function that can fail and whose last argument is the error. Returns the status,
    which is 0 or one of `accept`."""
    error = _abi.error()
    status = function(*arguments, c.byref(error))
    if status != _abi.OK and status not in accept:
        raise error_of(status, text(error.message), error.line, error.column)
    return status


def text(data: Optional[bytes]) -> str:
    """A text from the library. Names are bytes there; bytes that are not UTF-8 survive both
    conversions."""
    return "" if data is None else data.decode("utf-8", "surrogateescape")


@overload
def data(string: str) -> bytes: ...


@overload
def data(string: None) -> None: ...


def data(string: Optional[str]) -> Optional[bytes]:
    """A text for the library. A NUL is rejected, because it would end the text."""
    if string is None:
        return None
    if "\0" in string:
        raise InputError(f"{string!r} contains a NUL")
    return string.encode("utf-8", "surrogateescape")


def wants_of(pairs: Sequence[Tuple[int, int]]) -> Any:
    """An array of gordian_want."""
    wants = (_abi.want * max(len(pairs), 1))()
    for want, (resource, units) in zip(wants, pairs):
        want.resource, want.units = resource, count_of(units, "units")
    return wants


def count_of(number: Any, what: str) -> int:
    """Checks that a number fits into 64 bits, because ctypes would truncate it silently."""
    number = number.__index__()
    if not 0 <= number < 1 << 64:
        raise InputError(f"{what}: {number} is not a number from 0 to 2^64 - 1")
    return number


def id_of(number: Any, what: str) -> int:
    number = number.__index__()
    if not 0 <= number < _abi.NONE:
        raise InputError(f"invalid {what} {number}")
    return number


def u32s(numbers: Iterable[int]) -> Any:
    numbers = list(numbers)
    return (c.c_uint32 * max(len(numbers), 1))(*numbers)


def nanoseconds(seconds: Optional[float]) -> int:
    """Nanoseconds; None means no limit."""
    if seconds is None:
        return _abi.FOREVER_NS
    return min(max(int(seconds * 1e9), 0), _abi.FOREVER_NS - 1)


def milliseconds(seconds: Optional[float]) -> int:
    if seconds is None:
        return _abi.FOREVER_MS
    return min(max(int(seconds * 1000), 0), _abi.FOREVER_MS - 1)


class Reading:
    """A source for the library, and the objects that must stay alive while it is read. A context
    manager."""

    def __init__(self, source: Source) -> None:
        self._file: Any = None
        self.name = "input"
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._take_bytes(bytes(source))
        elif isinstance(source, (str, os.PathLike)):
            self.name = os.fspath(source)
            self._file = open(source, "rb", buffering=0)
            self._take_descriptor(self._file.fileno())
        elif hasattr(source, "read"):
            self.name = str(getattr(source, "name", "input"))
            self._take_file(source)
        else:
            raise TypeError(f"expected a path, bytes or a file, not {type(source).__name__}")

    def _take_bytes(self, content: bytes) -> None:
        self._content = content
        self._bytes = _abi.bytes_left()
        self._bytes.next = c.cast(c.c_char_p(content), c.c_void_p)
        self._bytes.left = len(content)
        self.source = lib.source_bytes(c.byref(self._bytes))

    def _take_descriptor(self, descriptor: int) -> None:
        self._fd = c.c_int(descriptor)
        self.source = lib.source_fd(c.byref(self._fd))

    def _take_file(self, file: Any) -> None:
        # An unbuffered file is read as it arrives. A buffered one may already hold data in its buffer.
        if isinstance(file, io.RawIOBase) and hasattr(file, "fileno"):
            self._take_descriptor(file.fileno())
            return
        content = file.read()
        self._take_bytes(data_of(content) if isinstance(content, str) else bytes(content))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Any:
        return c.byref(self.source)

    def __exit__(self, *_: Any) -> None:
        self.close()


def data_of(content: str) -> bytes:
    return content.encode("utf-8", "surrogateescape")


class Owned:
    """An object of the library that is closed exactly once: by close(), at the end of a `with`, or
    when it is garbage collected."""

    _handle: Any = None
    _close: str = ""

    def _open(self, opener: Callable[..., int], *arguments: Any) -> None:
        handle = c.c_void_p()
        call(opener, c.byref(handle), *arguments)
        self._handle = handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def _live(self) -> Any:
        handle = self._handle
        if handle is None:
            raise InputError(f"this {type(self).__name__} is closed")
        return handle

    def close(self) -> None:
        """Frees the object. Closing it twice is allowed."""
        handle, self._handle = self._handle, None
        if handle is not None:
            getattr(lib, self._close)(handle)

    def __enter__(self) -> Any:
        self._live()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # at interpreter exit the library may already be unloaded
            pass

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled")


def version() -> str:
    """The version of the loaded library."""
    return text(lib.version())
