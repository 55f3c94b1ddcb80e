#!/usr/bin/env python3
"""Somebody who waits for a lock on a file is found at every look, also while hundreds of other locks come and go: the
kernel lists them in pieces, and one may slip from a piece to the next between two of them.

    locks.py GORDIAN HUNG_PROCESSES
"""

import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile

import target

MAKERS = 2
FILES = 200  # of each: more than a piece has lines
LOOKS = 40


def lock_and_unlock(folder, number):
    files = [os.open(os.path.join(folder, f"{number}-{i}"), os.O_RDWR | os.O_CREAT, 0o600) for i in range(FILES)]
    while True:
        for what in (fcntl.LOCK_EX, fcntl.LOCK_UN):
            for file in random.sample(files, FILES):
                fcntl.flock(file, what)


def make_noise(folder, number):
    """A process that locks files of its own and lets them go, until it is killed."""
    pid = os.fork()
    if pid == 0:
        try:
            lock_and_unlock(folder, number)
        finally:
            os._exit(1)
    return pid


def names_holder(gordian, pid):
    done = subprocess.run([gordian, "inspect", "--stop-ms", "10000", str(pid)], capture_output=True, text=True,
                          check=False, timeout=target.PATIENCE)
    return "holds the lock on the file and is not inspected" in done.stdout + done.stderr


def main():
    gordian, program = (os.path.abspath(path) for path in sys.argv[1:])
    makers, ended = [], 0
    with tempfile.TemporaryDirectory() as folder:
        hung = subprocess.Popen([program, "posix-pipe"], cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            target.wait_for("the hang", lambda: names_holder(gordian, hung.pid))
            makers = [make_noise(folder, number) for number in range(MAKERS)]
            missed = sum(not names_holder(gordian, hung.pid) for _ in range(LOOKS))
        finally:
            for pid in makers:
                os.kill(pid, signal.SIGKILL)
                ended += os.WIFEXITED(os.waitpid(pid, 0)[1])
            os.killpg(hung.pid, signal.SIGKILL)
            hung.wait()
    if ended:
        sys.exit(f"failed: {ended} of {MAKERS} who should lock files have ended")
    if missed:
        sys.exit(f"failed: who waits for the lock was missed at {missed} of {LOOKS} looks")
    print(f"found at {LOOKS} looks")


main()
