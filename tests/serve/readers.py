#!/usr/bin/env python3
"""Readers of every kind at full speed beside sessions with short leases: none may be lost.

    readers.py GORDIAN [SECONDS [LEASE_SECONDS]]

Starts a service, fills a system with waits and a deadlock, then lets sessions send events one at a
time, first alone, for a minute at most, and then beside the readers: for so long, or until enough was answered.
Reports the latencies of both; a session that was lost is an error, a latency is not.
"""
import multiprocessing
import os
import selectors
import socket
import sys
import time
import urllib.request

sys.dont_write_bytecode = True
from one_service import one_service  # noqa: E402

SESSIONS, PROCESSES = 100, 3000
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


def keep_sessions(path, lease, go_on, answers, found):
    """Each session sends an event, waits for its answer, rests a little, each for another time, and so on. The first answer of
    each does not count: it waits for all others to be set up."""
    chooser, times, lost = selectors.DefaultSelector(), [], 0
    links = []
    for i in range(SESSIONS):
        link = socket.socket(socket.AF_UNIX)
        link.connect(path)
        link.sendall(b"hello lease=%d\nresource own%d\nrequest s%d own%d\n" % (lease, i, i, i))
        chooser.register(link, selectors.EVENT_READ, i)
        links.append([link, None, True, True])
    while go_on.value:
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
                if link[1]:
                    times.append(now - link[1])
                    answers.value = len(times)
                link[1], link[2] = now, False
        now = time.monotonic()
        for i, link in enumerate(links):
            if link[2] is False and now - link[1] > 0.05 + i / 1000:
                link[3] = not link[3]
                link[0].sendall(b"%s s%d own%d\n" % (b"request" if link[3] else b"release", i, i))
                link[1], link[2] = time.monotonic(), True
    times.sort()
    found.send((len(times), times[len(times) // 2] if times else 0, times[len(times) * 99 // 100] if times else 0, lost))


def read_on(base, go_on, count):
    """As fast as it is answered. In production readers are on machines of their own: here they take what is left of this one."""
    os.nice(19)
    at = os.getpid()
    while go_on.value:
        at += 1
        path = PATHS[at % len(PATHS)]
        url = base + ("metrics" if path.startswith("..") else "api/v1/" + path)
        try:
            urllib.request.urlopen(url, timeout=30).read()
            with count.get_lock():
                count.value += 1
        except OSError:
            pass  # 503: too many ask


def buckets(base):
    """What the service itself has measured: events by how long each took from its arrival to its answer's departure."""
    lines = urllib.request.urlopen(base + "metrics").read().decode().split("\n")
    return [(float(line.split('"')[1].replace("+Inf", "inf")), float(line.split()[-1])) for line in lines
            if line.startswith("gordian_event_duration_seconds_bucket")]


def ninety_nine(before, after):
    """In ms: below it, by the buckets' bounds, are 99 of 100."""
    counts = [(bound, late - early) for (bound, late), (_, early) in zip(after, before)]
    return next((bound * 1e3 for bound, count in counts if count >= 0.99 * counts[-1][1]), 0)


def measure(path, base, seconds, lease, readers):
    go_on, count, answers = (multiprocessing.Value(kind, first) for kind, first in (("b", 1), ("L", 0), ("L", 0)))
    requests = count if readers else None
    here, there = multiprocessing.Pipe()
    workers = [multiprocessing.Process(target=keep_sessions, args=(path, lease, go_on, answers, there))]
    workers += [multiprocessing.Process(target=read_on, args=(base, go_on, count)) for _ in range(readers)]
    for worker in workers:
        worker.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end or (not seconds and (answers.value < ENOUGH or (requests and requests.value < len(PATHS)))):
        time.sleep(0.01)
    go_on.value = 0
    result = here.recv()
    for worker in workers:
        worker.join()
    return result + (count.value,)


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0
    lease = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    with one_service(sys.argv[1], "readers") as (path, base):
        kept = fill(path)
        own = [buckets(base)]
        alone = measure(path, base, min(seconds, 60), lease, 0)
        own.append(buckets(base))
        beside = measure(path, base, seconds, lease, 8)
        own.append(buckets(base))
        spans = [line for line in urllib.request.urlopen(base + "metrics").read().decode().split("\n")
                 if line.startswith(("gordian_loop_longest", "gordian_stalls_total"))]
        kept.close()
    print("alone:  %d answers, median %.2f ms, 99 %% %.2f ms, %d lost" % (alone[0], alone[1] * 1e3, alone[2] * 1e3, alone[3]))
    print("beside: %d answers, median %.2f ms, 99 %% %.2f ms, %d lost, %d requests read"
          % (beside[0], beside[1] * 1e3, beside[2] * 1e3, beside[3], beside[4]))
    print("99 %%: %.2f times; the largest of %d sessions with leases of %d s, %.0f s" % (beside[2] / max(alone[2], 1e-9), SESSIONS, lease, seconds))
    print("in the service itself, 99 %%: below %g ms alone, below %g ms beside" % (ninety_nine(own[0], own[1]), ninety_nine(own[1], own[2])))
    print("\n".join(spans))
    good = alone[3] == 0 and beside[3] == 0 and alone[0] > 0 and beside[0] > 0 and beside[4] > 0
    print("%d passed, %d failed" % (good, not good))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
