"""Cases of databases.py: many sessions that wait for one lock."""
import os
import random
import signal
import threading

from databases import GORDIAN, case, check, must_find, must_not_find
from servers import Watch, wait_until


class Counted:
    """pg_locks and pg_blocking_pids as the watcher finds them on this server, with a count of how often each was used.
    """

    def __init__(self, world):
        self.admin = world.admins["pga"]
        self.before = (0, 0)
        for sql in ("CREATE SCHEMA counted", "CREATE SEQUENCE counted.scans", "CREATE SEQUENCE counted.calls",
                    "CREATE VIEW counted.pg_locks AS SELECT l.* FROM "
                    "(SELECT nextval('counted.scans') OFFSET 0) n, pg_catalog.pg_locks l",
                    "CREATE FUNCTION counted.pg_blocking_pids(pid int) RETURNS int[] LANGUAGE sql AS "
                    "'SELECT nextval(''counted.calls''); SELECT pg_catalog.pg_blocking_pids(pid)'"):
            self.admin.run(sql)
        self.address = world.a.address() + " options='-csearch_path=counted,pg_catalog,public'"

    def used(self):
        """Scans of pg_locks and calls of pg_blocking_pids since the last time."""
        now = tuple(int(self.admin.run(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM counted.{name}"))
                    for name in ("scans", "calls"))
        used = tuple(new - old for new, old in zip(now, self.before))
        self.before = now
        return used

    def close(self):
        self.admin.run("DROP SCHEMA counted CASCADE")


@case
def storm_of_equals(world):
    """200 want one row: the server is asked once for all of them, not once for each."""
    holder = world.sessions(1)[0]
    holder.run("UPDATE t1 SET v = 1 WHERE id = 5")
    crowd = world.client(*[world.a.address(application="crowd")] * 200)
    for i in range(200):
        crowd.run("&UPDATE t1 SET v = 1 WHERE id = 5", i)
    world.await_waits(200)
    counted = Counted(world)
    try:
        watch = Watch(GORDIAN, "--once", counted.address)
        summary = must_not_find(watch)
        looks = summary["servers"][0]["looks"]
        scans, calls = counted.used()
        check(summary["waiting"] == 200 and summary["roots"][0]["behind"] == 200, "the crowd", summary)
        check(0 < scans <= 3 * looks and calls == 0, "questions", scans, calls, looks)
    finally:
        counted.close()


def cycle_through_a_queue(world, readers):
    """Readers wait behind a writer, which waits for a reader: the last of them closes a cycle with the other server,
    by its place in the queue."""
    reader, writer = world.client(world.a.address(application="shop-1"), world.b.address(application="shop-1")), \
        world.sessions(1)[0]
    last = world.client(world.a.address(application="shop-2"), world.b.address(application="shop-2"))
    for client in (reader, last):
        client.run("BEGIN", 0)
        client.run("BEGIN", 1)
    reader.run("SELECT * FROM t1", 0)
    last.run("UPDATE t1 SET v = 1 WHERE id = 6", 1)
    writer.send("LOCK TABLE t1")
    world.await_waits(1)
    crowd = world.client(*[world.a.address(application="crowd")] * readers)
    for i in range(readers):
        crowd.run("&SELECT * FROM t1", i)
    world.await_waits(1 + readers)
    last.send("SELECT * FROM t1", 0)
    world.await_waits(2 + readers)
    reader.send("UPDATE t1 SET v = 1 WHERE id = 6", 1)
    world.await_waits(1, world.b)


@case
def storm_through_a_queue(world):
    """No server mends that cycle, and the places of all of 80 readers are not asked for."""
    cycle_through_a_queue(world, 80)
    counted = Counted(world)
    try:
        both = [counted.address, world.b.address()]
        must_not_find(Watch(GORDIAN, "--once", *both))
        counted.used()
        watch = Watch(GORDIAN, "--once", "--link", "^shop-(.*)$", *both)
        found = must_find(watch, 5, 2)
        check(sorted(edge["relation"] for edge in found["edges"]) == ["client", "client", "holds", "holds", "queued"], "edges",
              found)
        scans, calls = counted.used()
        looks = watch.summary["servers"][0]["looks"]
        check(0 < scans <= 3 * looks and 0 < calls <= 64 * looks, "questions", scans, calls, looks)
    finally:
        counted.close()


def watch_with_late_server(world, counted, scans):
    """The other server is stopped until the first has been asked so often, or is given up."""
    os.kill(world.b.process.pid, signal.SIGSTOP)  # nobody connects
    first, ended = counted.used() and counted.before[0], threading.Event()

    def resume():
        try:
            wait_until("scans", lambda: ended.is_set() or counted.used() and counted.before[0] >= first + scans)
        finally:
            os.kill(world.b.process.pid, signal.SIGCONT)

    thread = threading.Thread(target=resume)
    thread.start()
    try:
        return Watch(GORDIAN, "--once", "--link", "^shop-(.*)$", counted.address, world.b.address())
    finally:
        ended.set()
        thread.join()


@case
def slow_second_server(world):
    """A place in a queue matters only once the other server has answered: --once goes on until it is confirmed, however
    often the first server has been asked by then. On a busy machine the other is given up before that, so that less is
    asked for."""
    cycle_through_a_queue(world, 80)
    counted = Counted(world)
    try:
        for scans in 15, 8, 1:
            watch = watch_with_late_server(world, counted, scans)
            if watch.code != 5:
                break
        must_find(watch, 5, 2)
    finally:
        counted.close()


MODES = ("ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE",
         "EXCLUSIVE", "ACCESS EXCLUSIVE")


def behind(waits, pid):
    """All whom a session waits for, directly or not."""
    reached, left = set(), [pid]
    while left:
        for other in waits.get(left.pop(), ()):
            if other not in reached:
                reached.add(other)
                left.append(other)
    return reached


@case
def random_queues(world):
    """Whatever sessions hold and want of two tables: who is in whose way is what the server says. Where its list is
    shortened, the rest of it follows."""
    admin, chance = world.admins["pga"], random.Random(7)
    waiting = 0
    for _ in range(4):
        sessions = world.sessions(10)
        pids = {session: session.run("SELECT pg_backend_pid()") for session in sessions}
        for session in sessions:
            for table in chance.sample(("t1", "t2"), chance.randrange(3)):
                session.run("SAVEPOINT s")
                session.send(f"LOCK TABLE {table} IN {chance.choice(MODES[:5])} MODE NOWAIT")
                if not session.answer().startswith("ok"):
                    session.run("ROLLBACK TO SAVEPOINT s")
        for session in sessions:
            session.send(f"LOCK TABLE {chance.choice(('t1', 't2'))} IN {chance.choice(MODES)} MODE")
            wait_until("an answer, or a wait", lambda: admin.run(
                f"SELECT state <> 'active' OR coalesce(wait_event_type, '') = 'Lock' FROM pg_stat_activity "
                f"WHERE pid = {pids[session]} AND query LIKE 'LOCK TABLE%MODE'") == "t")  # noqa: B023
        watch = world.once("--stall", "0.000001")
        said = {stall["parties"][0]["pid"]: {other["pid"] for other in stall["parties"][1:]} for stall in watch.stalls}
        truth = {}
        for pid in pids.values():
            blockers = admin.run(f"SELECT pg_blocking_pids({pid})").strip("{}")
            if blockers:
                truth[int(pid)] = {int(blocker) for blocker in blockers.split(",")}
        check(said.keys() == truth.keys(), "who waits", said, truth)
        for pid, blockers in truth.items():
            check(said[pid] <= blockers, "nobody else is in the way", pid, said, truth)
            check(behind(said, pid) == behind(truth, pid), "all are", pid, said, truth)
        waiting += len(truth)
        world.clean()
    check(waiting > 10, "sessions that wait", waiting)
