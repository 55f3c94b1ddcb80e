"""A pytest plugin that ends tests that hang, and reports what their threads wait for.

    pytest --gordian-timeout 30          every test
    @pytest.mark.gordian_timeout(5)      this one
    gordian_timeout = 30                 in pytest.ini
    pytest --gordian-locks               the locks of threading raise Deadlock instead of hanging
    @pytest.mark.gordian_deadlocks       this test raises Deadlock on purpose

With --gordian-locks a test fails if a Deadlock was raised in any thread while it ran, even if the
code under test caught it. Otherwise a thread that ends with the exception, or a future whose result
is never requested, would make the test pass. A Deadlock that `pytest.raises` catches is expected.

The report contains the waits for locks of this package, the Python stacks of all threads, and the
output of `gordian inspect` for the process, if that command is installed ($GORDIAN is its path).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Any, Generator, Iterator, List, Optional, Tuple

import pytest

# A main thread that does not return to Python within this time is considered lost.
_GRACE_S = 5.0
_INSPECT_S = 20.0
_PR_SET_PTRACER = 0x59616D61


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("gordian", "tests that hang")
    group.addoption(
        "--gordian-timeout",
        type=float,
        default=None,
        metavar="SECONDS",
        help="end a test that takes longer, and report its waits (0: never)",
    )
    group.addoption(
        "--gordian-locks",
        action="store_true",
        help="make the locks of threading raise Deadlock instead of hanging",
    )
    parser.addini("gordian_timeout", "seconds after which a test is ended (0: never)", default="0")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "gordian_timeout(seconds): end the test when it takes longer")
    config.addinivalue_line("markers", "gordian_deadlocks: the test raises Deadlock on purpose")
    config.pluginmanager.register(_Plugin(config), "gordian-hangs")


class _Plugin:
    def __init__(self, config: Any) -> None:
        chosen = config.getoption("--gordian-timeout")
        self.seconds = float(config.getini("gordian_timeout") if chosen is None else chosen)
        self.hung = False
        self.status = 0
        self.watch: Optional[_Watch] = None
        self.stderr = os.dup(2)  # before pytest captures it
        self.patch: Any = None
        self.deadlocks: Optional[_Deadlocks] = None
        if config.getoption("--gordian-locks"):
            from .locks import patched

            self.patch = patched()
            self.patch.__enter__()
            self.deadlocks = _Deadlocks()

    def _limit(self, item: Any) -> float:
        mark = item.get_closest_marker("gordian_timeout")
        if mark is None:
            return self.seconds
        return float(mark.args[0] if mark.args else mark.kwargs["seconds"])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        limit = self._limit(item)
        main = threading.current_thread() is threading.main_thread()
        self.watch = _Watch(self, item.nodeid, limit) if limit > 0 and main else None
        yield
        if self.watch is not None:
            self.watch.end()
            self.watch = None

    # The test is ended only inside these hooks: elsewhere an exception would end pytest.

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with _inside(self.watch):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        with _inside(self.watch):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        with _inside(self.watch):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any) -> Generator[None, Any, None]:
        outcome = yield
        if self.deadlocks is None:
            return
        unexpected = self.deadlocks.take()
        report = outcome.get_result()
        if unexpected and report.passed and item.get_closest_marker("gordian_deadlocks") is None:
            report.outcome = "failed"
            report.longrepr = "\n\n".join(unexpected)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: Any) -> None:
        self.status = int(exitstatus)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        if self.patch is not None:
            self.patch.__exit__(None, None, None)
        if self.deadlocks is not None:
            self.deadlocks.close()
        if self.hung and _left_over():
            # The interpreter would wait for the hanging threads.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.status)


class _Deadlocks:
    """Collects every Deadlock that locks raise, until the report of a test takes them."""

    def __init__(self) -> None:
        from ._domain import deadlock_listeners

        self._raised: List[Tuple[BaseException, str]] = []  # with thread and stack
        self._listeners = deadlock_listeners
        self._raises = pytest.raises
        self._listeners.append(self._note)
        setattr(pytest, "raises", self._raises_noted)

    def close(self) -> None:
        setattr(pytest, "raises", self._raises)
        self._listeners.remove(self._note)

    def take(self) -> List[str]:
        """The reports of unexpected deadlocks since the last call."""
        raised, self._raised = self._raised, []
        return [report for error, report in raised if not getattr(error, "_expected", False)]

    def _note(self, error: BaseException) -> None:
        stack = _lines(sys._getframe(1))
        name = threading.current_thread().name
        self._raised.append((error, f"Deadlock was raised in thread {name}: {error}\n{stack}"))

    def _raises_noted(self, *arguments: Any, **options: Any) -> Any:
        made = self._raises(*arguments, **options)
        if hasattr(made, "__exit__"):
            return _Raises(made)
        setattr(made.value, "_expected", True)  # raises(Deadlock, function)
        return made


class _Raises:
    """Wraps the result of pytest.raises, and marks the exceptions that it catches."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> Any:
        caught = self._inner.__exit__(kind, value, trace)
        if caught and value is not None:
            setattr(value, "_expected", True)
        return caught


def _left_over() -> List[threading.Thread]:
    me = threading.current_thread()
    return [each for each in threading.enumerate() if each is not me and not each.daemon]


class _inside:
    """The section in which a test may be ended."""

    def __init__(self, watch: Optional["_Watch"]) -> None:
        self._watch = watch

    def __enter__(self) -> None:
        if self._watch is not None:
            self._watch.armed = True

    def __exit__(self, *_: Any) -> None:
        if self._watch is not None:
            self._watch.armed = False


class _Watch:
    """Monitors one test from a separate thread."""

    def __init__(self, plugin: _Plugin, name: str, seconds: float) -> None:
        self.plugin, self.name, self.seconds = plugin, name, seconds
        self.armed = False
        self.report: Optional[str] = None
        self.over = threading.Event()
        self.before = signal.signal(signal.SIGALRM, self._end_test)
        self.main = threading.get_ident()
        self.thread = threading.Thread(target=self._run, name="gordian-timeout", daemon=True)
        self.thread.start()

    def end(self) -> None:
        """The test is over."""
        self.armed = False
        self.over.set()
        self.thread.join()
        signal.signal(signal.SIGALRM, self.before)

    def _run(self) -> None:
        if self.over.wait(self.seconds):
            return
        report = describe(f"{self.name} took longer than {self.seconds:g} s", self.thread)
        self.plugin.hung = True
        self.report = report
        until = time.monotonic() + _GRACE_S
        # Repeat, in case the signal arrived between two phases.
        while not self.over.is_set() and self.report is not None and time.monotonic() < until:
            signal.pthread_kill(self.main, signal.SIGALRM)
            self.over.wait(0.2)
        if not self.over.is_set() and self.report is not None:
            os.write(self.plugin.stderr, f"\n{report}\n".encode("utf-8", "replace"))
            os._exit(1)

    def _end_test(self, *_: Any) -> None:
        """Runs in the main thread, wherever it waits."""
        if self.armed and self.report is not None:
            report, self.report = self.report, None
            pytest.fail(report, pytrace=False)


def describe(title: str, but: Optional[threading.Thread] = None) -> str:
    """The waits, the stacks of all threads, and the output of `gordian inspect`."""
    from ._domain import all_waits

    parts = [title]
    waits = all_waits()
    if waits:
        parts.append("waits for locks:\n" + "\n".join(f"    {wait}" for wait in waits))
    names = {each.ident: each for each in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        thread = names.get(ident)
        if but is not None and thread is but:
            continue
        name = thread.name if thread is not None else str(ident)
        parts.append(f"thread {name}:\n" + _lines(frame))
    output = inspected()
    if output:
        parts.append("gordian inspect:\n" + output)
    return "\n\n".join(parts)


# Frames of the test runner and of thread start-up are left out.
_RUNNER_FRAMES = ("/_pytest/", "/pluggy/", "/pytest/__main__.py", "<frozen runpy>")


def _lines(frame: Any) -> str:
    """The Python stack of a thread, without pytest's frames."""
    stack = traceback.extract_stack(frame)
    kept = [
        line
        for line in stack
        if not any(each in line.filename for each in _RUNNER_FRAMES)
        and not (line.filename == threading.__file__ and line.name.startswith("_bootstrap"))
    ]
    return "".join(traceback.format_list(kept or stack)).rstrip()


def inspected() -> str:
    """The output of `gordian inspect` for this process; "" if the command is missing or not
    permitted."""
    command = os.environ.get("GORDIAN") or shutil.which("gordian")
    if not command:
        return ""
    _permit_ptrace(True)
    try:
        done = subprocess.run(
            [command, "inspect", "--color", "never", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_INSPECT_S,
        )
        return done.stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    finally:
        _permit_ptrace(False)


def _permit_ptrace(allowed: bool) -> None:
    """Lets the child inspect this process, where the system permits only parents to inspect
    children."""
    import ctypes

    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return
    prctl(_PR_SET_PTRACER, ctypes.c_ulong(-1 if allowed else 0), 0, 0, 0)
