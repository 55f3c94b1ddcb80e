#!/bin/sh
# Real programs behave under `gordian run` exactly as without it: the same output, the same files,
# the same exit status or signal, and nothing is reported that is not there.
#
#     real_programs.sh GORDIAN CASE
#
# CASE: sqlite3, xz, pigz, redis, python3, jemalloc, signals; and, in the long check only, zstd, git, make,
# node, java, nginx, memcached, pgbench, stress_ng, chromium. Exit status 77: the program is not installed here.
# `figures` measures instead: how long each takes natively and watched, and how much memory.
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

# ---- the long check

case_zstd()
{
    need zstd
    some_text >text
    both sh -c 'zstd -q -T2 -3 -c ../text >text.zst && zstd -q -d -c text.zst >back'
    both zstd -q -t ../text
}

case_git()
{
    need git
    cat >program.sh <<'END'
set -e
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME=/nonexistent
git init -q repository
cd repository
for i in $(seq 60); do seq "$i" $((i + 500)) >"file$i"; done
git add .
git commit -qm one
for i in $(seq 60); do echo "$i" >>"file$i"; done
git -c grep.threads=2 grep -c 499 | sort | tail -3
git commit -qam two
git -c pack.threads=2 repack -adq
git log --format=%H
git fsck --no-progress
END
    both sh -c 'sh ../program.sh >log 2>&1; status=$?; rm -rf repository; exit $status'
}

case_make()
{
    need make cc
    cat >Makefile.all <<'END'
.RECIPEPREFIX = >
objects := $(foreach i,1 2 3 4 5 6 7 8,part$(i).o)
program: $(objects) main.o
>cc -o $@ $^
part%.c:
>echo "int part$*(int x) { return x + $*; }" >$@
main.c:
>echo "int part3(int); int main(void) { return part3(4); }" >$@
%.o: %.c
>cc -c -o $@ $<
END
    both sh -c 'make -s -j2 -f ../Makefile.all >log 2>&1; ./program; echo $? >answer; rm -f *.o program'
}

case_node()
{
    need node
    cat >program.js <<'END'
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
if (isMainThread) {
    const shared = new Int32Array(new SharedArrayBuffer(4));
    let sum = 0, left = 4;
    for (let i = 0; i < 4; i++) {
        const worker = new Worker(__filename, { workerData: { shared, i } });
        worker.on("message", (value) => { sum += value; });
        worker.on("exit", () => { if (--left === 0) console.log(sum, shared[0]); });
    }
    require("crypto").pbkdf2("a", "b", 1000, 16, "sha256", (e, key) => { sum += key.length; });
    require("fs").readFile(__filename, () => { sum += 1; });
} else {
    for (let n = 0; n < 1000; n++) Atomics.add(workerData.shared, 0, 1);
    parentPort.postMessage(workerData.i);
}
END
    both node ../program.js
}

fetched()
{
    python3 -c 'import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$1"
}

# nginx with threads for files, asked by several at a time, ended in order.
serve_nginx()
{
    watched=$1
    port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir -p "$2/files"
    for i in 1 2 3 4 5; do some_text | head -c $((i * 100000)) >"$2/files/$i"; done
    cat >"$2/nginx.conf" <<END
daemon off; pid $scratch/$2/pid; error_log $scratch/$2/error.log; worker_processes 2;
events { worker_connections 64; }
http {
    access_log off; aio threads; sendfile off;
    client_body_temp_path $scratch/$2/t1; proxy_temp_path $scratch/$2/t2; fastcgi_temp_path $scratch/$2/t3;
    uwsgi_temp_path $scratch/$2/t4; scgi_temp_path $scratch/$2/t5;
    server { listen 127.0.0.1:$port; root $scratch/$2/files; }
}
END
    chmod -R a+rX . "$scratch"
    # shellcheck disable=SC2086
    $watched nginx -c "$scratch/$2/nginx.conf" -p "$scratch/$2" >"$2.log" 2>"$2.err" &
    server=$!
    wait_for 'nginx' fetched "http://127.0.0.1:$port/1"
    for i in 1 2 3 4 5 1 2 3 4 5; do
        fetched "http://127.0.0.1:$port/$i" | cksum
    done >"$2.result" 2>&1
    kill -QUIT $server
    wait $server
    echo "server $?" >>"$2.result"
}

case_nginx()
{
    need nginx python3
    serve_nginx "" native
    serve_nginx "$gordian run --quiet --on-unwatchable=stop --" watched
    if diff native.result watched.result && ! grep -q gordian watched.err; then
        good
    else
        bad "nginx"
        cat watched.err
    fi
}

case_memcached()
{
    need memcached python3
    for watched in "" "$gordian run --quiet --on-unwatchable=stop --"; do
        rm -f socket
        # shellcheck disable=SC2086
        $watched memcached -u root -t 4 -s "$scratch/socket" >log 2>err &
        server=$!
        wait_for 'memcached' test -S socket
        python3 -c 'import socket, threading
answers = []
def talk(n):
    s = socket.socket(socket.AF_UNIX); s.connect("socket"); f = s.makefile("rwb")
    for i in range(200):
        f.write(b"set k%d_%d 0 0 3\r\nabc\r\nget k%d_%d\r\n" % (n, i, n, i)); f.flush()
        answers.append(b"".join(f.readline() for _ in range(4)).count(b"abc"))
threads = [threading.Thread(target=talk, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(answers))' >>answers
        kill -TERM $server
        wait $server
        echo "server $?" >>answers
    done
    check 'memcached: the same' test "$(sort answers | uniq -u)" = ''
    check 'memcached: nothing reported' test ! -s err
}

case_stress_ng()
{
    need stress-ng
    "$gordian" run --quiet -- stress-ng --quiet --mutex 2 --sem 2 --futex 2 --pthread 1 --timeout 5 >out 2>&1
    check "stress-ng: exit status $?: $(head -5 out)" test ! -s out
}

case_java()
{
    need java
    cat >Program.java <<'END'
import java.util.concurrent.*;
public class Program {
    static long sum;
    static synchronized void add(long value) { sum += value; }
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        for (int i = 0; i < 2000; i++) { final int n = i; pool.submit(() -> add(n)); }
        pool.shutdown();
        System.out.println(pool.awaitTermination(60, TimeUnit.SECONDS) + " " + sum);
    }
}
END
    both java ../Program.java
}

# PostgreSQL under a load; it does not run as root.
serve_pgbench()
{
    watched=$1
    as=
    [ "$(id -u)" -ne 0 ] || as='setpriv --reuid nobody --regid nogroup --clear-groups'
    mkdir "$2"
    chmod 777 "$2"
    chmod a+rx "$scratch"
    # shellcheck disable=SC2086
    {
        $as "$folder/initdb" -D "$scratch/$2/data" -A trust -U bench >"$2.log" 2>&1
        TMPDIR=$scratch/$2 $as $watched "$folder/postgres" -D "$scratch/$2/data" -k "$scratch/$2" -h '' >>"$2.log" 2>"$2.err" &
    }
    server=$!
    wait_for 'postgres' "$folder/psql" -q -h "$scratch/$2" -U bench -c 'select 1' postgres
    "$folder/pgbench" -i -q -h "$scratch/$2" -U bench postgres >>"$2.log" 2>&1
    echo "made $?" >"$2.result"
    "$folder/pgbench" -c 8 -j 2 -t 100 -h "$scratch/$2" -U bench postgres 2>>"$2.log" |
        grep '^number of' >>"$2.result"
    kill -INT $server
    wait $server
    echo "server $?" >>"$2.result"
}

case_pgbench()
{
    need pg_config
    folder=$(pg_config --bindir)
    need "$folder/initdb" "$folder/postgres" "$folder/pgbench"
    serve_pgbench "" native
    serve_pgbench "$gordian run --quiet --" watched
    check 'pgbench: the same' diff native.result watched.result
    check 'pgbench: all done' grep -q 'actually processed: 800/800' watched.result
    check "pgbench: nothing reported: $(grep '^gordian' watched.err | head -n 3)" test "$(grep -c '^gordian' watched.err)" -eq 0
}

# With its sandbox, which kills for a system call too many; that takes a user who is not root.
case_chromium()
{
    need chromium
    if [ "$(id -u)" -eq 0 ]; then
        echo "skipped: chromium's sandbox is for users, not for root"
        exit 77
    fi
    echo '<html><body><script>document.write(6 * 7)</script></body></html>' >page.html
    for how in native watched; do
        watched=
        [ $how = native ] || watched="$gordian run --quiet --no-potential --"
        # shellcheck disable=SC2086
        timeout $patience $watched chromium --headless --disable-gpu --no-first-run \
            --user-data-dir="$scratch/$how.profile" --dump-dom "file://$scratch/page.html" >$how.dom 2>$how.err
        echo $? >>$how.dom
    done
    check 'chromium: the same page' cmp native.dom watched.dom
    check 'chromium: nothing reported' test "$(grep -c '^gordian' watched.err)" -eq 0
}

# figure COMMAND...: a line of a table, the best of five natively and watched in turn.
figure()
{
    command -v "$1" >/dev/null || return 0
    python3 - "$gordian" "$@" <<'END'
import os, subprocess, sys, time
gordian, *command = sys.argv[1:]
def once(start):
    begin = time.monotonic()
    process = subprocess.Popen(start + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    return time.monotonic() - begin, usage.ru_maxrss / 1024, status
runs = [(once([]), once([gordian, "run", "--quiet", "--"])) for _ in range(5)]
native, watched = ([min(run[k][i] for run in runs) for i in range(2)] for k in range(2))
same = all(run[0][2] == run[1][2] for run in runs)
print(f"| {' '.join(command)[:60]} | {native[0]:.2f} s | {watched[0] / native[0]:.2f} | "
      f"{native[1]:.0f} MB | {watched[1]:.0f} MB | {'same' if same else 'OTHER'} |")
END
}

case_figures()
{
    for i in 1 2 3 4; do some_text; done >text
    figure xz -kf -0 -T2 text
    figure pigz -kf -p 4 text
    figure zstd -qf -9 -T4 text
    figure sqlite3 :memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT sum(i) FROM n'
    figure ffmpeg -v error -f lavfi -i testsrc=duration=4 -threads 4 -f framemd5 -
    figure stress-ng --quiet --mutex 2 --mutex-ops 20000
    echo 'let l = 4; const { Worker, isMainThread } = require("worker_threads");
if (isMainThread) for (let i = 0; i < 4; i++) new Worker(__filename); else for (let i = 0; i < 1e8; i++);' >program.js
    figure node program.js
    figure java -version
}

case_"$name"
finish
