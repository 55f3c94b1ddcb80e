#!/bin/bash
# What watching real programs costs: how long each takes natively and under `gordian run`, in turn, and how much
# memory its largest process has. Medians, as a table of Markdown.
#
#     figures.sh GORDIAN [PAGE [PROGRAM...]]
#
# PAGE: docs/guide/run.md, whose table is replaced; "-": printed only. PROGRAM: only these, by the names below.
# RUNS: how many of each (5). Programs that are not installed are left out.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
# shellcheck source=tests/run/programs.sh
. "$(dirname "$0")/programs.sh"
gordian=$(absolute "$1")
page=${2:--}
[ "$page" = - ] || page=$(absolute "$page")
wanted=" ${*:3} "
runs=${RUNS:-5}
enter_scratch
TMPDIR=$scratch
export TMPDIR
watching="$gordian run --quiet --"

# is_wanted NAME COMMAND: of those that are here.
is_wanted()
{
    [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]] || return 1
    command -v "$2" >/dev/null
}

# row LABEL: from the files `native` and `watched`, which have a line a run: seconds, kilobytes, how it ended.
row()
{
    python3 - "$1" <<'END' | tee -a table
import statistics, sys
def read(name):
    with open(name) as file:
        return [line.split(None, 2) for line in file]
native, watched = read("native"), read("watched")
def median(rows, column):
    return statistics.median(float(row[column]) for row in rows)
ends = {row[2] for row in native + watched}
print(f"| {sys.argv[1]} | {median(native, 0):.2f} s | {median(watched, 0) / median(native, 0):.2f} | "
      f"{median(native, 1) / 1024:.0f} MB | {median(watched, 1) / 1024:.0f} MB | "
      f"{'the same' if len(ends) == 1 else 'differs'} |")
if len(ends) != 1:
    print("\n".join(sorted(ends)), file=sys.stderr)
END
    rm -f native watched
}

# measure FILE COMMAND...: runs it, and adds a line to the file.
measure()
{
    python3 - "$@" <<'END'
import os, subprocess, sys, time
begin = time.monotonic()
process = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = process.stderr.read().decode(errors="replace")
_, status, usage = os.wait4(process.pid, 0)
reports = said.count("gordian: ")
with open(sys.argv[1], "a") as file:
    print(time.monotonic() - begin, usage.ru_maxrss, f"status {status}, {reports} reports", file=file)
END
}

# figure NAME LABEL COMMAND...
figure()
{
    name=$1
    label=$2
    shift 2
    is_wanted "$name" "$name" || return 0
    for ((i = 0; i < runs; i++)); do
        measure native "$@"
        # shellcheck disable=SC2086 # a list of words
        measure watched $watching "$@"
    done
    row "$label"
}

# peak PID: the most memory that a process of its tree ever had, in kilobytes.
peak()
{
    python3 - "$1" <<'END'
import glob, sys
processes = {}
for path in glob.glob("/proc/[0-9]*/status"):
    try:
        with open(path) as file:
            fields = dict(line.split(":", 1) for line in file)
    except OSError:
        continue
    processes[fields["Pid"].strip()] = (fields["PPid"].strip(), int(fields.get("VmHWM", "0 kB").split()[0]))
def below(pid):
    while pid in processes and pid != sys.argv[1]:
        pid = processes[pid][0]
    return pid == sys.argv[1]
print(max(memory for pid, (_, memory) in processes.items() if below(pid)))
END
}

# figure_server NAME LABEL PROGRAM TIMES: the time is that of who asks.
figure_server()
{
    is_wanted "$1" "$3" || return 0
    "$1_here"
    for ((i = 0; i < runs; i++)); do
        for how in native watched; do
            watched=
            [ $how = native ] || watched=$watching
            rm -rf folder folder.*
            start_server "$1" folder
            begin=$(date +%s%N)
            "$1_ask" folder "$4" >answers 2>&1
            took=$(($(date +%s%N) - begin))
            memory=$(peak "$server")
            end_server "$1" >>answers 2>&1
            echo "$((took / 1000000))e-3 $memory $(cksum <answers), $(grep -c '^gordian' folder.err) reports" >>$how
        done
    done
    row "$2"
}

load=$(cut -d ' ' -f 1 /proc/loadavg)
{
    echo "| program | natively | slowdown | memory | watched | result |"
    echo "|---|---:|---:|---:|---:|---|"
} >table

for _ in 1 2 3 4; do some_text; done >text
figure xz 'xz -T2' xz -kf -0 -T2 text
figure pigz 'pigz -p 4' pigz -kf -p 4 text
figure zstd 'zstd -9 -T4' zstd -qf -9 -T4 text
figure sqlite3 sqlite3 sqlite3 :memory: \
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT sum(i) FROM n'
figure ffmpeg 'ffmpeg, four threads' ffmpeg -nostdin -v error -f lavfi -i testsrc2=duration=10:size=640x360 \
    -threads 4 -c:v mpeg4 -f null -
figure stress-ng 'stress-ng: mutexes' stress-ng --quiet --mutex 1 --mutex-ops 100000
figure stress-ng 'stress-ng: semaphores of System V' stress-ng --quiet --sem-sysv 1 --sem-sysv-ops 500000
figure stress-ng 'stress-ng: futexes' stress-ng --quiet --futex 1 --futex-ops 100000
figure stress-ng 'stress-ng: file locks' stress-ng --quiet --flock 1 --flock-ops 500000
echo 'const { Worker, isMainThread } = require("worker_threads");
if (isMainThread) for (let i = 0; i < 4; i++) new Worker(__filename); else for (let i = 0; i < 1e8; i++);' >program.js
figure node 'node, four workers' node program.js
cat >Program.java <<'END'
import java.util.concurrent.*;
public class Program {
    static long sum;
    static synchronized void add(long value) { sum += value; }
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        for (int i = 0; i < 1000000; i++) { final int n = i; pool.submit(() -> add(n)); }
        pool.shutdown();
        pool.awaitTermination(600, TimeUnit.SECONDS);
    }
}
END
figure java 'java, a pool of eight threads' java Program.java
figure git 'git, all objects packed' sh -c 'rm -rf r && git init -q r && cd r && cp ../text . && git add . &&
    git -c user.name=a -c user.email=a@b commit -qm one && git -c pack.threads=4 repack -adfq'
for i in 1 2 3 4 5 6 7 8; do some_text | head -c 20000 | sed "s/.*/int f${i}_&;/; s/ /_/g" >"part$i.c"; done
echo 'all: $(patsubst %.c,%.o,$(wildcard part*.c))' >Makefile
figure make 'make -j4, eight files' make -s -B -j4
echo '<html><body><script>document.write(6 * 7)</script></body></html>' >page.html
chmod -R a+rX "$scratch"
mkdir -m 777 chromium
# shellcheck disable=SC2046 # a list of words
figure chromium 'chromium with its sandbox' env HOME="$scratch/chromium" TMPDIR="$scratch/chromium" $(as_somebody) \
    chromium --headless --disable-gpu --no-first-run --user-data-dir="$scratch/chromium/profile" \
    --dump-dom "file://$scratch/page.html"
figure_server redis 'redis, two io-threads, redis-benchmark' redis-server 3
figure_server memcached 'memcached, four threads' memcached 20
figure_server nginx 'nginx with threads, ab -c 16' nginx 5
figure_server apache 'apache, two processes of eight threads, ab -c 16' apache2 5
figure_server postgres 'PostgreSQL, pgbench -c 8' pg_config 5
figure_server mariadb 'MariaDB, mariadb-slap -c 8' mariadbd 3
{
    echo
    echo "Medians of $runs, natively and watched in turn, on $(uname -m) with $(nproc) processors; the load was $load before, and" \
        "$(cut -d ' ' -f 1 /proc/loadavg) in the end."
} | tee -a table

if [ "$page" != - ]; then
    awk 'FNR == NR { table = table $0 "\n"; next }
        /^\| program \| natively/ { printf "%s", table; skip = 1 }
        skip && !/^(\||Medians of|$)/ { skip = 0; print "" }
        !skip' table "$page" >page && cat page >"$page"
fi
