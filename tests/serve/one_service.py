"""A service in a folder of its own, for as long as a test needs it."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time


def page_of(log):
    """Where it has said that its page is; "": nowhere yet."""
    log.seek(0)
    return next((line.split(" on ")[1].strip() for line in log if " metrics on " in line and line.endswith("\n")), "")


@contextlib.contextmanager
def one_service(gordian, what):
    """Its socket, and where its page is."""
    folder = tempfile.mkdtemp(prefix=f"gordian-{what}-")
    path = os.path.join(folder, "socket")
    log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
    server = subprocess.Popen([os.path.abspath(gordian), "serve", "--socket", path, "--http", "127.0.0.1:0", "--data",
                               os.path.join(folder, "data")], stderr=log, stdout=log)
    try:
        base = ""
        while not base or not os.path.exists(path):
            if server.poll() is not None:
                log.seek(0)
                raise AssertionError("the service has ended: " + log.read())
            time.sleep(0.01)
            base = page_of(log)
        yield path, base
    finally:
        server.terminate()
        server.wait()
        log.close()
        shutil.rmtree(folder)
