#!/usr/bin/env python3
"""A client of databases for the tests of `gordian watch`: one process, one thread, any connections.

    client.py ADDRESS...

An address is a connection string of libpq, or mysql:SOCKET:USER, or mysql:PORT:USER. Commands come on
standard input, `NUMBER SQL` a line; the connection runs it, and the process answers `ok VALUE`, with the
first value of the first row, or `error TEXT`. `NUMBER &SQL` sends it and does not wait (libpq only).
`NUMBER !SQL` runs it in a child that shares all connections; `NUMBER +PATH` starts a thread that reads the FIFO
at PATH and ends with it. No
module but those of Python itself is needed: the libraries are called directly.
"""
import ctypes
import os
import sys
import threading

PQ = None
MARIA = None


def postgres():
    global PQ
    if PQ is None:
        PQ = ctypes.CDLL("libpq.so.5")
        for name in ("PQconnectdb", "PQexec", "PQgetResult"):
            getattr(PQ, name).restype = ctypes.c_void_p
        for name in ("PQerrorMessage", "PQgetvalue", "PQresultErrorMessage"):
            getattr(PQ, name).restype = ctypes.c_char_p
    return PQ


class Postgres:
    def __init__(self, address):
        self.pq = postgres()
        self.conn = ctypes.c_void_p(self.pq.PQconnectdb(address.encode()))
        if self.pq.PQstatus(self.conn) != 0:
            raise RuntimeError(self.pq.PQerrorMessage(self.conn).decode())

    def send(self, sql):
        self.pq.PQsendQuery(self.conn, sql.encode())

    def run(self, sql):
        result = ctypes.c_void_p(self.pq.PQexec(self.conn, sql.encode()))
        status = self.pq.PQresultStatus(result)
        if status not in (1, 2):
            return "error " + self.pq.PQerrorMessage(self.conn).decode().splitlines()[0]
        value = self.pq.PQgetvalue(result, 0, 0).decode() if self.pq.PQntuples(result) else ""
        self.pq.PQclear(result)
        return "ok " + value


class Maria:
    def __init__(self, address):
        global MARIA
        if MARIA is None:
            MARIA = ctypes.CDLL("libmariadb.so.3")
            for name in ("mysql_init", "mysql_real_connect", "mysql_store_result"):
                getattr(MARIA, name).restype = ctypes.c_void_p
            MARIA.mysql_error.restype = ctypes.c_char_p
            MARIA.mysql_fetch_row.restype = ctypes.POINTER(ctypes.c_char_p)
        _, place, user = address.split(":")
        port = int(place) if place.isdigit() else 0
        self.conn = ctypes.c_void_p(MARIA.mysql_init(None))
        done = MARIA.mysql_real_connect(
            self.conn, b"127.0.0.1" if port else None, user.encode(), b"", b"test", port,
            None if port else place.encode(), ctypes.c_ulong(0))
        if not done:
            raise RuntimeError(MARIA.mysql_error(self.conn).decode())

    def run(self, sql):
        if MARIA.mysql_query(self.conn, sql.encode()):
            return "error " + MARIA.mysql_error(self.conn).decode()
        result = ctypes.c_void_p(MARIA.mysql_store_result(self.conn))
        if not result:
            return "ok "
        row = MARIA.mysql_fetch_row(result)
        value = row[0].decode() if row and row[0] is not None else ""
        MARIA.mysql_free_result(result)
        return "ok " + value


def read_fifo(path):
    with open(path, "rb") as file:
        file.read()


def main():
    connections = [(Maria if a.startswith("mysql:") else Postgres)(a) for a in sys.argv[1:]]
    print("ready", flush=True)
    for line in sys.stdin:
        number, sql = line.rstrip("\n").split(" ", 1)
        if sql.startswith("&"):
            connections[int(number)].send(sql[1:])
            print("ok ", flush=True)
        elif sql.startswith("!"):
            if os.fork() == 0:
                connections[int(number)].run(sql[1:])
                os._exit(0)
            print("ok ", flush=True)
        elif sql.startswith("+"):
            threading.Thread(target=read_fifo, args=(sql[1:],), daemon=True).start()
            print("ok ", flush=True)
        else:
            print(connections[int(number)].run(sql), flush=True)


main()
