#!/usr/bin/env python3
"""Readers of every kind at full speed beside sessions with short leases: none may be lost.

    readers.py GORDIAN [SECONDS [LEASE_SECONDS]]

Starts a service, fills a system with waits and a deadlock, then lets sessions send events one at a
time, by turns alone and beside the readers, ten slices of each and SECONDS in all, so that what else the machine does meets
both; without SECONDS a slice of each, until enough was answered. The sessions are the same from the first slice to the last.
Reports the latencies of both, over all and as medians of the slices; a session that was lost is an error, a latency is not.
"""
import multiprocessing
import os
import selectors
import socket
import statistics
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
from one_service import one_service  # noqa: E402

SESSIONS, PROCESSES, READERS = 100, 3000, 8
SLICES = 10  # of each kind, where a time is given
BETWEEN, ENDED = -1, -2  # slices: what is sent then does not count
ENOUGH = 5 * SESSIONS  # answers, where no time is given
PATHS = ["systems", "systems/default/graph", "systems/default/graph?only=waiting",
         "systems/default/graph?around=r0&depth=5", "systems/default/blockers",
         "systems/default/blockers?under=w0", "systems/default/chain?process=w7", "incidents",
         "incidents?process=w7", "incidents?open=1", "incidents/1", "rates", "rates?minutes=4320",
         "audit", "../../metrics"]


def fill(path):
    """A system worth asking about; it stays as long as the connection."""
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    lines = ["resource r%d" % i for i in range(PROCESSES)]
    lines += ["request w%d r%d" % (i, i) for i in range(PROCESSES)]
    lines += ["request w%d r%d" % (i, i // 5) for i in range(5, PROCESSES)]
    lines += ["request w0 r1", "request w1 r0", "ping"]
    receiver = link.makefile("rb")
    sender = multiprocessing.Process(target=link.sendall, args=(("\n".join(lines) + "\n").encode(),))
    sender.start()
    while b"pong" not in receiver.readline():
        pass
    sender.join()
    return link


def keep_sessions(path, lease, now_is, answers, found):
    """Each session sends an event, waits for its answer, rests a little, each for another time, and so on. The first answer of
    each does not count: it waits for all others to be set up. An answer belongs to the slice in which its event was sent."""
    chooser, times, lost = selectors.DefaultSelector(), {}, 0
    links = []
    for i in range(SESSIONS):
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
        link.sendall(b"hello lease=%d\nresource own%d\nrequest s%d own%d\n" % (lease, i, i, i))
        chooser.register(link, selectors.EVENT_READ, i)
        links.append([link, None, True, True, BETWEEN])
    while now_is.value != ENDED:
        for key, _ in chooser.select(0.001):
            data = key.fileobj.recv(65536)
            link = links[key.data]
            if not data or b'{"error"' in data:
                lost += 1
                chooser.unregister(key.fileobj)
                link[2] = None
                continue
            if b'"result"' in data and link[2]:
                now = time.monotonic()
                if link[4] != BETWEEN:
                    times.setdefault(link[4], []).append(now - link[1])
                    answers.value += 1
                link[1], link[2] = now, False
        now = time.monotonic()
        for i, link in enumerate(links):
            if link[2] is False and now - link[1] > 0.05 + i / 1000:
                link[3] = not link[3]
                link[4] = now_is.value
                link[0].sendall(b"%s s%d own%d\n" % (b"request" if link[3] else b"release", i, i))
                link[1], link[2] = time.monotonic(), True
    found.send((times, lost))


def read_on(base, now_is, wanted, busy, count):
    """As fast as it is answered, while that is wanted. In production readers are on machines of their own: here they take what is
    left of this one."""
    os.nice(19)
    at = os.getpid()
    while now_is.value != ENDED:
        if not wanted.wait(0.1):
            continue
        with busy.get_lock():
            busy.value += 1
        at += 1
        path = PATHS[at % len(PATHS)]
        url = base + ("metrics" if path.startswith("..") else "api/v1/" + path)
        try:
            urllib.request.urlopen(url, timeout=30).read()
            with count.get_lock():
                count.value += 1
        except OSError:
            pass  # 503: too many ask
        with busy.get_lock():
            busy.value -= 1


def buckets(base):
    """What the service itself has measured: events by how long each took from its arrival to its answer's departure."""
    lines = urllib.request.urlopen(base + "metrics").read().decode().split("\n")
    return [(float(line.split('"')[1].replace("+Inf", "inf")), float(line.split()[-1])) for line in lines
            if line.startswith("gordian_event_duration_seconds_bucket")]


def ninety_nine(counts):
    """In ms: below it, by the buckets' bounds, are 99 of 100."""
    return next((bound * 1e3 for bound, count in counts if count >= 0.99 * counts[-1][1]), 0)


def part(times, percent):
    """In ms: so many in a hundred are below it."""
    return sorted(times)[len(times) * percent // 100] * 1e3 if times else 0


def stolen():
    """Of this machine's time so far: what others on its host had, and all of it."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[7], sum(ticks)


class Load:
    """The sessions, and readers that read in every second slice."""

    def __init__(self, path, base, lease):
        self.base = base
        self.now_is, self.answers, self.count, self.busy = (
            multiprocessing.Value(kind, first) for kind, first in (("l", BETWEEN), ("L", 0), ("L", 0), ("l", 0)))
        self.wanted = multiprocessing.Event()
        self.here, there = multiprocessing.Pipe()
        self.own = [{}, {}]  # alone and beside, what the service itself has measured
        self.workers = [multiprocessing.Process(target=keep_sessions, args=(path, lease, self.now_is, self.answers, there))]
        self.workers += [multiprocessing.Process(target=read_on, args=(base, self.now_is, self.wanted, self.busy, self.count))
                         for _ in range(READERS)]
        for worker in self.workers:
            worker.start()

    def enough(self, beside, answers, read):
        return self.answers.value >= answers + ENOUGH and (not beside or self.count.value >= read + len(PATHS))

    def slice(self, number, seconds):
        """It begins when no reader is at it any more."""
        beside = number % 2
        while self.busy.value:
            time.sleep(0.01)
        before = buckets(self.base)
        answers, read, end = self.answers.value, self.count.value, time.monotonic() + seconds
        if beside:
            self.wanted.set()
        self.now_is.value = number
        while time.monotonic() < end or (not seconds and not self.enough(beside, answers, read)):
            time.sleep(0.01)
        self.now_is.value = BETWEEN
        self.wanted.clear()
        for (bound, late), (_, early) in zip(buckets(self.base), before):
            self.own[beside][bound] = self.own[beside].get(bound, 0) + late - early

    def end(self):
        self.now_is.value = ENDED
        times, lost = self.here.recv()
        for worker in self.workers:
            worker.join()
        return times, lost


def report(name, slices, more):
    """The 99th percentile of everything, and the median of those of the slices."""
    everything = [time for times in slices for time in times]
    each = [part(times, 99) for times in slices]
    print("%s %d answers, median %.2f ms, 99 %% %.2f ms%s" % (name, len(everything), part(everything, 50), part(everything, 99), more))
    print("        99 %% of each slice: %s ms" % " ".join("%.2f" % value for value in each))
    return part(everything, 99), statistics.median(each)


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0
    lease = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    count = 2 * SLICES if seconds else 2
    before = stolen()
    with one_service(sys.argv[1], "readers") as (path, base):
        kept = fill(path)
        load = Load(path, base, lease)
        for number in range(count):
            load.slice(number, seconds / count)
        times, lost = load.end()
        spans = [line for line in urllib.request.urlopen(base + "metrics").read().decode().split("\n")
                 if line.startswith(("gordian_loop_longest", "gordian_stalls_total"))]
        kept.close()
    alone, beside = ([times.get(number, []) for number in range(first, count, 2)] for first in (0, 1))
    whole, median = zip(report("alone: ", alone, ""), report("beside:", beside, ", %d requests read" % load.count.value))
    print("99 %%: %.2f times by the medians of the slices, %.2f times by all answers" % tuple(
        after / max(first, 1e-9) for first, after in (median, whole)))
    print("%d sessions with leases of %d s, %.0f s, %d lost" % (SESSIONS, lease, seconds, lost))
    print("in the service itself, 99 %%: below %g ms alone, below %g ms beside" % tuple(
        ninety_nine(sorted(counts.items())) for counts in load.own))
    after = stolen()
    print("the machine: load %.1f, %.0f %% of its time taken by its host" % (
        os.getloadavg()[0], 100 * (after[0] - before[0]) / max(after[1] - before[1], 1)))
    print("\n".join(spans))
    good = lost == 0 and all(alone) and all(beside) and load.count.value > 0
    print("%d passed, %d failed" % (good, not good))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
