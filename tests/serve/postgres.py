#!/usr/bin/env python3
"""Runs a test with a PostgreSQL of its own: postgres.py PROGRAM [ARGUMENT...], which finds its connection string in
GORDIAN_TEST_POSTGRES."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "watch"))
import servers  # noqa: E402


def main():
    if not servers.postgres_folder():
        print("there is no PostgreSQL here")
        return 77
    scratch = servers.Scratch()
    server = servers.PostgresServer(scratch, "store")
    server.start()
    environment = {**os.environ, "GORDIAN_TEST_POSTGRES": server.address()}
    return subprocess.run(sys.argv[1:], env=environment).returncode


sys.exit(main())
