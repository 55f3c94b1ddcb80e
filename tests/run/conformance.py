#!/usr/bin/env python3
"""The conformance tests of POSIX threads (open_posix_testsuite) end under `gordian run` as without it.

    conformance.py GORDIAN FOLDER [PART...]

FOLDER: the suite, as it is in the Linux Test Project under testcases; nothing is downloaded. PART: instead of
all of threads and semaphores, tests of any interface whose names (pthread_mutex_lock/1-1) contain one of
these. A test that hangs natively may be ended with a report (exit status 86); anything else that differs
fails, with what was said. One that does not end the same each time natively may end in any of those ways.
"""

import concurrent.futures
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

PATIENCE = 120
REPORTED = 86
SOME_MORE = 4  # times that a test which differs is run again, either way


def tests_of(folder, parts):
    """Names and sources of the tests, those of what the standard leaves open ("speculative") too."""
    found = []
    interfaces = os.path.join(folder, "conformance", "interfaces")
    for path in sorted(glob.glob(os.path.join(interfaces, "*", "**", "*.c"), recursive=True)):
        name = os.path.relpath(path, interfaces)[:-2]
        with open(path, encoding="utf-8", errors="replace") as file:
            is_program = "main(" in file.read()
        wanted = (any(part in name for part in parts) if parts
                  else name.startswith(("pthread_", "sem_")))
        if is_program and wanted:
            found.append((name, path))
    return found


def compile_test(folder, path, program):
    library = glob.glob(os.path.join(folder, "lib", "*.c"))
    flags = ["-std=gnu99", "-w", "-D_GNU_SOURCE", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700",
             "-I", os.path.join(folder, "include"), "-I", os.path.dirname(path),
             "-I", os.path.dirname(os.path.dirname(path))]
    done = subprocess.run(["cc", *flags, "-o", program, path, *library, "-lpthread", "-lrt", "-lm"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def run(command, folder):
    """How it ended, and what it said."""
    with open(os.path.join(folder, "said"), "w+b") as said:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said,
                                   stderr=said, start_new_session=True)
        try:
            end = str(process.wait(PATIENCE))
        except subprocess.TimeoutExpired:
            end = "hangs"
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        said.seek(0)
        return end, said.read().decode(errors="replace")


def plain(end):
    """A program that a signal ends is told by a command as a shell does."""
    return str(128 - int(end)) if end.startswith("-") else end


def judge(gordian, folder, test, scratch):
    """One line, or None if it could not be compiled; and whether it is as it should be."""
    name, path = test
    place = os.path.join(scratch, name.replace("/", "-"))
    os.mkdir(place)
    program = os.path.join(place, "program")
    if not compile_test(folder, path, program):
        return None, True
    native = {plain(run([program], place)[0])}
    watched, said = run([gordian, "run", "--quiet", "--", program], place)
    for _ in range(SOME_MORE):
        if plain(watched) in native:
            break
        native.add(plain(run([program], place)[0]))
        watched, said = run([gordian, "run", "--quiet", "--", program], place)
    shutil.rmtree(place)
    right = plain(watched) in native or ("hangs" in native and watched == str(REPORTED))
    line = f"{name}: natively {' or '.join(sorted(native))}, watched {watched}"
    return (line if right else line + "\n" + "\n".join("    " + text for text in said.splitlines()[:20]),
            right)


def main():
    gordian, folder, *parts = sys.argv[1:]
    gordian = os.path.abspath(gordian)
    folder = os.path.abspath(folder)
    tests = tests_of(folder, parts)
    if not tests:
        sys.exit(f"conformance.py: there are no such tests in {folder}")
    scratch = tempfile.mkdtemp(prefix="gordian-conformance-")
    wrong = skipped = 0
    ends = {}
    try:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for line, right in pool.map(lambda test: judge(gordian, folder, test, scratch), tests):
                if line is None:
                    skipped += 1
                    continue
                how = line.split("watched ")[1].split("\n")[0]
                ends[how] = ends.get(how, 0) + 1
                wrong += not right
                if not right:
                    print("failed:", line, flush=True)
    finally:
        shutil.rmtree(scratch)
    told = ", ".join(f"{count} with {how}" for how, count in sorted(ends.items()))
    print(f"{len(tests) - skipped} tests, {wrong} end otherwise than natively ({told}); "
          f"{skipped} cannot be compiled here")
    sys.exit(wrong != 0)


main()
