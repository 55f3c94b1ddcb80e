#!/bin/sh
# Real programs behave under `gordian run` exactly as without it: the same output, the same files,
# the same exit status or signal, and nothing is reported that is not there.
#
#     real_programs.sh GORDIAN CASE
#
# CASE: sqlite3, xz, pigz, redis, python3, jemalloc, signals. Exit status 77: the program is not
# installed here.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
name=$2
enter_scratch
TMPDIR=$scratch # where a command that is killed leaves something behind
export TMPDIR

# both COMMAND...: natively in folder a, watched in folder b; then the folders must be the same.
# Standard input comes from the file `input`, if there is one.
both()
{
    touch input
    for how in a b; do
        mkdir -p $how
        watched=
        [ $how = a ] || watched="$gordian run --quiet --on-unwatchable=stop --"
        # shellcheck disable=SC2086 # a list of words, or none
        (cd $how && $watched "$@" <../input >stdout 2>stderr
            echo $? >status)
    done
    if diff -r a b >difference; then
        good
    else
        bad "$*"
        head -40 difference
    fi
    rm -rf a b
}

# Some megabytes that compress, the same every time.
some_text()
{
    awk 'BEGIN { x = 1; for (i = 0; i < 200000; i++) { x = (x * 69069 + 1) % 4294967296
        print "line", i, x % 1000, "of some text that compresses" } }'
}

case_sqlite3()
{
    need sqlite3
    cat >input <<'END'
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO t SELECT i, 'name' || (i % 97), i * 0.5 FROM n;
CREATE INDEX t_name ON t(name);
SELECT name, count(*), sum(value) FROM t GROUP BY name ORDER BY name LIMIT 20;
BEGIN; DELETE FROM t WHERE id % 3 = 0; ROLLBACK;
BEGIN; DELETE FROM t WHERE id % 5 = 0; COMMIT;
SELECT count(*), sum(value) FROM t;
PRAGMA integrity_check;
END
    both sqlite3 :memory:
    both sqlite3 file.db
    echo "SELECT no such syntax;" >input
    both sqlite3 -bail :memory:
}

case_xz()
{
    need xz
    some_text >text
    both sh -c 'xz -T2 --block-size=500000 -2 -c ../text >text.xz && xz -d -T2 -c text.xz >back'
    printf 'not compressed' >bad
    both xz -d -T2 -c ../bad
}

case_pigz()
{
    need pigz
    some_text >text
    both sh -c 'pigz -p 2 -b 128 -n -c ../text >text.gz && pigz -d -p 2 -c text.gz >back'
    both pigz -t ../text
}

answers()
{
    redis-cli -s "$1" ping | grep -q PONG
}

# A server watched or not, asked by clients watched or not, ended by a signal.
serve_redis()
{
    watched=$1
    socket=$scratch/$2.sock
    # shellcheck disable=SC2086
    $watched redis-server --port 0 --unixsocket "$socket" --save "" --appendonly no \
        --io-threads 2 --dir "$scratch" >"$2.log" 2>"$2.err" &
    server=$!
    wait_for 'redis' answers "$socket"
    # shellcheck disable=SC2086
    $watched redis-benchmark -s "$socket" -n 4000 -c 20 --threads 2 -q -t set,get,lpush \
        >"$2.benchmark" 2>&1
    echo "benchmark $?" >"$2.result"
    {
        redis-cli -s "$socket" eval \
            'for i = 1, 5000 do redis.call("set", "k" .. i, i * 7) end return redis.call("dbsize")' 0
        redis-cli -s "$socket" get k4711
        redis-cli -s "$socket" del key:__rand_int__ mylist
        redis-cli -s "$socket" flushall async
        redis-cli -s "$socket" dbsize
    } >>"$2.result" 2>&1
    kill -TERM $server
    wait $server
    echo "server $?" >>"$2.result"
}

case_redis()
{
    need redis-server redis-benchmark redis-cli
    serve_redis "" native
    serve_redis "$gordian run --quiet --on-unwatchable=stop --" watched
    if diff native.result watched.result && diff native.err watched.err; then
        good
    else
        bad "redis"
        cat watched.err
    fi
    grep -q 'bye bye' watched.log || bad "redis did not end in order"
}

case_python3()
{
    need python3
    cat >program.py <<'END'
import concurrent.futures, multiprocessing, queue, subprocess, sys, threading

def work(n):
    return sum(i * i for i in range(n))

def child(pipe):
    pipe.send(work(1000))
    pipe.close()

def main():
    results, todo, lock = [], queue.Queue(maxsize=4), threading.RLock()
    def worker():
        while (item := todo.get()) is not None:
            with lock:
                with lock:
                    results.append(work(item))
            todo.task_done()
    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads: thread.start()
    for i in range(200): todo.put(i)
    todo.join()
    for _ in threads: todo.put(None)
    for thread in threads: thread.join()
    print(len(results), sum(results))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(work, range(100))))
    ready, go = threading.Barrier(3), threading.Event()
    def meet():
        ready.wait()
        go.wait()
    meeting = [threading.Thread(target=meet) for _ in range(2)]
    for thread in meeting: thread.start()
    ready.wait()
    go.set()
    for thread in meeting: thread.join()
    there, here = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(here,))
    process.start()
    print(there.recv())
    process.join()
    print(process.exitcode, subprocess.run(["sh", "-c", "exit 3"]).returncode)
    print("to stderr", file=sys.stderr)
    sys.exit(5)

main()
END
    both python3 ../program.py
    both python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'
    both python3 -c 'import ctypes; ctypes.string_at(0)'
}

case_jemalloc()
{
    need xz python3
    library=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
    if [ -z "$library" ]; then
        echo "skipped: jemalloc is not installed"
        exit 77
    fi
    some_text >text
    LD_PRELOAD=$library
    export LD_PRELOAD
    both python3 -c 'print(sum("jemalloc" in line for line in open("/proc/self/maps")) > 0)'
    both xz -T2 --block-size=500000 -2 -c ../text
    both python3 -c '
import threading
def grow():
    kept = [bytearray(i % 5000) for i in range(2000)]
    return len(kept)
threads = [threading.Thread(target=grow) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print("done")'
}

# Ends, signals, streams: as without.
case_signals()
{
    for end in 'exit 0' 'exit 7' 'exit 255' 'kill -TERM $$' 'kill -KILL $$' 'kill -SEGV $$' \
        'kill -PIPE $$; echo survived' 'ulimit -c 0; kill -ABRT $$' 'trap "echo caught" USR1; kill -USR1 $$'; do
        both sh -c "$end"
    done
    both env sh -c 'cat; echo "$0" "$@"' with arguments 'and blanks' -- -x
    printf '#!/bin/sh\necho script "$@"\nexit 9\n' >script
    chmod +x script
    both ../script one two
    printf 'echo no first line\nexit 8\n' >bare
    chmod +x bare
    both ../bare
    # A signal to the command reaches the program; SIGKILL too.
    for pair in TERM:143 HUP:129 USR1:138 KILL:137; do
        "$gordian" run --quiet -- sh -c 'echo $$ >new; mv new pid; while :; do sleep 0.05; done' &
        wait_for 'the program' test -s pid
        ends_with "${pair%:*}" "${pair#*:}" "SIG${pair%:*}"
        wait_for "the end of the program with SIG${pair%:*}" dead "$(cat pid)" ||
            kill -KILL "$(cat pid)"
        rm -f pid
    done
    # A closed pipe ends the program, not with an error of the command.
    { "$gordian" run --quiet -- yes; echo $? >status; } | head -n 1 >/dev/null
    { yes; echo $? >native; } | head -n 1 >/dev/null
    cmp -s status native || bad "SIGPIPE: $(cat status) instead of $(cat native)"
}

case_"$name"
finish
