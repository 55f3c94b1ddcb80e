"""The pytest plugin, in a pytest of its own."""

import os
import subprocess
import sys

import pytest

# Time enough for both to be where they stay, however slow the machine is.
HANG = """
import threading
import pytest

def test_before():
    pass

@pytest.mark.gordian_timeout(5)
def test_hang():
    a, b = threading.Lock(), threading.Lock()
    barrier = threading.Barrier(2)

    def take(x, y):
        with x:
            barrier.wait()
            with y:  # here they stay
                pass

    other = threading.Thread(target=take, args=(b, a), name="the-other")
    other.start()
    take(a, b)

def test_after():
    pass
"""


def run_pytest(folder, content, *options, inspect=True):
    (folder / "test_it.py").write_text(content)
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    if not inspect:
        env.update(GORDIAN="", PATH="/nonexistent")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "gordian.pytest_plugin"]
        + list(options)
        + [str(folder / "test_it.py")],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_hang_is_ended_with_every_thread_s_lines(tmp_path):
    done = run_pytest(tmp_path, HANG, inspect=False)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "test_hang took longer than 5 s" in done.stdout
    assert "thread the-other:" in done.stdout and "thread MainThread:" in done.stdout
    assert done.stdout.count("with y:  # here they stay") == 2
    assert "/pluggy/" not in done.stdout


def test_inspect_tells_the_cycle(tmp_path, command):
    done = run_pytest(tmp_path, HANG)
    assert "1 failed, 2 passed" in done.stdout
    if "gordian inspect:" not in done.stdout:
        pytest.skip("this build, or this machine, does not let gordian inspect look")
    assert "wait" in done.stdout.split("gordian inspect:")[1]


def test_waits_for_gordian_s_locks_are_told(tmp_path):
    content = """
import threading, gordian

def test_hang():
    lock = gordian.Lock("the-lock")
    lock.acquire()
    waiting = threading.Thread(target=lock.acquire, name="the-waiter")
    waiting.start()
    waiting.join()
"""
    done = run_pytest(tmp_path, content, "--gordian-timeout", "5", inspect=False)
    assert done.returncode == 1
    assert "the-waiter waits for the-lock at " in done.stdout
    assert "held by MainThread" in done.stdout


def test_a_main_thread_in_c_is_ended_all_the_same(tmp_path):
    content = """
import ctypes

def test_hang():
    libc = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(256)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)  # no signal ends this wait
"""
    done = run_pytest(tmp_path, content, "--gordian-timeout", "1", inspect=False)
    assert done.returncode == 1
    assert "test_hang took longer than 1 s" in done.stdout
    assert "no signal ends this wait" in done.stdout


def test_locks_of_threading_that_raise(tmp_path):
    content = """
import threading, gordian, pytest

def test_it():
    lock = threading.Lock()
    with lock, pytest.raises(gordian.Deadlock):
        lock.acquire()
"""
    done = run_pytest(tmp_path, content, "--gordian-locks")
    assert done.returncode == 0, done.stdout


ACROSS = """
import threading, concurrent.futures, gordian, pytest

def cross(run):
    a, b = threading.Lock(), threading.Lock()
    barrier = threading.Barrier(2)

    def take(x, y):
        with x:
            barrier.wait()
            with y:
                pass

    run(lambda: take(a, b), lambda: take(b, a))

def in_threads(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def in_a_pool(*calls):
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        for call in calls:
            pool.submit(call)  # nothing asks for the result

def test_threads():
    cross(in_threads)

def test_pool():
    cross(in_a_pool)

def test_caught():
    lock = threading.Lock()
    with lock:
        try:
            lock.acquire()
        except Exception:
            pass

def test_sound():
    lock = threading.Lock()
    in_threads(*[lambda: lock.acquire() and lock.release()] * 4)

def test_expected():
    lock = threading.Lock()
    with lock, pytest.raises(gordian.Deadlock):
        lock.acquire()
    with lock:
        pytest.raises(gordian.Deadlock, lock.acquire)

@pytest.mark.gordian_deadlocks
def test_on_purpose():
    cross(in_threads)
"""


def test_a_deadlock_in_any_thread_fails_the_test(tmp_path):
    done = run_pytest(tmp_path, ACROSS, "--gordian-locks", "-rA", inspect=False)
    assert "3 failed, 3 passed" in done.stdout, done.stdout
    assert done.stdout.count("Deadlock was raised in thread") >= 3
    assert "with y:" in done.stdout


def test_ini_and_no_timeout(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ngordian_timeout = 1\n")
    content = """
import threading, pytest

def test_hang():
    threading.Event().wait()

@pytest.mark.gordian_timeout(0)
def test_slow():
    assert not threading.Event().wait(1.5)
"""
    done = run_pytest(tmp_path, content, "-c", str(tmp_path / "pytest.ini"), inspect=False)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
