"""What the tests of `gordian inspect` share: programs that hang, and what is said about them."""

import json
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import findings  # noqa: E402

PATIENCE = 600  # seconds after which something hangs, however slow the machine is


def scale():
    """How much to do, in percent of the usual."""
    return int(os.environ.get("GORDIAN_TEST_SCALE", "50"))


def wait_for(what, holds):
    """Until it holds; for as long as a slow machine may take."""
    end = time.monotonic() + PATIENCE
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"waited for {what} in vain")
        time.sleep(0.002)


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def threads_of(pid):
    """Of each thread: its state and how often it has been switched."""
    found = {}
    try:
        numbers = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for tid in numbers:
        text = read_text(f"/proc/{pid}/task/{tid}/status")
        state = re.search(r"^State:\s+(\S)", text, re.M)
        if state:
            switches = re.findall(r"ctxt_switches:\s+(\d+)", text)
            found[int(tid)] = (state[1], tuple(switches))
    return found


class Hung:
    """A program that hangs: it says who is who, and is waited for until the kernel shows it so."""

    def __init__(self, command, folder, cores=False):
        self.folder = folder
        self.said = os.path.join(folder, "said")
        self.threads, self.locks = {}, {}
        self.skipped = None

        def prepare():
            if cores:
                import resource

                hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
                resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

        with open(self.said, "wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stdin=subprocess.DEVNULL, cwd=folder, preexec_fn=prepare,
                start_new_session=True)
        self.pid = self.process.pid
        try:
            self.settle(command)
        except BaseException:
            self.end()
            raise

    def settle(self, command):
        def is_ready():
            text = read_text(self.said)
            skipped = re.search(r"^skip (.*)", text, re.M)
            if skipped:
                self.skipped = skipped[1]
                return True
            if self.process.poll() is not None:
                raise RuntimeError(f"{command}: ended with status {self.process.returncode}")
            return re.search(r"^ready (\d+) (\d+) (\d+)$", text, re.M)

        ready = wait_for("a program to be ready", is_ready)
        if self.skipped is None:
            count, asleep, self.pid = (int(number) for number in ready.groups())
            self.wait_asleep(count, asleep)
        for line in read_text(self.said).splitlines():
            word, *rest = line.split()
            if word == "thread":
                self.threads[int(rest[1])] = rest[0]
            elif word == "lock":
                self.locks[int(rest[1], 16)] = rest[0]
            elif word == "skip":
                self.skipped = " ".join(rest)

    def wait_asleep(self, count, asleep):
        before = {}

        def all_sleep():
            nonlocal before
            now = threads_of(self.pid)
            sleeping = {tid: look for tid, look in now.items() if look[0] == "S"}
            last, before = before, sleeping
            ended = "skip" in read_text(self.said)
            return ended or (len(now) == count and len(sleeping) == asleep and sleeping == last)

        wait_for("the threads to sleep", all_sleep)

    def dump_core(self):
        """The kernel's core of it, or None; it has ended then."""
        os.kill(self.pid, signal.SIGABRT)  # which nobody ignores
        wait_for("the core", lambda: not [s for s, _ in threads_of(self.pid).values() if s not in "ZX"])
        found = [name for name in os.listdir(self.folder) if re.fullmatch(r"core(\.\d+)?", name)]
        return os.path.join(self.folder, found[0]) if found else None

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def parse_reports(text):
    """One JSON object behind the other."""
    decoder, reports, at = json.JSONDecoder(), [], 0
    while at < len(text):
        report, at = decoder.raw_decode(text, at)
        reports.append(report)
        while at < len(text) and text[at].isspace():
            at += 1
    findings.check_lines(reports)
    return reports


def waits_of(report, hung):
    """The waits that a finding rests on, as THREAD:LOCK by the names that the program gave."""
    tids = {thread["name"]: thread["tid"] for thread in report["parties"]}
    locks = {lock["name"]: lock for lock in report["resources"]}

    def thread_name(name):
        return hung.threads.get(tids.get(name), "?")

    def lock_name(name):
        lock = locks[name]
        if name.startswith("end of "):
            return "end." + thread_name(name.removeprefix("end of "))
        address = int(lock.get("address", "0"), 16)
        return hung.locks.get(address, "?")

    return {
        f"{thread_name(edge['waiter'])}:{lock_name(edge['resource'])}"
        for edge in report["edges"]
        if edge["witness"] and "waiter" in edge
    }
