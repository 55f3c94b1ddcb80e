#!/usr/bin/env python3
"""The rows of docs/glossary.md against the code: each file exists and contains the names of its row. For each term in
CONCEPTS one of its files has the term in its path or in its opening comment, so that a search finds the implementation.

    glossary.py SOURCE [GLOSSARY]

Rows have four cells: term, meaning, names in the code, files. Names and files are in backticks. Prints each row that
is wrong with its line.
"""
import collections
import os
import re
import sys

SOURCE = os.path.abspath(sys.argv[1])
GLOSSARY = sys.argv[2] if len(sys.argv) > 2 else os.path.join(SOURCE, "docs", "glossary.md")
MINIMUM = 150  # a table that is no longer recognized must not pass
# Terms that must stay in the glossary, and that a search must find in the files of their row.
CONCEPTS = """banker's algorithm, safety algorithm, wait-for graph, strongly connected components, thread pool, string interning,
leader election, fencing token, heartbeat, lease expiry, rate limit, back-pressure, lock order inversion, symbolization,
stack unwinding, futex owner, core dump, write-ahead journal, snapshot, checksum, point-in-time query, webhook,
partial-order reduction, bisimulation, CTL, LTL, loop bound, warp scheduler, simulated annealing, branch and bound,
growable array, memory pool, kernel emulator, rendezvous, collective mismatch, flight recorder, pickle parser,
metadata lock, gap lock, priority inheritance"""
# Further terms that must stay in the glossary.
REQUIRED = """process snapshot, open file descriptors, decoder, sharded string interner,
vtable, interface, encoder, serialize, deserialize, component, helper program, event loop iteration, capacity, release, leader,
standby, quota, in-flight operation, member, loop trip count, history, waiter, owner, report, module, plugin, witness,
victim, lease, suppression, stubborn set, granted, blocked, deadlock, doomed, result below its target"""


def opens_with(file, term):
    """Is the term in the path of the file, or in its first comment, within its first lines?"""
    with open(os.path.join(SOURCE, file), encoding="utf-8", errors="replace") as opened:
        head = "".join(line for _, line in zip(range(60), opened))
    comment = re.search(r"/\*.*?\*/|(?://[^\n]*\n)+", head, re.S)
    opening = re.sub(r"[\s*/]+", " ", comment[0] if comment else "")
    words = re.sub(r"[_/-]", " ", file)
    stem = term.removesuffix("s") if term.endswith("components") else term
    return any(stem.lower() in text.lower() for text in (opening, words, file))


def faults_of(cells):
    if len(cells) != 4 or not all(cells):
        yield "four cells are needed: term, meaning, names, files"
        return
    names, files = (re.findall(r"`([^`]+)`", cell) for cell in cells[2:])
    if not names or not files:
        yield "names and files are in backticks"
    text = ""
    for file in files:
        try:
            with open(os.path.join(SOURCE, file), encoding="utf-8", errors="replace") as opened:
                text += opened.read()
        except OSError:
            yield f"there is no file {file}"
    for name in names:
        if text and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield f"{', '.join(files)} does not contain {name}"


def main():
    rows = faults = 0
    terms = ""
    places = collections.defaultdict(list)
    with open(GLOSSARY, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("|") or line.startswith(("| Term", "|---")):
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            rows += 1
            terms += cells[0].lower() + "\n"
            for term in re.split(r",\s+", CONCEPTS):
                if len(cells) == 4 and re.search(rf"\b{re.escape(term.lower())}\b", cells[0].lower()):
                    places[term.lower()] += [file for file in re.findall(r"`([^`]+)`", cells[3])
                                             if os.path.isfile(os.path.join(SOURCE, file))]
            for fault in faults_of(cells):
                print(f"docs/glossary.md:{number}: {cells[0]}: {fault}", file=sys.stderr)
                faults += 1
    for term in re.split(r",\s+", CONCEPTS):
        if not any(opens_with(file, term) for file in places[term.lower()]):
            print(f"docs/glossary.md: none of the files of '{term}' names it in its path or its opening comment: "
                  f"{', '.join(places[term.lower()])}", file=sys.stderr)
            faults += 1
    for term in re.split(r",\s+", CONCEPTS + ", " + REQUIRED):
        if not re.search(rf"\b{re.escape(term.lower())}\b", terms):
            print(f"docs/glossary.md: the term '{term}' is missing", file=sys.stderr)
            faults += 1
    if rows < MINIMUM:
        print(f"docs/glossary.md: only {rows} rows", file=sys.stderr)
        faults += 1
    print(f"{rows} terms, {faults} faults")
    return 1 if faults else 0


sys.exit(main())
