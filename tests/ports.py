#!/usr/bin/env python3
"""A port for a server: ports.py prints one."""
import random
import socket


def free_port():
    """Free now, and below those that the system gives to connections: another test's connection could get one of
    those before the server starts, or while it is restarted."""
    while True:
        port = random.randrange(10000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # somebody has it


if __name__ == "__main__":
    print(free_port())
