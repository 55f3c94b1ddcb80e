#!/usr/bin/env python3
"""The options of the manual pages are those of the commands' tables: names, letters, arguments, words, defaults.

    manual_options.py GORDIAN SOURCE-ROOT
"""
import os
import re
import subprocess
import sys

GORDIAN, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
ITEM = re.compile(r"\.It Fl (?:(\S) , )?-([a-z0-9-]+)(?: Ar (.+))?$")
# A word or a number: one that is put in words is in other words there.
DEFAULT = re.compile(r"\(default: ([\w./:$-]+)(?:;|\)|, no limit)|([\w.-]+) \(default\)")
faults = []


def run(*words):
    return subprocess.run([GORDIAN, *words], check=True, capture_output=True, text=True).stdout


def table_of(command):
    """Name: letter, argument, words, default."""
    rows = {}
    for line in run(command, "--dump-options").splitlines()[1:]:
        if line:
            name, letter, argument, kind, words, text = line.split("\t")
            default = DEFAULT.search(text)
            words = [] if name in ("engine", "chip") else words.split()
            rows[name] = letter, argument, words, (default[1] or default[2]).strip() if default else None
    return rows


def page_of(command):
    """Name: letter, argument, the text."""
    rows, name = {}, None
    with open(os.path.join(SOURCE, "man", f"gordian-{command}.1"), encoding="utf-8") as file:
        part = re.search(r"^\.Sh OPTIONS\n(.*?)^\.Sh ", file.read(), re.M | re.S)[1]
    for line in part.splitlines():
        found = ITEM.match(line)
        if found:
            name = found[2]
            rows[name] = [found[1] or "", (found[3] or "").replace(" : Ns Ar ", ":"), ""]
        elif name:
            rows[name][2] += line + "\n"
    return rows


def plain(text):
    """What a reader sees: without the macros, the spaces before punctuation and the escapes."""
    text = re.sub(r"^\.(It|Cm|Ar|Li|Pa|Fl|Ev|Xr|Pq|Ql|Sq|Dq|Nm|Em)\b", "", text, flags=re.M)
    text = re.sub(r"\s+", " ", text.replace("\\-", "-").replace("\\&", "").replace(" Ns ", ""))
    return re.sub(r" ([,.;:)])", r"\1", text)


def check(command):
    table, page = table_of(command), page_of(command)
    if len(table) < 7:
        faults.append(f"{command}: {len(table)} options")
    for name in sorted(table.keys() | page.keys()):
        if name not in page or name not in table:
            faults.append(f"{command}: --{name} is {'not in the page' if name in table else 'in the page alone'}")
            continue
        letter, argument, words, default = table[name]
        if [letter, argument] != page[name][:2]:
            faults.append(f"{command}: --{name}: {letter!r}, {argument!r} in the table, {page[name][:2]} in the page")
        text = plain(page[name][2])
        for word in words:
            if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text):
                faults.append(f"{command}: --{name}: the page does not name {word}")
        spelled = re.sub(r"^(\d+)M$", r"\1 million", default or "")
        if default and default not in text and spelled not in text:
            faults.append(f"{command}: --{name}: the page does not name the default, {default}")


for line in run("help").splitlines():
    if line.startswith("  ") and line[2] != " " and "built without" not in run("help", line.split()[0]):
        check(line.split()[0])
for text in faults:
    print(text, file=sys.stderr)
sys.exit(1 if faults else 0)
