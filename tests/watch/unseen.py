"""Cases of databases.py: what cannot be seen is said, and exit status 5; nothing is all clear then."""
import json
import subprocess

from databases import GORDIAN, UPDATE, case, check, must_find, must_not_find
from servers import Client, PostgresServer, Watch, free_port, wait_until


def must_miss(watch, reason):
    """Nothing is found, and what was not seen is named."""
    check(watch.code == 5 and not watch.deadlocks, "incomplete", watch.code, watch.text, watch.said)
    check(watch.summary["complete"] is False, "not complete", watch.summary)
    reasons = [unseen["reason"] for unseen in watch.summary["unseen"]]
    check(any(reason in text for text in reasons), reason, watch.summary)
    return watch.summary


@case
def nobody_there(world):
    """No server is reached: that is no "no deadlock"."""
    places = [f"host=127.0.0.1 port={free_port()} user=x", "host=/nonexistent port=1 user=x dbname=x"]
    for arguments in (places[:1], places, [world.a.address(), places[0]]):
        done = subprocess.run([GORDIAN, "watch", "--once", *arguments], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL)
        check(done.returncode == 5, "exit status", done)
        check("no deadlock" not in done.stdout and "not seen: " in done.stdout, "what was not seen", done)
        check("\\x" not in done.stdout + done.stderr and "\t" not in done.stdout + done.stderr, "a clean message", done)
        check(("nothing was seen" in done.stdout) == (world.a.address() not in arguments), "how much", done)
    summary = must_miss(Watch(GORDIAN, "--once", *places), "No such file or directory; Is the server running")
    check(summary["deadlocks"] == 0 and len(summary["unseen"]) == 2, "both", summary)
    # Until it is interrupted: the same.
    process = subprocess.Popen([GORDIAN, "watch", "--json", places[0]], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    line, said = json.loads(process.stdout.readline()), process.stderr.readline()
    process.terminate()
    process.communicate()
    check(process.returncode == 5 and "refused" in said, "exit status", process.returncode, said)
    check(line["report"] == "unseen" and "refused" in line["reason"], "the line", line)


@case
def weak_role_with_waits(world):
    """Without the right to see what sessions do, what they wait for elsewhere is not seen."""
    holder, waiter = world.sessions(2)
    must_not_find(Watch(GORDIAN, "--once", world.a.address(user="weak")))  # nobody waits: nothing can be missed
    holder.run(UPDATE)
    waiter.send(UPDATE)
    world.await_waits(1)
    must_miss(Watch(GORDIAN, "--once", world.a.address(user="weak")), "GRANT pg_read_all_stats TO weak")


@case
def call_from_elsewhere(world):
    """A session that holds up others waits for a server that is not watched."""
    far, caller, waiter = world.sessions(1, world.b)[0], *world.sessions(2)
    far.run("UPDATE t1 SET v = 1 WHERE id = 3")
    caller.run("UPDATE t1 SET v = 1 WHERE id = 4")
    caller.send("UPDATE far SET v = 1 WHERE id = 3")
    world.await_waits(1, world.b)
    waiter.send("UPDATE t1 SET v = 1 WHERE id = 4")
    world.await_waits(1)
    must_miss(world.once(), "waits for an answer from another server")
    must_not_find(world.once(servers=[world.a, world.b]))


@case
def standby_replay(world):
    """Replay on a standby waits for a lock of a session there: that is seen. It waits for a session that may still need
    rows: that there is a wait is seen, and not whose."""
    world.admins["pga"].run("CREATE TABLE replayed AS SELECT * FROM t1")
    standby = PostgresServer(world.scratch, "standby", primary=world.a)
    standby.start()
    admin, reader = Client(world.scratch, standby.address()), world.client(standby.address(application="reader"))
    primary = world.admins["pga"]

    def await_replay(event):
        wait_until(event, lambda: admin.run("SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup'")
                   == event)

    reader.run("BEGIN")
    reader.run("SELECT * FROM replayed")
    primary.run("BEGIN")
    primary.run("LOCK TABLE replayed")
    primary.run("COMMIT")
    await_replay("relation")
    summary = must_not_find(Watch(GORDIAN, "--once", standby.address()))
    check([root["root"]["application"] for root in summary["roots"]] == ["reader"], "the root", summary)
    reader.run("COMMIT")
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    reader.run("SELECT * FROM replayed")
    primary.run("UPDATE replayed SET v = v + 1")
    primary.run("VACUUM replayed")
    await_replay("RecoveryConflictSnapshot")
    must_miss(Watch(GORDIAN, "--once", standby.address()), "replays changes from the primary")
    reader.run("COMMIT")
    admin.close()
    standby.stop()
    primary.run("DROP TABLE replayed")


@case
def maria_rights(world):
    """Exactly the documented rights: PROCESS for transactions; SELECT on the performance schema for metadata locks;
    CONNECTION ADMIN to end sessions."""
    admin = world.admins["maria"]
    for user, grants in (("sees", ["PROCESS ON *.*"]),
                         ("monitor", ["PROCESS ON *.*", "SELECT ON performance_schema.*", "CONNECTION ADMIN ON *.*"])):
        admin.run(f"CREATE USER {user}@'%'")
        for grant in grants:
            admin.run(f"GRANT {grant} TO {user}@'%'")
    one, two = (world.client(world.maria.address()) for _ in range(2))
    for client, row in ((one, 1), (two, 2)):
        client.run("BEGIN")
        client.run(f"UPDATE t1 SET v = 1 WHERE id = {row}")
    one.send("UPDATE t1 SET v = 1 WHERE id = 2")
    two.send("UPDATE t1 SET v = 1 WHERE id = 1")
    world.await_waits(2, world.maria)
    watch = Watch(GORDIAN, "--once", world.maria.uri("sees"))
    must_find(watch, 2)
    check("GRANT SELECT ON performance_schema.*" in watch.said, "the grant", watch.said)
    watch = Watch(GORDIAN, "--once", "--act", "terminate", world.maria.uri("monitor"))
    must_find(watch, 2)
    check("GRANT" not in watch.said and "refused" not in watch.said, "no grant is missing", watch.said)
    world.await_waits(0, world.maria)
    world.clean()
    reader, changer = (world.client(world.maria.address()) for _ in range(2))
    reader.run("BEGIN")
    reader.run("SELECT * FROM t1")
    changer.send("ALTER TABLE t1 COMMENT 'changed'")
    await_state(world, "Waiting for table metadata lock")
    summary = must_not_find(Watch(GORDIAN, "--once", world.maria.uri("monitor")))
    check(summary["waiting"] == 1 and len(summary["roots"]) == 1, "the root", summary)
    summary = must_miss(Watch(GORDIAN, "--once", world.maria.uri("sees")), "GRANT SELECT ON performance_schema.*")
    check(summary["waiting"] == 1, "it waits", summary)


def await_state(world, state, count=1):
    wait_until(state, lambda: world.admins["maria"].run(
        f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = '{state}'") == str(count))
    world.await_sleep()


@case
def maria_user_locks(world):
    """GET_LOCK and a row: each kind of lock has its own search for deadlocks, and neither sees the other."""
    one, two = (world.client(world.maria.address()) for _ in range(2))
    one.run("SELECT GET_LOCK('nightly', 0)")
    two.run("BEGIN")
    two.run(UPDATE)
    two.send("SELECT GET_LOCK('nightly', 3600)")
    await_state(world, "User lock")
    must_not_find(world.once(servers=[world.maria]))
    one.send(UPDATE)
    world.await_waits(1, world.maria)
    found = must_find(world.once(servers=[world.maria]), 2)
    check("user lock 'nightly'" in {edge["object"] for edge in found["edges"]}, "objects", found)


@case
def maria_read_lock(world):
    """FLUSH TABLES WITH READ LOCK in a client that waits on another server for one whose commit it holds up."""
    one, two = (world.client(world.a.address(tcp=True), world.maria.address(tcp=True)) for _ in range(2))
    one.run("BEGIN", 0)
    two.run("BEGIN", 0)
    two.run(UPDATE, 0)
    two.run("BEGIN", 1)
    two.run(UPDATE, 1)
    one.run("FLUSH TABLES WITH READ LOCK", 1)
    two.send("COMMIT", 1)
    await_state(world, "Waiting for backup lock")
    must_not_find(world.once(servers=[world.a, world.maria]))
    one.send(UPDATE, 0)
    world.await_waits(1, world.a)
    found = must_find(world.once(servers=[world.a, world.maria]), 4, 2)
    check("backup lock" in {edge["object"] for edge in found["edges"]}, "objects", found)


@case
def maria_without_instrument(world):
    """The server does not write metadata locks down: a blocked ALTER is seen to wait, and that is all."""
    admin = world.admins["maria"]
    admin.run("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'wait/lock/metadata/sql/mdl'")
    try:
        reader, changer = (world.client(world.maria.address()) for _ in range(2))
        reader.run("BEGIN")
        reader.run("SELECT * FROM t1")
        changer.send("ALTER TABLE t1 COMMENT 'changed'")
        await_state(world, "Waiting for table metadata lock")
        summary = must_miss(world.once(servers=[world.maria]), "wait/lock/metadata/sql/mdl=ON")
        check(summary["waiting"] == 1, "it waits", summary)
        text = subprocess.run([GORDIAN, "watch", "--once", world.maria.uri()], text=True, capture_output=True).stdout
        check("no deadlock" not in text and "1 session waits" in text and "not seen: " in text, "the text", text)
    finally:
        admin.run("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' "
                  "WHERE NAME = 'wait/lock/metadata/sql/mdl'")
