#!/usr/bin/env python3
"""Hung programs, alive and as cores: what `gordian inspect` must say about each.

    matrix.py GORDIAN TABLE PROGRAMS [PATTERN] [--learn] [--weaker]

TABLE has a line a case, and says at its beginning what is in one. PROGRAMS is where the variants
lie (hang-O0, ...). GORDIAN_TEST_SCALE: from 1000 on all of it is done; below, every case
once at most, at 50 every third.
--learn tells what was said in each. --weaker: for a machine where names are missing (no elfutils,
another C library): less may be said than is expected, but nothing else.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import target

VARIANTS = ["O0", "O2", "stripped", "static", "bare"]
GROUPS = {"all": VARIANTS, "named": VARIANTS[:4], "dynamic": VARIANTS[:3]}


WORDS = ["proved", "likely", "unknown"]


def covers(waits, cycle):
    """The same threads, and no other locks, but for those that have lost their names."""
    by_thread = dict(wait.split(":") for wait in cycle)
    return all(by_thread.get(thread) in (lock, "?") or lock == "?"
               for thread, lock in (wait.split(":") for wait in waits) if thread in by_thread)


def is_part(waits, cycle):
    """Every wait is in the circle, perhaps without the name of its lock there."""
    return covers(waits, cycle) and {wait.split(":")[0] for wait in waits} <= {
        wait.split(":")[0] for wait in cycle}


class Case:
    def __init__(self, line):
        self.program, variants, name, self.live, self.core, self.run, *cycle = line.split()
        self.variants = []
        for variant in variants.split(","):
            self.variants += GROUPS.get(variant, [variant])
        self.name = name
        self.arguments = name.split("+")
        circle, _, notes = " ".join(cycle).partition("~")
        self.cycles = [set(part.split()) - {"-"} for part in circle.split("/")]
        self.notes = [note.replace("_", " ") for note in notes.split()]

    def command(self, folder, variant):
        return [os.path.join(folder, f"{self.program}-{variant}"), *self.arguments]


def read_table(path):
    with open(path, encoding="utf-8") as file:
        return [Case(line) for line in file if line.strip() and not line.startswith("#")]


class Matrix:
    def __init__(self, gordian, programs, options):
        self.gordian, self.programs = gordian, programs
        self.learn = "--learn" in options
        # Symbols of the C library that it does not export tell some of the holders.
        self.weaker = "--weaker" in options or not os.path.isdir("/usr/lib/debug/.build-id")
        self.passed, self.failed, self.weak, self.skipped = 0, 0, 0, {}
        self.gcore = shutil.which("gcore")
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
            self.kernel_cores = re.fullmatch(r"core(\.%p)?", file.read().strip())

    def skip(self, why):
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def look(self, title, hung, what, word, case):
        """One look, compared with what it must be."""
        done = subprocess.run([self.gordian, "inspect", "--json", "--stop-ms", "10000", *what],
                              capture_output=True, text=True, timeout=target.PATIENCE, check=False)
        said, waits = "unknown", set()
        if done.returncode in (0, 1):
            for report in target.parse_reports(done.stdout):
                if report.get("kind") in (None, "status"):
                    continue
                said = report["verdict"] if said == "unknown" else said
                waits |= target.waits_of(report, hung)
        expected_code = 0 if word == "unknown" else 1
        cycles = [set()] if word == "unknown" else case.cycles
        missing = [note for note in case.notes if note not in done.stdout]
        if self.learn:
            print(f"{title}: {said} {' '.join(sorted(waits)) or '-'}"
                  + ("" if done.returncode in (0, 1) else f" ({done.returncode}: {done.stderr})"))
        if (done.returncode, said) == (expected_code, word) and waits in cycles and not missing:
            self.passed += 1
            return
        if (self.weaker and done.returncode == (said != "unknown")
                and WORDS.index(said) >= WORDS.index(word)
                and any(covers(waits, cycle) for cycle in cycles)):
            self.weak += 1
            return
        self.failed += 1
        print(f"failed: {title}: {said} {sorted(waits)}, exit status {done.returncode}, instead of "
              f"{word} {' or '.join(str(sorted(cycle)) for cycle in cycles)}, {expected_code}; not told: {missing}\n"
              f"    {done.stderr}", file=sys.stderr)

    def run_watched(self, title, case, folder):
        """The oracle: what `gordian run` sees must be part of what is expected. It may call likely what is proved
        here: it ends programs, and is more careful."""
        path = os.path.join(folder, "report.json")
        said = os.path.join(folder, "said")
        command = [self.gordian, "run", "--quiet", "--no-potential", "--on-likely", "abort", "--json", path,
                   "--", *case.command(self.programs, "O0")]
        with open(said, "wb") as out, subprocess.Popen(
                command, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                start_new_session=True) as run:
            try:
                run.wait(timeout=target.PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
        hung = type("Said", (), {"threads": {}, "locks": {}})
        for word, name, number, *_ in (line.split() for line in target.read_text(said).splitlines()):
            if word in ("thread", "lock"):
                (hung.threads if word == "thread" else hung.locks)[int(number, 0)] = name
        waits = set()
        for report in target.parse_reports(target.read_text(path)):
            waits |= target.waits_of(report, hung)
        if run.returncode == 86 and waits and any(is_part(waits, cycle) for cycle in case.cycles):
            self.passed += 1
            return
        self.failed += 1
        print(f"failed: {title}: run sees {sorted(waits)}, exit status {run.returncode}, not "
              f"{[sorted(cycle) for cycle in case.cycles]}", file=sys.stderr)

    def try_variant(self, case, variant, with_gcore):
        title = f"{case.program} {case.name} {variant}"
        folder = tempfile.mkdtemp(prefix="gordian-inspect-")
        hung = None
        try:
            hung = target.Hung(case.command(self.programs, variant), folder, cores=True)
            if hung.skipped is not None:
                self.skip(f"{title}: {hung.skipped}")
                return
            self.look(title + ", live", hung, [str(hung.pid)], case.live, case)
            if with_gcore and self.gcore:
                self.look_at_gcore(title, case, hung)
            if self.kernel_cores:
                core = hung.dump_core()
                if core:
                    self.look(title + ", core", hung, [core], case.core, case)
                else:
                    self.skip("the kernel writes no core")
        finally:
            if hung:
                hung.end()
            shutil.rmtree(folder)

    def look_at_gcore(self, title, case, hung):
        stem = os.path.join(hung.folder, "gcore")
        done = subprocess.run([self.gcore, "-o", stem, str(hung.pid)], capture_output=True,
                              check=False)
        if done.returncode == 0:
            self.look(title + ", gcore", hung, [f"{stem}.{hung.pid}"], case.core, case)
        else:
            self.skip("gcore fails")

    def built(self, case):
        """The variants of the case that are there."""
        there = [v for v in case.variants if os.path.exists(case.command(self.programs, v)[0])]
        if not there:
            self.skip(f"no {case.program} of {' '.join(case.variants)}")
        return there

    def try_case(self, number, case, variants, watch):
        everything = target.scale() >= 1000
        for variant in variants:
            self.try_variant(case, variant, everything or number % 8 == 0)
        if case.run == "yes" and watch and target.scale() >= 100 and os.path.exists(case.command(self.programs, "O0")[0]):
            folder = tempfile.mkdtemp(prefix="gordian-inspect-")
            self.run_watched(f"{case.program} {case.name}", case, folder)
            shutil.rmtree(folder)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    gordian, table, programs, *pattern = arguments
    cases = [c for c in read_table(table)
             if re.search(pattern[0] if pattern else "", f"{c.program} {c.name}")]
    matrix = Matrix(os.path.realpath(gordian), os.path.realpath(programs), sys.argv)
    step = 1 if pattern else max(1, 150 // target.scale())
    watched = subprocess.run([gordian, "run", "--on-unwatchable", "stop", "--quiet", "true"],
                             capture_output=True, check=False).returncode == 0
    for number, case in enumerate(cases):
        if number % step:
            continue
        variants = matrix.built(case)
        if variants and target.scale() < 1000 and not pattern:
            variants = [variants[number // step % len(variants)]]
        matrix.try_case(number, case, variants, watched)
    for why, count in sorted(matrix.skipped.items()):
        print(f"skipped: {why} ({count})")
    if matrix.weaker:
        print(f"{matrix.weak} said less than elsewhere")
    print(f"{matrix.passed} passed, {matrix.failed} failed")
    sys.exit(matrix.failed != 0 or matrix.passed == 0)


main()
