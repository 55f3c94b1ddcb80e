#!/usr/bin/env python3
"""From the README to the name of a deadlock: runs its blocks after "<!-- tour -->" one after the other, as a reader would type
them, and compares what comes out. Numbers of processes and dates differ; where the README has "..." there may be more.

    tour.py GORDIAN SOURCE
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

GORDIAN, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
PATIENCE = 600
MARK = "tour-mark"
# What a reader does by looking: going on when the program hangs, when the service is there.
SETTLE = r"""
settle() { # PID COMMAND
    case $2 in *--socket*) file=${2#*--socket }; while [ ! -S "${file%% *}" ]; do sleep 0.05; done; return ;; esac
    quiet=0
    while [ $quiet -lt 3 ] && [ -d /proc/$1 ]; do
        sleep 0.05
        if grep -hv ') S ' /proc/$1/task/*/stat >/dev/null 2>&1; then quiet=0; else quiet=$((quiet + 1)); fi
    done
}
"""


def blocks():
    """Lists of (command, expected lines)."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        text = file.read()
    for block in re.findall(r"<!-- tour -->\n```text\n(.*?)^```", text, re.M | re.S):
        steps = []
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
        yield steps


def listing(name):
    """A file that the README shows with cat."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        return re.search(rf"^\$ cat {re.escape(name)}\n(.*?)^(?:\$ |```)", file.read(), re.M | re.S)[1]


def plain(line):
    """Without what differs from run to run."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", "DATE", line)
    line = re.sub(r"\d+\.\d+ ms", "T ms", line)
    line = line.replace("; 1 more waits behind", "")  # main may not have come to its join
    line = re.sub(r"─+", "─", re.sub(r"(?<=\S) +", " ", line))
    return re.sub(r"\b(process|thread) \d+", r"\1 N", line).rstrip()


def other(line):
    """The same if the other thread was the last one to ask."""
    swaps = {"alice": "bob", "bob": "alice", "accounts[0]": "accounts[1]", "accounts[1]": "accounts[0]", ":35": ":41",
             ":41": ":35"}
    return re.sub(r"alice|bob|accounts\[[01]\]|:35|:41", lambda found: swaps[found[0]], line)


def plain_lines(lines):
    """Whether a thread has to be stopped for its stack depends on the processor."""
    return [plain(line) for line in lines if "stopped to read stacks" not in line]


def alike(wanted, got):
    """Up to where the README has "..."."""
    wanted, got = plain_lines(wanted), plain_lines(got)
    dots = [line.strip() for line in wanted]
    if "..." in dots:
        wanted = wanted[:dots.index("...")]
        got = got[:len(wanted)]
    return got in (wanted, [other(line) for line in wanted])


def script(steps):
    lines = [SETTLE]
    for command, _ in steps:
        lines.append(f"echo {MARK} $(date +%s.%N)")
        lines.append(command)
        if command.endswith("&"):
            lines.append(f"settle $! '{command[:-1]}'")
    lines.append(f"echo {MARK} $(date +%s.%N)")
    return "\n".join(lines) + "\n"


def main():
    faults = steps_run = 0
    folder = tempfile.mkdtemp()
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(GORDIAN, os.path.join(folder, "bin", "gordian"))
    os.symlink(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
    with open(os.path.join(folder, "locks.trace"), "w", encoding="utf-8") as file:
        file.write(listing("locks.trace"))
    path = os.path.join(folder, "bin") + ":" + os.environ["PATH"]
    environment = dict(os.environ, LC_ALL="C.UTF-8", PATH=path)
    info = subprocess.run([GORDIAN, "info"], capture_output=True, text=True, check=True).stdout
    try:
        for steps in blocks():
            needs = {"run": "run", "inspect": "stacks", "serve": "serve"}
            lacks = [part for word, part in needs.items() if any(f"gordian {word}" in step[0] for step in steps)
                     and not re.search(rf"^  {part} *available", info, re.M)]
            if lacks or not shutil.which("cc"):
                print(f"left out: {steps[0][0]}: no {', '.join(lacks) or 'compiler'} here")
                continue
            shell = subprocess.Popen(["bash", "-c", script(steps)], cwd=folder, env=environment, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     start_new_session=True)
            # What goes on in the background has our pipe, too: its end is the last mark.
            parts, times, marks = [], [], 0
            signal.alarm(PATIENCE)
            while marks <= len(steps):
                line = shell.stdout.readline()
                if not line:
                    break
                if line.startswith(MARK):
                    marks += 1
                    times.append(float(line.split()[1]))
                    parts.append([])
                elif parts:
                    parts[-1].append(line.rstrip("\n"))
            signal.alarm(0)
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            for (command, expected), got in zip(steps, parts):
                steps_run += 1
                if not alike(expected, got):
                    faults += 1
                    print(f"README: $ {command}\n  expected\n    " + "\n    ".join(expected) +
                          "\n  got\n    " + "\n    ".join(got), file=sys.stderr)
            print(f"{steps[-1][0]}: {times[-1] - times[0]:.1f} s from the first command to the answer")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{steps_run} commands of the README, {faults} differ")
    if not steps_run:
        return 77
    return 1 if faults else 0


sys.exit(main())
