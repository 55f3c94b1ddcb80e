#!/usr/bin/env python3
"""A process that maps new memory, starts threads and hangs after `gordian inspect` has read its maps and before it
lists its threads: the core that inspect writes of it has that memory, too.

    late.py GORDIAN LIBRARY

LIBRARY (late_lists.c) makes the inspector wait there."""

import os
import subprocess
import sys
import tempfile

import target

HERE = os.path.dirname(os.path.abspath(__file__))
# Everything it needs is loaded before, so that what is new is memory only.
PROGRAM = f"""
import ctypes, queue, runpy, signal, sys, threading
input()
sys.argv = ["hung_python.py", "rlock"]
runpy.run_path({os.path.join(HERE, "hung_python.py")!r})
"""


def is_asleep(process, count):
    states = [state for state, _ in target.threads_of(process.pid).values()]
    return states == ["S"] * count


def let_hang(process):
    """Between two looks of the kernel at it nobody has been switched: so it stays."""
    process.stdin.write(b"go on\n")
    process.stdin.close()
    before = None

    def stays():
        nonlocal before
        last, before = before, target.threads_of(process.pid)
        return is_asleep(process, 3) and last == before

    target.wait_for("the hang", stays)


def inspect(gordian, library, process, folder):
    asks, answers = (os.path.join(folder, name) for name in ("asks", "answers"))
    for path in (asks, answers):
        os.mkfifo(path)
    environment = dict(os.environ, LD_PRELOAD=library, LATE_ASKS=asks, LATE_ANSWERS=answers)
    inspector = subprocess.Popen([gordian, "inspect", "--json", "--stop-ms", "10000", "--core", "core", str(process.pid)],
                                 cwd=folder, env=environment, stdout=subprocess.PIPE)
    with open(asks, "rb") as pipe:
        pipe.read(1)
        let_hang(process)
        with open(answers, "wb") as answer:
            answer.write(b".")
    return inspector.communicate(timeout=target.PATIENCE)[0].decode(), inspector.returncode


def main():
    gordian, library = (os.path.abspath(path) for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM], stdin=subprocess.PIPE)
        try:
            target.wait_for("the program to read", lambda: is_asleep(process, 1))
            alive, status = inspect(gordian, library, process, folder)
            core = subprocess.run([gordian, "inspect", "--json", "core"], cwd=folder, capture_output=True, text=True,
                                  check=False, timeout=target.PATIENCE)
        finally:
            process.kill()
            process.wait()
    for how, text, code in (("alive", alive, status), ("its core", core.stdout, core.returncode)):
        reports = target.parse_reports(text)
        if code != 1 or reports[0].get("verdict") != "proved":
            print(f"{how}: exit status {code}:\n{text}", file=sys.stderr)
            sys.exit(1)


main()
