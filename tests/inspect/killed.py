#!/usr/bin/env python3
"""The inspector is killed at random moments: what it looked at always goes on, and is left alone.

    killed.py GORDIAN BUSY [TIMES]

Without TIMES: 50 at a GORDIAN_TEST_SCALE of 50, 500 at 1000 and more.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import target

SLEEPS = 2**64 - 1
WORKERS = 40


def counts_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return struct.unpack(f"{len(data) // 8}Q", data)


def is_free(pid):
    """Traced by nobody, and none of it stopped."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        text = target.read_text(f"/proc/{pid}/task/{tid}/status")
        if text and "TracerPid:\t0\n" not in text:
            return False
    return not [state for state, _ in target.threads_of(pid).values() if state in "tT"]


def all_count(program, path, before):
    if program.poll() is not None:
        sys.exit(f"failed: the busy program has ended: {program.returncode}")
    return all(now != then or now == SLEEPS for now, then in zip(counts_of(path)[1:], before[1:]))


def look(gordian, pid):
    return [gordian, "inspect", "--verbose", "--quiet", "--stop-ms", "50", str(pid)]


def main():
    gordian, busy, *times = sys.argv[1:]
    times = int(times[0]) if times else min(500, target.scale())
    folder = tempfile.mkdtemp(prefix="gordian-inspect-")
    path = os.path.join(folder, "counts")
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    with open(os.path.join(folder, "said"), "wb") as said:
        program = subprocess.Popen([busy, str(WORKERS), path], stdout=said)
    try:
        target.wait_for("the busy program",
                        lambda: "ready" in target.read_text(os.path.join(folder, "said")))
        length = 0.0
        for _ in range(3):
            begin = time.monotonic()
            whole = subprocess.run(look(gordian, program.pid), stdout=subprocess.DEVNULL,
                                   check=False)
            length = max(length, time.monotonic() - begin)
            if whole.returncode != 0:
                sys.exit(f"failed: a look in peace: exit status {whole.returncode}")
        cut = number = 0
        while number < times or cut == 0:
            number += 1
            inspector = subprocess.Popen(look(gordian, program.pid), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, length))
            inspector.kill()
            cut += inspector.wait() < 0
            target.wait_for(f"look {number} (seed {seed}) to let go", lambda: is_free(program.pid))
            before = counts_of(path)
            target.wait_for(f"everybody to go on after look {number} (seed {seed})",
                            lambda: all_count(program, path, before))
        interrupted = counts_of(path)[0]
        print(f"{number} looks, {cut} of them killed in the middle, {length * 1000:.0f} ms each; "
              f"{interrupted} calls interrupted")
        sys.exit(interrupted != 0 or program.poll() is not None)
    finally:
        program.kill()
        program.wait()
        shutil.rmtree(folder)


main()
