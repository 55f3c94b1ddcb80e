#!/usr/bin/env python3
"""A core of 10 GB costs a few MB, and ten thousand threads are looked at; how long that took is told.

    large.py GORDIAN HANG
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

import target

MOST_READ = 64 << 20  # symbols of the program and its libraries included
THREADS = 10000


def inspect(gordian, what):
    """Exit status, what it said, and how many bytes it asked the kernel for."""
    with subprocess.Popen([gordian, "inspect", "--json", "--quiet", what],
                          stdout=subprocess.PIPE) as run:
        said = run.stdout.read()
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        counts = dict(line.split(": ") for line in
                      target.read_text(f"/proc/{run.pid}/io").splitlines())
        usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(usage[1])
    read = int(counts.get("rchar", 0))
    touched = (usage[2].ru_minflt + usage[2].ru_majflt) * os.sysconf("SC_PAGE_SIZE")
    return run.returncode, target.parse_reports(said.decode()), read, touched


def look_at_core(gordian, program, folder):
    hung = target.Hung([program, "huge"], folder, cores=True)
    try:
        if hung.skipped is not None:
            return f"skipped: {hung.skipped}"
        core = hung.dump_core()
        if core is None:
            return "skipped: the kernel writes no core"
        size = os.stat(core).st_size
        if size < 10 << 30:
            return f"skipped: the core has {size} bytes only"
        code, reports, read, touched = inspect(gordian, core)
        assert code == 1 and reports[0]["verdict"] == "proved", (code, reports)
        assert target.waits_of(reports[0], hung) == {"one:b", "two:a"}
        assert read <= MOST_READ, f"{read} bytes were read"
        assert touched <= 8 * MOST_READ, f"{touched} bytes of memory were touched"
        return f"a core of {size >> 20} MB: {read >> 10} KB read, {touched >> 20} MB touched"
    finally:
        hung.end()


def look_at_crowd(gordian, program, folder):
    hung = target.Hung([program, f"behind-mutex-{THREADS}"], folder)
    try:
        if hung.skipped is not None:
            return f"skipped: {hung.skipped}"
        begin = time.monotonic()
        code, reports, _, _ = inspect(gordian, str(hung.pid))
        took = time.monotonic() - begin
        assert code == 1 and reports[0]["verdict"] == "proved", (code, reports)
        assert target.waits_of(reports[0], hung) == {"one:b", "two:a"}
        return f"{THREADS + 3} threads: {took:.1f} s"
    finally:
        hung.end()


def main():
    gordian, program = (os.path.realpath(path) for path in sys.argv[1:])
    for look in (look_at_core, look_at_crowd):
        folder = tempfile.mkdtemp(prefix="gordian-inspect-")
        try:
            print(look(gordian, program, folder))
        finally:
            shutil.rmtree(folder)


main()
