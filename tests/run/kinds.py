#!/usr/bin/env python3
"""Hangs of every kind under `gordian run`, each with a sound twin where it has one.

    kinds.py GORDIAN TABLE NAME=PROGRAM... [-- CASE...]

The table (kinds.table) says what to expect. A program that was not built is left out. A hang is over when
gordian ends it; nothing here depends on how long that takes, but for a limit that only a failure reaches."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import findings  # noqa: E402

PATIENCE = 600  # seconds after which something hangs, however slow the machine is
scale = int(os.environ.get("GORDIAN_TEST_SCALE", "100"))
bad = 0


def complain(case, what, text=""):
    global bad
    bad += 1
    print(f"{case}: {what}", file=sys.stderr)
    print("".join(f"    {line}\n" for line in text.splitlines()[:60]), file=sys.stderr)


def run(gordian, options, command, folder):
    """Runs it in a group of its own, which does not outlive it: status, standard error."""
    process = subprocess.Popen([gordian, "run", *options, "--", *command], cwd=folder, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True, errors="replace")
    try:
        out, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, said = process.communicate()
        said += "\n(killed: it took too long)"
    try:
        os.killpg(process.pid, signal.SIGKILL)  # children that were part of nothing
    except ProcessLookupError:
        pass
    return process.returncode, said, out


def remove_sets(out):
    """System V semaphores outlive their processes."""
    for number in re.findall(r"^set\n(\d+)$", out, re.M):
        subprocess.run(["ipcrm", "-s", number], stderr=subprocess.DEVNULL, check=False)


def look_at_hang(gordian, case, command, row, folder):
    word, waiting, place = row
    path = os.path.join(folder, "report.json")
    if os.path.exists(path):
        os.unlink(path)
    status, said, out = run(gordian, ["--on-likely", "abort", "--json", path], command, folder)
    remove_sets(out)
    if status == 77:
        return
    if status != 86:
        return complain(case, f"exit status {status} instead of 86", said)
    with open(path, encoding="utf-8") as file:
        reports = [json.loads(line) for line in file]
    findings.check_lines(reports)
    report = reports[0]
    if len(reports) != 1:
        complain(case, f"{len(reports)} reports instead of one", said)
    # Whoever may not be looked at may have the other end of a pipe, or the open file with the lock.
    if word == "proved" and os.getuid() and "processes of other users may have it open" in said:
        word = "likely"
    if word != "found" and report.get("verdict") != word:
        complain(case, f"is {report.get('verdict')}, not {word}", said)
    waits = sum(1 for edge in report["edges"] if edge.get("waiter") and edge.get("witness"))
    if waits < waiting:
        complain(case, f"{waits} threads wait instead of {waiting}", said)
    if not re.search(re.escape(place) + r":\d+", said):
        complain(case, f"no line of {place}", said)
    if "1 deadlock" not in said:
        complain(case, "is not counted", said)


def look_at_twin(gordian, case, command, folder):
    status, said, out = run(gordian, [], command, folder)
    remove_sets(out)
    if status == 77:
        return
    if status != 0 or "gordian: " in said or "no deadlock" not in said:
        complain(case, f"written right: exit status {status}, or something is said", said)


def look_at_rest(gordian, case, command, row, folder):
    """Nothing is found, however long it rests; then everybody is told."""
    status, said, _ = run(gordian, ["--on-hang", "2"], command, folder)
    if status != 87 or "deadlock" in said:
        return complain(case, f"exit status {status} instead of 87, or it is accused", said)
    if "these threads did not end" not in said or "nothing found among" not in said:
        complain(case, "does not tell who did not end", said)
    if row and not re.search(re.escape(row[2]) + r":\d+", said):
        complain(case, f"no line of {row[2]}", said)


def look_at(gordian, columns, programs, folder):
    check, program, name, word, waiting, place, twin = columns
    row = (word, int(waiting), place)
    command = [*programs[program], name]
    case = f"{program} {name}"
    if word == "unknown":
        look_at_rest(gordian, case, command, row, folder)
    else:
        look_at_hang(gordian, case, command, row, folder)
    if twin == "good":
        look_at_twin(gordian, case, [*command, "good"], folder)
    elif twin.startswith("="):
        look_at_rest(gordian, f"{program} {twin[1:]}", [*programs[program], twin[1:]], None, folder)


def main(arguments):
    wanted = []
    if "--" in arguments:
        wanted = arguments[arguments.index("--") + 1:]
        arguments = arguments[:arguments.index("--")]
    gordian, table, *given = arguments
    programs = {}
    for pair in given:
        name, path = pair.split("=", 1)
        script = path.endswith(".py")
        programs[name] = (["/usr/bin/python3"] if script else []) + [os.path.abspath(path)]
    with open(table, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        for columns in rows:
            chosen = columns[2] in wanted if wanted else columns[0] == "always" or scale >= 100
            if columns[1] in programs and chosen:
                look_at(os.path.abspath(gordian), columns, programs, folder)
                done += 1
    print(f"{done} kinds, {bad} complaints")
    return 1 if bad or not done else 0


sys.exit(main(sys.argv[1:]))
