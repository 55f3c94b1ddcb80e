#!/usr/bin/env python3
"""Damaged cores: whatever the bytes, the inspector says no or writes something, and never falls over.

    damaged.py GORDIAN HUNG

Run it with a sanitizer inside the command.
"""
import os
import random
import subprocess
import sys
import tempfile

gordian, hung = map(os.path.abspath, sys.argv[1:3])
turns = 20 + 2 * int(os.environ.get("GORDIAN_TEST_SCALE", "100"))
WORDS = [b"\xff" * 8, b"\0" * 8, (1 << 63).to_bytes(8, "little"), (1 << 40).to_bytes(8, "little")]


def damage(whole, dice):
    """Mostly where the structure is: the headers and the notes."""
    core = bytearray(whole)
    most = min(len(core), 20000) if dice.random() < 0.85 else len(core)
    for _ in range(dice.randint(1, 12)):
        at, kind = dice.randrange(most), dice.random()
        if kind < 0.6:
            core[at] = dice.choice([0, 0xFF, dice.randrange(256)])
        elif kind < 0.9:
            core[at:at + 8] = dice.choice(WORDS)
        else:
            core = core[:dice.randrange(1, len(core))]
            most = min(most, len(core))
    return core


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "core")
        with subprocess.Popen([hung, "once"]) as process:
            subprocess.run([gordian, "inspect", "--watch", "0.01", "--core", path, str(process.pid)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            process.kill()
        with open(path, "rb") as file:
            whole = file.read()
        for turn in range(turns):
            with open(path, "wb") as file:
                file.write(damage(whole, random.Random(turn)))
            done = subprocess.run([gordian, "inspect", path], capture_output=True, check=False)
            if done.returncode not in (0, 1, 2, 5):  # 5: nothing found in what is left of it
                failed += 1
                print(f"turn {turn}: {done.returncode}, {done.stderr[-2000:].decode(errors='replace')}",
                      file=sys.stderr)
    print(f"{turns - failed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
