#!/usr/bin/env python3
"""A port for a server: ports.py prints one."""
import random
import socket

_kept = []  # names of ports that are ours until this process ends


def _reserve(port):
    """No other test may take it while its server is restarted; load.h has the same name for it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0gordian-test-port-{port}")
    except OSError:
        name.close()
        return False
    _kept.append(name)
    return True


def free_port():
    """Free now, and below those that the system gives to connections: another test's connection could get one of
    those before the server starts, or while it is restarted."""
    while True:
        port = random.randrange(10000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue  # somebody has it
        if _reserve(port):
            return port


if __name__ == "__main__":
    print(free_port())
