"""Deadlocks of many kinds, many at a time, while `gordian watch --act cancel` ends them.

A pair of clients has two rows, its own on each side, and a connection to each server. Every deadlock of a pair is
one of these, by chance:

    across      each client holds a row on one server and wants the other's on the other: no server sees it
    local       on one server, whose own detector runs after 100 ms to 1 s: the watcher knows of 100 ms, and so is
                about to act when the detector does
    patient     on one server, with a detector that is put off: the watcher has to act

and a client that loses does one of these:

    plain       rolls back
    savepoint   rolls back to a savepoint, goes on working with what it holds, while the other waits, and rolls back
    retry       rolls back to a savepoint and asks again, which closes the cycle again; then rolls back
    stubborn    catches the cancel within its statement and waits again: its session has to end

The winner goes on working, and commits; the loser then does its transaction again, and waits in that for the winner.

What was hit is taken from the servers' logs: every statement that was cancelled and every session that was ended, and
every order of the watcher, with its beginning and its end. What was hit must be a statement that waits in a cycle,
and the statement of the other client must wait from before that order until after its beginning. All times are of
one machine, and only the order of events that cause each other counts: a server logs a statement before it runs it,
and an error before it releases the locks.
"""
import ctypes
import csv
import datetime
import os
import random
import re
import threading
import time

from servers import PATIENCE

PAIRS = 32
CANCELLED, TERMINATED, DEADLOCK = "57014", "57P01", "40P01"


def library():
    pq = ctypes.CDLL("libpq.so.5")
    for name in ("PQconnectdb", "PQexec"):
        getattr(pq, name).restype = ctypes.c_void_p
    for name in ("PQerrorMessage", "PQresultErrorField", "PQgetvalue"):
        getattr(pq, name).restype = ctypes.c_char_p
    return pq


PQ = library()


class Failed(Exception):
    def __init__(self, state, message):
        super().__init__(f"{state} {message}")
        self.state = state


class Session:
    def __init__(self, address):
        self.address = address
        self.open()

    def open(self):
        self.conn = ctypes.c_void_p(PQ.PQconnectdb(self.address.encode()))
        if PQ.PQstatus(self.conn) != 0:
            raise RuntimeError(PQ.PQerrorMessage(self.conn).decode())
        self.pid = PQ.PQbackendPID(self.conn)

    def close(self):
        PQ.PQfinish(self.conn)

    def reopen(self):
        self.close()
        self.open()

    def run(self, sql):
        result = ctypes.c_void_p(PQ.PQexec(self.conn, sql.encode()))
        good = PQ.PQresultStatus(result) in (1, 2)
        state = (PQ.PQresultErrorField(result, ord("C")) or b"lost").decode() if not good else ""
        PQ.PQclear(result)
        if not good:
            message = PQ.PQerrorMessage(self.conn).decode().strip()
            ended = "terminating connection due to administrator command" in message
            raise Failed(TERMINATED if ended else state, f"{sql}: {message}")


class Wait:
    """A statement that waits in a cycle, and from when to when, as its client knows."""

    def __init__(self, name):
        self.name, self.sent, self.ended, self.state = name, time.time(), None, None


class Deadlock:
    """One of a pair. `waits` has those of each side, in their order."""

    def __init__(self, number, kind, reaction, chance):
        self.number, self.kind, self.reaction, self.chance = number, kind, reaction, chance
        self.barrier = threading.Barrier(2)
        self.waits = ([], [])
        self.settled = (threading.Event(), threading.Event())  # by side: it waits in no cycle any more
        self.timeout = "600s" if kind == "patient" else f"{chance.randint(100, 1000)}ms"
        self.pause = chance.random() * 0.2


class Side(threading.Thread):
    """A client of a pair. On server s it holds row base + side, and wants that of the other."""

    def __init__(self, soak, pair, side, deadlocks):
        super().__init__(daemon=True)
        self.soak, self.side, self.deadlocks = soak, side, deadlocks
        self.rows = [4 * pair + 1, 4 * pair + 2]  # own, by side; the next two are private
        self.private = 4 * pair + 3 + side
        self.sessions = [Session(server.address(application=f"soak-{pair}-{side}"))
                         for server in (soak.world.a, soak.world.b)]

    def run(self):
        try:
            for deadlock in self.deadlocks:
                self.meet(deadlock)
        except Exception as error:
            self.soak.fault(f"{self.sessions[0].address.split('application_name=')[1]}: {error!r}")
            for deadlock in self.deadlocks:
                deadlock.barrier.abort()
        for session in self.sessions:
            session.close()

    def places(self, deadlock):
        """The sessions in which the row is held, and in which the other's is wanted."""
        if deadlock.kind != "across":
            return self.sessions[0], self.sessions[0]
        return self.sessions[self.side], self.sessions[1 - self.side]

    def begin(self, deadlock, hold):
        for session in self.sessions:
            session.run(f"SET deadlock_timeout = '{deadlock.timeout}'")
            session.run("BEGIN")
        hold.run(f"UPDATE t SET v = v + 1 WHERE id = {self.rows[self.side]}")

    def want(self, deadlock, session):
        """The statement that closes the cycle. "": it was granted; otherwise the state of its error."""
        number = len(deadlock.waits[self.side])
        wait = Wait(f"wait {deadlock.number}.{self.side}.{number}")
        deadlock.waits[self.side].append(wait)
        row = self.rows[1 - self.side]
        sql = f"SELECT stubborn({row})" if deadlock.reaction == "stubborn" else f"UPDATE t SET v = v + 1 WHERE id = {row}"
        try:
            session.run(f"/* {wait.name} */ {sql}")
            wait.state = ""
        except Failed as failed:
            wait.state = failed.state
            if failed.state not in (CANCELLED, DEADLOCK, TERMINATED):
                raise
        wait.ended = time.time()
        return wait.state

    def work(self, deadlock):
        """Statements that must not be hit, in both sessions."""
        for session in self.sessions:
            session.run(f"/* work {deadlock.number} */ UPDATE t SET v = v + 1 WHERE id = {self.private}")
            session.run(f"/* work {deadlock.number} */ SELECT pg_sleep({deadlock.pause})")

    def end(self, how):
        for session in self.sessions:
            session.run(how)

    def meet(self, deadlock):
        hold, want = self.places(deadlock)
        self.begin(deadlock, hold)
        deadlock.barrier.wait(PATIENCE)
        if deadlock.reaction in ("savepoint", "retry"):
            want.run("SAVEPOINT before")
        state = self.want(deadlock, want)
        if state in (CANCELLED, DEADLOCK) and deadlock.reaction == "retry":
            want.run("ROLLBACK TO before")
            state = self.want(deadlock, want)
        if state and state != TERMINATED and deadlock.reaction == "savepoint":
            want.run("ROLLBACK TO before")
            self.work(deadlock)
        if not state:
            deadlock.settled[self.side].set()
            self.work(deadlock)
            self.end("COMMIT")
        else:
            self.start_over(deadlock, want, state)
        deadlock.barrier.wait(PATIENCE)
        self.soak.resolved(deadlock, self.side)

    def start_over(self, deadlock, want, state):
        if state == TERMINATED:
            want.reopen()
            for session in self.sessions:
                if session is not want:
                    session.run("ROLLBACK")
        else:
            self.end("ROLLBACK")
        # The other one may still work there: an ordinary wait. In one order, so that two losers do not meet again.
        deadlock.settled[self.side].set()
        deadlock.settled[1 - self.side].wait(PATIENCE)
        want.run("BEGIN")
        for row in self.rows:
            want.run(f"/* work {deadlock.number} */ UPDATE t SET v = v + 1 WHERE id = {row}")
        want.run("COMMIT")


class Order:
    """Of the watcher, as the server has logged it: its condition was checked between `began` and `ended`."""

    def __init__(self, how, pid, began, ended):
        self.how, self.pid, self.began, self.ended = how, pid, began, ended


class Soak:
    def __init__(self, world, gordian, wanted, seed=None):
        self.world, self.wanted = world, wanted
        self.chance = random.Random(seed)
        self.faults, self.lock, self.done = [], threading.Lock(), {}
        self.deadlocks, self.said = {}, ""
        self.counts, self.times = {}, []
        self.watch_arguments = ["--act", "cancel", "--link", "^soak-(.*)$"]
        self.took, self.began, self.errors = 0, time.time(), {}

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def resolved(self, deadlock, side):
        with self.lock:
            self.done.setdefault(deadlock.number, set()).add(side)

    def draw(self, number):
        """At least half of them across the servers. Those that take an escalation take seconds: a few."""
        kind = "across" if number % 20 < 11 else "local" if number % 20 < 17 else "patient"
        reaction = "stubborn" if number % 40 in (3, 19) else self.chance.choice(("plain", "savepoint", "retry"))
        return Deadlock(number, kind, reaction, self.chance)

    def run(self):
        deadlocks = [self.draw(number) for number in range(self.wanted)]
        self.deadlocks = {deadlock.number: deadlock for deadlock in deadlocks}
        pairs = min(PAIRS, self.wanted)
        sides = [Side(self, pair, side, deadlocks[pair::pairs]) for pair in range(pairs) for side in (0, 1)]
        options = " options='-c log_min_duration_statement=0 -c log_statement=all'"
        watch = self.world.watch(*self.watch_arguments, *(server.address() + options
                                                          for server in (self.world.a, self.world.b)))
        began = time.monotonic()
        for side in sides:
            side.start()
        for side in sides:
            side.join(PATIENCE)
        self.took = time.monotonic() - began
        self.said = watch.stop()
        for deadlock in deadlocks:
            if len(self.done.get(deadlock.number, ())) != 2:
                self.fault(f"deadlock {deadlock.number} ({deadlock.kind}, {deadlock.reaction}) was not resolved")
        self.judge()
        if self.faults:
            print(self.said[-4000:])
        return self

    # ---- what was hit

    def judge(self):
        waits = {wait.name: (deadlock, side, wait) for deadlock in self.deadlocks.values()
                 for side in (0, 1) for wait in deadlock.waits[side]}
        logs = {server: self.read_log(server) for server in (self.world.a, self.world.b)}
        for server, rows in logs.items():
            orders = find_orders(rows)
            self.count("cancel orders", sum(order.how == "cancel" for order in orders))
            self.count("terminate orders", sum(order.how == "terminate" for order in orders))
            for row in rows:
                if row["state"] in (CANCELLED, TERMINATED):
                    self.judge_hit(server, row, orders, waits)
                elif row["state"] == DEADLOCK:
                    self.count("by the server's own detector")
        for deadlock in self.deadlocks.values():
            self.count(deadlock.kind)
        self.count("orders that came too late, and did nothing", self.said.count("no longer waits in the cycle"))

    def count(self, what, by=1):
        self.counts[what] = self.counts.get(what, 0) + by

    def judge_hit(self, server, row, orders, waits):
        name = re.search(r"/\* (wait [0-9.]+) \*/", row["query"])
        what = f"{server.name}/{row['pid']} {row['state']} {row['time']:.3f} {row['query'][:80]!r}"
        self.count("statements cancelled" if row["state"] == CANCELLED else "sessions terminated")
        if not name:
            self.fault(f"not a wait: {what}")
            return
        before = [order for order in orders if order.pid == row["pid"] and order.began <= row["time"]
                  and order.how == ("cancel" if row["state"] == CANCELLED else "terminate")]
        if not before:
            self.fault(f"no order for it: {what}")
            return
        order = before[-1]
        deadlock, side, wait = waits[name[1]]
        if wait.sent > order.ended:
            self.fault(f"it did not wait yet: {what}")
        others = [other for other in deadlock.waits[1 - side] if self.waited(other, order, row)]
        if not others:
            self.fault(f"no cycle: {what}, ordered {order.began:.4f} to {order.ended:.4f}; the other: " +
                       str([(other.name, other.sent, other.ended, other.state) for other in deadlock.waits[1 - side]]))
        elif not any(not other.state or self.errors[other.name] >= row["time"] for other in others):
            self.count("ended otherwise while the order was under way")
        self.times.append(order.ended - order.began)

    def waited(self, other, order, row):
        """Did it wait when the order was checked? One that was granted its lock waited until the one that was hit
        had released it, which is after its error was logged. One that failed waited until its own error, or a
        moment less."""
        if other.sent > order.ended or other.ended is None:
            return other.ended is None
        return other.ended >= row["time"] if not other.state else self.errors[other.name] >= order.began

    def read_log(self, server):
        path = os.path.join(server.data, "log", "all.csv")
        with open(path, newline="", encoding="utf-8") as file:
            rows = [{"time": read_time(row[0]), "pid": int(row[3]), "severity": row[11], "state": row[12],
                     "message": row[13], "query": row[19], "application": row[22]} for row in csv.reader(file)]
        for row in rows:
            name = re.search(r"/\* (wait [0-9.]+) \*/", row["query"])
            if name and row["severity"] in ("ERROR", "FATAL"):
                self.errors[name[1]] = row["time"] + 0.001  # the log has milliseconds
        return [row for row in rows if row["time"] >= self.began - 0.001]

    def summary(self):
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        longest = f"; an order took {1000 * max(self.times):.1f} ms at most" if self.times else ""
        return f"{len(self.done)} of {self.wanted} deadlocks resolved in {self.took:.1f} s: {counts}{longest}"


def read_time(text):
    return datetime.datetime.strptime(text[:23], "%Y-%m-%d %H:%M:%S.%f").replace(
        tzinfo=datetime.timezone.utc).timestamp()


def find_orders(rows):
    """By the line that is written before a statement runs, and the line with its duration."""
    orders, running = [], {}
    for row in rows:
        found = re.match(r"statement: .*pg_(cancel|terminate)_backend\((\d+)\)", row["message"], re.S)
        if found:
            running[row["pid"]] = Order(found[1], int(found[2]), row["time"], None)
            orders.append(running[row["pid"]])
        elif row["message"].startswith("duration: ") and row["pid"] in running:
            running.pop(row["pid"]).ended = row["time"] + 0.001  # the log has milliseconds, cut off
    return [order for order in orders if order.ended]
