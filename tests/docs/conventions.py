#!/usr/bin/env python3
"""docs/internals/conventions.md against every command, its manual page, the golden tests and the sources.

    conventions.py GORDIAN SOURCE
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

GORDIAN, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
COMMON = ["--engine NAME", "--quiet", "--verbose", "--color WHEN", "--help", "--version"]
WIDEST = 90
BARE_DEFAULT = re.compile(r"\(\d+[a-zA-Z]?[;)]")  # "(50)" instead of "(default: 50)"
DATA = re.compile(r"[A-Z]|^[a-z]\d?$")  # keys that are names of the input's own
faults = []


def fault(text):
    faults.append(text)
    print(text, file=sys.stderr)


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def run(*arguments):
    done = subprocess.run([GORDIAN, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def table(text, heading):
    """Rows of the first table below a heading."""
    part = text[text.index(f"## {heading}"):].split("\n## ")[0]
    rows = [line.strip("| ").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def check_help(command):
    code, out, said = run(command, "--help")
    if code or said or not out.startswith(f"Usage: gordian {command}"):
        fault(f"{command} --help: exit status {code}, {said[:80]!r}, {out[:40]!r}")
    for option in COMMON:
        if option not in out:
            fault(f"{command} --help has no {option}")
    if f"The manual: man gordian-{command}" not in out:
        fault(f"{command} --help does not name its manual page")
    for line in out.splitlines():
        if len(line) > WIDEST:
            fault(f"{command} --help: {len(line)} columns: {line}")
        if BARE_DEFAULT.search(line):
            fault(f"{command} --help: a default is told as (default: ...): {line}")
        if line != line.rstrip():
            fault(f"{command} --help: blanks at the end: {line!r}")


def check_summary(command, summary):
    """One sentence for a command, in gordian --help and at the top of its manual page."""
    told = re.search(r"^\.Nd (.*)$", read(f"man/gordian-{command}.1"), re.M)
    if not told or told[1] != summary:
        fault(f"{command}: {summary!r} in gordian --help, {told[1] if told else None!r} in the manual page")


def check_output(command):
    """-o is where to write, everywhere."""
    for name in re.findall(r"^  -o, (--[a-z-]+)", run(command, "--help")[1], re.M):
        if name != "--output":
            fault(f"{command}: -o is {name}")


def check_misuse(command):
    code, out, said = run(command, "--no-such-option")
    if code != 2 or out or not said.startswith(f"gordian {command}: unknown option") or \
            not said.endswith(f"try 'gordian {command} --help'\n"):
        fault(f"{command} --no-such-option: exit status {code}, {said!r}")


def check_codes(command, told):
    """The exit codes of the table are those of the manual page."""
    text = read(f"man/gordian-{command}.1")
    part = re.search(r"^\.Sh EXIT STATUS\n(.*?)^\.Sh ", text, re.M | re.S)
    named = sorted({int(code) for code in re.findall(r"^\.It (\d+)", part[1], re.M)}) if part else []
    if named != sorted(int(code) for code in told.split()):
        fault(f"{command}: exit codes {told} in the table, {named} in the manual page")


def keys_of_cases():
    """Keys that the golden tests show, and which commands have written them."""
    found = collections.defaultdict(set)

    def walk(value, command):
        if isinstance(value, dict):
            for key, inside in value.items():
                found[key].add(command)
                walk(inside, command)
        elif isinstance(value, list):
            for inside in value:
                walk(inside, command)

    for path in glob.glob(os.path.join(SOURCE, "tests/cli/cases/*")):
        script, _, rest = read(path).partition("--- stdout")
        commands = re.findall(r"gordian ([a-z]+)", script)
        for line in rest.splitlines():
            if line.startswith('{"') and commands:
                try:
                    walk(json.loads(line), commands[-1])
                except ValueError:
                    pass
    return found


def check_keys(text):
    told = {key for row in table(text, "JSON") for cell in row for key in re.findall(r"`([a-z_0-9]+)`", cell)}
    found = keys_of_cases()
    if len(found) < 100:
        fault(f"only {len(found)} keys in the golden tests")
    for key, commands in sorted(found.items()):
        if len(commands) > 1 and not DATA.search(key) and key not in told:
            fault(f"JSON key {key} of {', '.join(sorted(commands))} is not in the table")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", key) and not DATA.search(key) and '"' not in key:
            fault(f"JSON key {key}: not small letters with _")


def check_colors(text):
    used = set(re.findall(r'"\\033\[([0-9;]+)m"', read("src/output/show/style.c"))) - {"0"}
    told = {row[1].strip("`") for row in table(text, "Colours")}
    if used != told:
        fault(f"colours {sorted(used)} in output/show/style.c, {sorted(told)} in the table")
    for path in glob.glob(os.path.join(SOURCE, "src/**/*.c"), recursive=True):
        # Which line is chosen on a screen is no colour: 7, and 0 ends it.
        if not path.endswith("output/show/style.c") and re.search(r"\\033\[(?![07]m)[0-9;]*m", read(path)):
            fault(f"{os.path.relpath(path, SOURCE)} has colours of its own: output/show/style.h has them")


# Limits of answers over HTTP, and where docs/guide/serve.md and docs/guide/page.md state them.
LIMITS = {
    "API_NODES_MAX": [("docs/guide/serve.md", r"nodes of a graph \| ([\d ]+),"), ("docs/guide/serve.md", r"`limit=N` \(([\d ]+) nodes"),
                      ("docs/guide/page.md", r"sends up to ([\d ]+) nodes")],
    "API_EDGES_MAX": [("docs/guide/serve.md", r"`limit=`; ([\d ]+) edges"), ("docs/guide/serve.md", r"and ([\d ]+) edges: what a graph")],
    "API_CHAIN_MAX": [("docs/guide/serve.md", r"processes of a wait chain \| ([\d ]+);")],
    "API_WITNESS_MAX": [("docs/guide/serve.md", r"edges of its witness ([\d ]+),")],
    "API_AHEAD_MAX": [("docs/guide/serve.md", r"more than ([\d ]+) processes lie ahead")],
}


def check_limits():
    source = read("src/service/serve/http/api.h")
    for name, places in LIMITS.items():
        limit = re.search(rf"#define {name} +(\d+)", source)[1]
        for path, pattern in places:
            stated = re.findall(pattern, read(path))
            if not stated or any(one.replace(" ", "") != limit for one in stated):
                fault(f"{path} states {stated} where {name} is {limit}")


def main():
    text = read("docs/internals/conventions.md")
    listed = dict(re.findall(r"^  ([a-z]+) +(.*)$", run("--help")[1].split("Commands:")[1], re.M))
    told = {row[0]: row[1] for row in table(text, "Commands and exit codes")}
    if sorted(listed) != sorted(told):
        fault(f"commands {sorted(set(listed) ^ set(told))} are in the table or in gordian --help, not in both")
    for command, summary in listed.items():
        check_help(command)
        check_summary(command, summary)
        check_output(command)
        check_misuse(command)
        check_codes(command, told.get(command, ""))
    check_keys(text)
    check_colors(text)
    check_limits()
    print(f"{len(listed)} commands, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
