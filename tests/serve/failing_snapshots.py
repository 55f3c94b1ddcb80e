#!/usr/bin/env python3
"""Snapshots that cannot be written: the service says so in its log and its metrics, the documented alerts see it, and
events are kept all the same; then one is written, and all of that ends.

    failing_snapshots.py GORDIAN ALERTS
"""
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from kept_service import Service, Session, until  # noqa: E402

FAILING = {"gordian_journal_snapshots_failing": 1, "gordian_journal_healthy": 0, "gordian_ready": 1}
FINE = {"gordian_journal_snapshots_failing": 0, "gordian_journal_healthy": 1, "gordian_ready": 1}
OPTIONAL = {"gordian_tls_certificate_expiry_timestamp_seconds", "gordian_engine_degraded",
            "gordian_loop_longest_seconds"}  # without a certificate, a device, a delay there is none


def metrics_of(service):
    return {line.split("{")[0].split(" ")[0]: float(line.split()[-1])
            for line in service.ask("metrics", "").splitlines() if not line.startswith("#")}


def check_metrics(service, expected):
    metrics = metrics_of(service)
    assert {name: metrics.get(name) for name in expected} == expected, {name: metrics.get(name) for name in expected}
    assert service.ask("readyz", ""), "/readyz"


def check_alerts(service, alerts):
    """Every metric that an alert looks at is there, and one looks at this."""
    with open(alerts, encoding="utf-8") as file:
        text = file.read()
    names = set(re.findall(r"gordian_[a-z_]+", text))
    missing = names - set(metrics_of(service)) - OPTIONAL
    assert not missing, f"alerts look at metrics that are not there: {missing}"
    assert "expr: gordian_journal_snapshots_failing == 1" in text


def send_events(session):
    """As many as make a snapshot due."""
    answers = session.say(*(f"{op} filler pool" for _ in range(500) for op in ("request", "release")))
    assert answers[-1]["result"] == "released", answers[-1]


def check_snapshots(gordian, scratch, alerts):
    data = os.path.join(scratch, "data")
    os.mkdir(data, 0o700)
    os.mkdir(os.path.join(data, "snapshot.new"))  # where the service would write one
    service = Service(gordian, scratch, ["--data", data, "--new"])
    session = Session(service, "name=till")
    session.say("resource pool")
    check_metrics(service, FINE)
    send_events(session)
    until(lambda: metrics_of(service).get("gordian_journal_snapshot_failures_total", 1) >= 1, "a snapshot fails")
    check_metrics(service, FAILING)
    until(lambda: "cannot write a snapshot: cannot make snapshot.new" in service.said(), "the log says it")
    check_alerts(service, alerts)
    send_events(session)  # they are kept
    os.rmdir(os.path.join(data, "snapshot.new"))
    until(lambda: metrics_of(service)["gordian_journal_snapshots_total"] >= 1, "a snapshot is written")
    until(lambda: "snapshots are being written again" in service.said(), "the log says that it is over")
    check_metrics(service, FINE)
    assert service.said().count("cannot write a snapshot") == 1, service.said()
    session.close()
    service.end()


def main():
    scratch = tempfile.mkdtemp(prefix="gs-")
    try:
        check_snapshots(os.path.abspath(sys.argv[1]), scratch, sys.argv[2])
    finally:
        shutil.rmtree(scratch)


main()
