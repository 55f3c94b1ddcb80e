#!/usr/bin/env python3
"""A large deadlock beside a client of another system: nobody is to be held up by it.

    turns.py GORDIAN [PROCESSES [HOW]]

Starts a service, lets PROCESSES wait in a chain, closes it to a cycle and opens it again, five times, while another client
sends events to a system of its own, one at a time. HOW: single (resources of one unit), multi (of two), recover (the service
ends a victim). Reports the latencies of the second client, and what kept the loop for longest; an answer that is
not right is an error, a latency is not.
"""
import json
import multiprocessing
import socket
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
from one_service import one_service  # noqa: E402

ROUNDS = 5


class Link:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def tell(self, *lines):
        self.socket.sendall(("\n".join(lines) + "\n").encode())

    def ask(self, line):
        self.tell(line)
        while True:
            answer = json.loads(self.lines.readline())
            if "incident" not in answer:
                return answer

    def tell_many(self, lines):
        sender = multiprocessing.Process(target=self.tell, args=(*lines, "ping"))
        sender.start()
        while b"pong" not in self.lines.readline():
            pass
        sender.join()


def beside(path, go_on, found):
    link, times = Link(path), []
    link.ask("open other detect")
    link.tell("resource q")
    while go_on.value:
        for word in ("request p q", "release p q"):
            start = time.perf_counter()
            link.ask(word)
            times.append(time.perf_counter() - start)
        time.sleep(0.0002)
    found.send(times)


def longest(base):
    text = urllib.request.urlopen(base + "metrics").read().decode()
    return {line.split('"')[1]: float(line.split()[-1]) * 1e3 for line in text.split("\n")
            if line.startswith("gordian_loop_longest_seconds{")}


def fill(link, count, how):
    units = " 2" if how == "multi" else ""
    link.ask("open large detect recover=youngest" if how == "recover" else "open large detect")
    link.tell_many("resource r%d%s" % (i, units) for i in range(count))
    link.tell_many("request w%d r%d%s" % (i, i, units) for i in range(count))
    link.tell_many("request w%d r%d%s" % (i, i + 1, units) for i in range(count - 1))
    return "request w%d r0%s" % (count - 1, units)


def play(path, base, count, how):
    link, good = Link(path), True
    close = fill(link, count, how)
    go_on, (here, there) = multiprocessing.Value("b", 1), multiprocessing.Pipe()
    worker = multiprocessing.Process(target=beside, args=(path, go_on, there))
    worker.start()
    time.sleep(0.5)
    rounds = 1 if how == "recover" else ROUNDS
    for _ in range(rounds):
        start = time.perf_counter()
        answer = link.ask(close)
        closed = time.perf_counter()
        good &= answer["result"] == "deadlock" and len(answer["deadlocked"]) > 0
        time.sleep(0.2)
        if how != "recover":
            good &= link.ask("cancel w%d" % (count // 2))["result"] == "cancelled"
            good &= link.ask("cancel w%d" % (count - 1))["result"] == "cancelled"
            good &= link.ask("request w%d r%d%s" % (count // 2, count // 2 + 1, " 2" if how == "multi" else ""))["result"] == "blocked"
        print("closed in %.2f ms" % ((closed - start) * 1e3))
    time.sleep(0.2)
    go_on.value = 0
    times = sorted(here.recv())
    worker.join()
    incidents = json.loads(urllib.request.urlopen(base + "api/v1/incidents?ended=1").read())["incidents"]
    if len(incidents) != rounds or not good:
        print("%d incidents, answers %s" % (len(incidents), good))
    good &= len(incidents) == rounds and all(len(incident["processes"]) == min(count, 2000) for incident in incidents)
    print("beside: %d answers, median %.3f ms, 99 %% %.3f ms, longest %.2f ms" % (
        len(times), times[len(times) // 2] * 1e3, times[len(times) * 99 // 100] * 1e3, times[-1] * 1e3))
    return good


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    how = sys.argv[3] if len(sys.argv) > 3 else "single"
    with one_service(sys.argv[1], "turns") as (path, base):
        good = play(path, base, count, how)
        print("longest: " + ", ".join("%s %.2f ms" % item for item in longest(base).items()))
    print("%d passed, %d failed" % (good, not good))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
