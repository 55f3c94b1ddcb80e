#!/bin/sh
# Real programs behave under `gordian run` exactly as without it: the same output, the same files,
# the same exit status or signal, and nothing is reported that is not there.
#
#     real_programs.sh GORDIAN CASE
#
# CASE: sqlite3, xz, pigz, redis, python3, jemalloc, signals; and, in the long check only, zstd, git, make,
# node, java, ffmpeg, nginx, apache, memcached, postgres, mariadb, stress_ng, chromium. Exit status 77: the
# program is not installed here. What watching them costs is measured by figures.sh.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
# shellcheck source=tests/run/programs.sh
. "$(dirname "$0")/programs.sh"
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

# both_ways NAME: a server watched or not, asked by clients watched or not, ended by a signal.
both_ways()
{
    "$1_here"
    for how in native watched; do
        [ $how = native ] || watched="$gordian run --quiet --on-unwatchable=stop --"
        client=$watched
        start_server "$1" $how
        "$1_ask" $how 1 >$how.result 2>&1
        end_server "$1" >>$how.result 2>&1
    done
    check "$1: the same" diff native.result watched.result
    check "$1: ended in order" grep -qE '^server (0|130|143)$' watched.result
    check "$1: nothing reported: $(grep '^gordian' watched.err | head -n 3)" \
        test "$(grep -c '^gordian' watched.err)" -eq 0
}

case_redis()
{
    both_ways redis
    check 'redis: its last words' grep -q 'bye bye' watched.log
}

case_nginx() { both_ways nginx; }
case_apache() { both_ways apache; }
case_memcached() { both_ways memcached; }
case_mariadb() { both_ways mariadb; }

case_postgres()
{
    both_ways postgres
    check 'postgres: all done' grep -q 'actually processed: 800/800' watched.result
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

# Locks of all kinds, each with several that want it: of threads, of processes, of files.
case_stress_ng()
{
    need stress-ng
    for how in native watched; do
        [ $how = native ] || watched="$gordian run --quiet --"
        # shellcheck disable=SC2086
        timeout $patience $watched stress-ng --quiet --timeout 5 --mutex 2 --sem 2 --futex 2 --flock 2 --lockf 2 \
            --sem-sysv 2 --pthread 1 >$how.out 2>&1
        echo "exit status $?" >>$how.out
    done
    check 'stress-ng: natively' grep -q '^exit status 0$' native.out
    check 'stress-ng: the same' diff native.out watched.out
}

# Encoded and decoded by several threads.
case_ffmpeg()
{
    need ffmpeg
    both sh -c 'ffmpeg -nostdin -v error -f lavfi -i testsrc2=duration=2:size=320x240 -threads 4 -c:v mpeg4 \
        -fflags +bitexact -flags +bitexact -f avi out.avi &&
        ffmpeg -nostdin -v error -threads 4 -i out.avi -f framemd5 -'
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

# With its sandbox, which kills for a system call too many; that takes a user who is not root, and a kernel
# that lets users have namespaces.
case_chromium()
{
    need chromium
    echo '<html><body><script>document.write(6 * 7)</script></body></html>' >page.html
    chmod a+rx "$scratch"
    for how in native watched; do
        [ $how = native ] || watched="$gordian run --quiet --no-potential --"
        mkdir -m 777 $how
        # shellcheck disable=SC2046,SC2086
        TMPDIR=$scratch/$how HOME=$scratch/$how timeout $patience $(as_somebody) $watched chromium --headless --disable-gpu \
            --no-first-run --user-data-dir="$scratch/$how/profile" \
            --dump-dom "file://$scratch/page.html" >$how.dom 2>$how.err
        echo $? >>$how.dom
        if [ $how = native ] && ! grep -q '^0$' native.dom; then
            echo "skipped: chromium does not run here: $(tail -n 3 native.err)"
            exit 77
        fi
    done
    check 'chromium: the page' grep -q 42 native.dom
    check 'chromium: the same page' cmp native.dom watched.dom
    check "chromium: nothing reported: $(grep '^gordian' watched.err | head -n 3)" \
        test "$(grep -c '^gordian' watched.err)" -eq 0
}

case_"$name"
finish
