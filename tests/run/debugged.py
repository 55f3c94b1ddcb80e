#!/usr/bin/env python3
"""A hang that could not be looked at closely at first is found by `gordian run` all the same.

    debugged.py GORDIAN PROGRAM

A debugger has the threads of the program (tests/inspect/programs/hang.c) from their beginning, so that nobody
else may stop them for their stacks, which alone tell who holds what. A machine that is too busy does the same.
One waits for a rwlock inside of pthread_once: on every processor its stack takes a stop (docs/guide/inspect.md).
It has the command, too, and so sees it try in vain. When the debugger lets go, nothing moves."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inspect"))
import target  # noqa: E402

CONT, DETACH, SEIZE = 7, 17, 0x4206
FOLLOW_THREADS, FOLLOW_STOPS, TELL_STOPS = 1 << 3, 1 << 2, 1 << 5  # CLONE, VFORK, VFORKDONE
STOP_DONE = 5  # a process that should have stopped a thread has ended


def process_of(tid):
    found = re.search(r"^Tgid:\s+(\d+)", target.read_text(f"/proc/{tid}/status"), re.M)
    return int(found[1]) if found else 0


def debug(program, command, tell):
    """Has both, and follows the threads of the program; tells by a byte, first whether it has them, then each
    time the command has tried to stop a thread. Until it is killed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    done = (libc.ptrace(SEIZE, program, 0, FOLLOW_THREADS) == 0
            and libc.ptrace(SEIZE, command, 0, FOLLOW_STOPS | TELL_STOPS) == 0)
    os.write(tell, b"1" if done else b"0")
    while done:
        tid, status = os.waitpid(-1, 0x40000000)  # __WALL
        if not os.WIFSTOPPED(status):
            done = tid != command
            continue
        event = status >> 16
        if event == STOP_DONE:
            os.write(tell, b".")
        # Who is about to stop a thread is the command's child, and not to be debugged.
        known = tid == command or process_of(tid) == program
        libc.ptrace(CONT if known else DETACH, tid, 0, 0 if event else os.WSTOPSIG(status))
    os._exit(0)


class Debugger:
    """None of the other processes of this test is traced, or stopped, once it is released."""

    def __init__(self, program, command):
        self.told, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            debug(program, command, tell)
        os.close(tell)
        self.allowed = os.read(self.told, 1) == b"1"

    def await_stops(self):
        """Until the command has tried in vain to stop a thread, and all of that from now on: of the first it
        tells, the beginning may have been earlier."""
        os.set_blocking(self.told, False)
        try:
            while os.read(self.told, 4096):
                pass
        except BlockingIOError:
            pass
        os.set_blocking(self.told, True)
        for _ in range(2):
            if not os.read(self.told, 1):
                raise RuntimeError("it was found though nobody could look at it")

    def release(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def hide_and_show(run, said):
    """False: nobody may be traced here."""
    target.wait_for("the shell", lambda: "shell" in target.read_text(said))
    program = int(re.search(r"^shell (\d+)", target.read_text(said), re.M)[1])
    debugger = Debugger(program, run.pid)
    try:
        if not debugger.allowed:
            return False
        run.stdin.write("go on\n")
        run.stdin.close()
        run.stdin = None  # communicate() would close it again
        ready = target.wait_for("the program", lambda: re.search(r"^ready (\d+)", target.read_text(said), re.M))
        target.wait_for("its threads to sleep", lambda: [
            state for state, _ in target.threads_of(program).values()] == ["S"] * int(ready[1]))
        debugger.await_stops()
    finally:
        debugger.release()
    return True


def main():
    gordian, program = (os.path.abspath(path) for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        said = os.path.join(folder, "said")
        with open(said, "w", encoding="utf-8") as out:
            run = subprocess.Popen([gordian, "run", "--on-likely", "abort", "--", "/bin/sh", "-c",
                                    'echo "shell $$"; read line; exec "$0" "$@"', program, "abba-write-once", "idle"],
                                   stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            if not hide_and_show(run, said):
                print("skipped: nobody may be traced here")
                sys.exit(77)
            _, text = run.communicate(timeout=target.PATIENCE)
        finally:
            try:
                os.killpg(run.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if run.returncode != 86 or "deadlock 1, likely" not in text:
            print(f"exit status {run.returncode}:\n{text}", file=sys.stderr)
            sys.exit(1)


main()
