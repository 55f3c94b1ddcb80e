#!/usr/bin/env python3
"""Three servers on one store: cluster.py CRASH-CLUSTER GORDIAN [KILLS PAUSES HAND-OVERS FAIL-OVERS]. PostgreSQL has a
synchronous stand-by, which is promoted when its primary is killed; then the roles are the other way round."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import servers  # noqa: E402


class Node(servers.PostgresServer):
    """One of two, of which one follows the other."""

    def __init__(self, scratch, name, primary=None):
        if not primary:
            super().__init__(scratch, name)
            return
        self.scratch, self.name, self.bin = scratch, name, primary.bin
        self.data = os.path.join(scratch.folder, name)
        self.port = servers.free_port()

    def follow(self, primary):
        shutil.rmtree(self.data, ignore_errors=True)
        self.scratch.run([f"{self.bin}/pg_basebackup", "-D", self.data, "-h", self.scratch.folder, "-p",
                          str(primary.port), "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync",
                          "-d", f"application_name={self.name}"])
        self.start()
        primary.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{self.name}'")
        primary.ask("SELECT pg_reload_conf()")
        servers.wait_until("a synchronous stand-by", lambda: self.name in primary.ask(
            "SELECT application_name FROM pg_stat_replication WHERE sync_state = 'sync'"))

    def start(self):
        self.process = self.scratch.start(
            [f"{self.bin}/postgres", "-D", self.data, "-k", self.scratch.folder, "-p", str(self.port), "-c",
             "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=100", "-c", "shared_buffers=16MB",
             "-c", "wal_keep_size=256MB", "-c", "hot_standby=on", "-c", "max_wal_size=256MB"], self.name + ".log")
        servers.wait_until(self.name, self.answers)

    def ask(self, sql):
        return subprocess.run(["psql", "-XAtq", "-h", self.scratch.folder, "-p", str(self.port), "-U", "postgres",
                               "postgres", "-c", sql], capture_output=True, text=True).stdout

    def die(self):
        """At once, with all its children."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()
        self.scratch.running.remove(self.process)

    def promote(self):
        self.ask("SELECT pg_promote()")


def main():
    if not servers.postgres_folder():
        print("there is no PostgreSQL here")
        return 77
    scale = int(os.environ.get("GORDIAN_TEST_SCALE", "100"))
    usual = [max(1, count * scale // 100) for count in (4, 2, 2, 1)]
    times = [int(word) for word in sys.argv[3:]] or usual
    scratch = servers.Scratch()
    primary, standby = Node(scratch, "one"), None
    primary.start()
    if times[3]:
        standby = Node(scratch, "two", primary)
        standby.follow(primary)
    ports = f"{primary.port},{standby.port}" if standby else str(primary.port)
    hosts = ",".join([scratch.folder] * (2 if standby else 1))
    address = f"host='{hosts}' port={ports} user=postgres dbname=postgres target_session_attrs=read-write"
    test = subprocess.Popen([sys.argv[1], sys.argv[2], *map(str, times)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, env={**os.environ, "GORDIAN_TEST_POSTGRES": address})
    scratch.running.append(test)
    for line in test.stdout:
        if line != "failover\n":
            print(line, end="", flush=True)
            continue
        primary.die()
        standby.promote()
        # A new primary waits for nobody until there is somebody to wait for.
        servers.wait_until("the promotion", lambda: "f" in standby.ask("SELECT pg_is_in_recovery()"))
        standby.ask("ALTER SYSTEM RESET synchronous_standby_names")
        standby.ask("SELECT pg_reload_conf()")
        test.stdin.write("done\n")
        test.stdin.flush()
        primary, standby = standby, primary
        standby.follow(primary)
    code = test.wait()
    scratch.running.remove(test)
    return code


sys.exit(main())
