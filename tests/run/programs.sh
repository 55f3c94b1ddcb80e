# What real_programs.sh and figures.sh share; to be sourced behind ../shell.sh. A server has
#
#     NAME_here           the test is skipped where it is not installed
#     NAME_start FOLDER   starts it in the background, process $server, with $watched before it, until it answers
#     NAME_ask FOLDER N   N times a small load, by $client where that can be watched; prints what must be the same
#     NAME_signal         what ends it in order
#
# In the folder are its files; what it says is beside it, in FOLDER.log and FOLDER.err.
PATH=$PATH:/usr/sbin
ports=$(absolute "$(dirname "$0")/../ports.py")
watched=
client=

# Some megabytes that compress, the same every time.
some_text()
{
    awk 'BEGIN { x = 1; for (i = 0; i < 200000; i++) { x = (x * 69069 + 1) % 4294967296
        print "line", i, x % 1000, "of some text that compresses" } }'
}

# For those who refuse to be root.
as_somebody()
{
    [ "$(id -u)" -ne 0 ] || echo 'setpriv --reuid nobody --regid nogroup --clear-groups'
}

# start_server NAME FOLDER
start_server()
{
    mkdir "$2"
    chmod 777 "$2"
    chmod a+rx "$scratch"
    "$1_start" "$2"
}

# end_server NAME: as its administrator would; prints its exit status.
end_server()
{
    kill "-$("$1_signal")" "$server"
    wait "$server"
    echo "server $?"
}

free_port()
{
    python3 "$ports"
}

# ---- redis, with threads

redis_here() { need redis-server redis-benchmark redis-cli; }
redis_signal() { echo TERM; }

redis_answers()
{
    redis-cli -s "$1" ping | grep -q PONG
}

redis_start()
{
    # shellcheck disable=SC2086 # a list of words, or none
    $watched redis-server --port 0 --unixsocket "$scratch/$1/socket" --save "" --appendonly no \
        --io-threads 2 --dir "$scratch/$1" >"$1.log" 2>"$1.err" &
    server=$!
    wait_for 'redis' redis_answers "$1/socket"
}

redis_ask()
{
    # shellcheck disable=SC2086
    $client redis-benchmark -s "$1/socket" -n $((4000 * $2)) -c 20 --threads 2 -q -t set,get,lpush \
        >"$1.benchmark" 2>&1
    echo "benchmark $?"
    redis-cli -s "$1/socket" eval \
        'for i = 1, 5000 do redis.call("set", "k" .. i, i * 7) end return redis.call("dbsize")' 0
    redis-cli -s "$1/socket" get k4711
    redis-cli -s "$1/socket" del key:__rand_int__ mylist
    redis-cli -s "$1/socket" flushall async
    redis-cli -s "$1/socket" dbsize
}

# ---- web servers

fetched()
{
    python3 -c 'import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$1"
}

# web_files FOLDER: what is to be fetched.
web_files()
{
    mkdir "$1/files"
    for i in 1 2 3 4 5; do some_text | head -c $((i * 30000)) >"$1/files/$i"; done
    chmod -R a+rX "$1"
}

# All files one by one, then one of them by many at a time where there is a tool for that.
web_ask()
{
    for i in 1 2 3 4 5 1 2 3 4 5; do
        fetched "http://127.0.0.1:$port/$i" | cksum
    done
    if command -v ab >/dev/null; then
        ab -q -n $((1000 * $2)) -c 16 "http://127.0.0.1:$port/2" | grep -E '^(Complete|Failed) requests'
    fi
}

# nginx, with threads that read files

nginx_here() { need nginx python3; }
nginx_ask() { web_ask "$@"; }
nginx_signal() { echo QUIT; }

nginx_start()
{
    web_files "$1"
    port=$(free_port)
    cat >"$1/nginx.conf" <<END
daemon off; pid $scratch/$1/pid; error_log $scratch/$1/error.log; worker_processes 2;
events { worker_connections 64; }
http {
    access_log off; aio threads; sendfile off;
    client_body_temp_path $scratch/$1/t1; proxy_temp_path $scratch/$1/t2; fastcgi_temp_path $scratch/$1/t3;
    uwsgi_temp_path $scratch/$1/t4; scgi_temp_path $scratch/$1/t5;
    server { listen 127.0.0.1:$port; root $scratch/$1/files; }
}
END
    # shellcheck disable=SC2086
    $watched nginx -c "$scratch/$1/nginx.conf" -p "$scratch/$1" >"$1.log" 2>"$1.err" &
    server=$!
    wait_for 'nginx' fetched "http://127.0.0.1:$port/1"
}

# apache: two processes with eight threads each, and a mutex in memory that they share

apache_here() { need apache2 ab python3; }
apache_ask() { web_ask "$@"; }
apache_signal() { echo TERM; }

apache_start()
{
    web_files "$1"
    port=$(free_port)
    modules=/usr/lib/apache2/modules
    cat >"$1/apache.conf" <<END
ServerRoot $scratch/$1
DefaultRuntimeDir $scratch/$1
ServerName localhost
PidFile $scratch/$1/pid
ErrorLog $scratch/$1/error.log
Listen 127.0.0.1:$port
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
Mutex pthread
StartServers 2
ServerLimit 2
ThreadsPerChild 8
MaxRequestWorkers 16
User nobody
Group nogroup
DocumentRoot $scratch/$1/files
END
    # shellcheck disable=SC2086
    $watched apache2 -DFOREGROUND -f "$scratch/$1/apache.conf" >"$1.log" 2>"$1.err" &
    server=$!
    wait_for 'apache' fetched "http://127.0.0.1:$port/1"
}

# ---- memcached

memcached_here() { need memcached python3; }
memcached_signal() { echo TERM; }

memcached_start()
{
    # shellcheck disable=SC2086
    $watched memcached -u root -t 4 -s "$scratch/$1/socket" >"$1.log" 2>"$1.err" &
    server=$!
    wait_for 'memcached' test -S "$1/socket"
}

# Eight clients, each with a hundred questions on their way at a time.
memcached_ask()
{
    python3 -c 'import socket, sys, threading
answers = []
def talk(n):
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); f = s.makefile("rwb")
    for i in range(10 * int(sys.argv[2])):
        f.write(b"".join(b"set k%d_%d 0 0 3\r\nabc\r\nget k%d_%d\r\n" % (n, k, n, k) for k in range(100)))
        f.flush()
        answers.append(b"".join(f.readline() for _ in range(400)).count(b"abc"))
threads = [threading.Thread(target=talk, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(answers))' "$1/socket" "$2"
}

# ---- PostgreSQL, which does not run as root

postgres_signal() { echo INT; }

postgres_here()
{
    need pg_config
    postgres_bin=$(pg_config --bindir)
    need "$postgres_bin/initdb" "$postgres_bin/postgres" "$postgres_bin/pgbench"
}

postgres_start()
{
    as=$(as_somebody)
    # shellcheck disable=SC2086
    {
        $as "$postgres_bin/initdb" -D "$scratch/$1/data" -A trust -U bench >"$1.log" 2>&1
        TMPDIR=$scratch/$1 $as $watched "$postgres_bin/postgres" -D "$scratch/$1/data" \
            -k "$scratch/$1" -h '' >>"$1.log" 2>"$1.err" &
    }
    server=$!
    wait_for 'postgres' "$postgres_bin/psql" -q -h "$scratch/$1" -U bench -c 'select 1' postgres
    "$postgres_bin/pgbench" -i -q -h "$scratch/$1" -U bench postgres >>"$1.log" 2>&1
}

postgres_ask()
{
    "$postgres_bin/pgbench" -c 8 -j 2 -t $((100 * $2)) -h "$scratch/$1" -U bench postgres 2>>"$1.log" |
        grep '^number of'
}

# ---- MariaDB

mariadb_here() { need mariadbd mariadb mariadb-slap mariadb-install-db; }
mariadb_signal() { echo TERM; }

mariadb_start()
{
    user=$(id -un)
    mariadb-install-db --no-defaults --datadir="$scratch/$1/data" --user="$user" --skip-test-db \
        --auth-root-authentication-method=normal >"$1.log" 2>&1
    # shellcheck disable=SC2086
    $watched mariadbd --no-defaults --user="$user" --datadir="$scratch/$1/data" --socket="$scratch/$1/socket" \
        --pid-file="$scratch/$1/pid" --skip-networking --innodb-buffer-pool-size=64M >>"$1.log" 2>"$1.err" &
    server=$!
    wait_for 'mariadb' mariadb --no-defaults -u root -S "$1/socket" -e 'SELECT 1'
}

mariadb_ask()
{
    mariadb-slap --no-defaults -u root -S "$1/socket" --concurrency=8 --number-of-queries=$((800 * $2)) \
        --auto-generate-sql --auto-generate-sql-load-type=mixed --auto-generate-sql-guid-primary \
        --auto-generate-sql-unique-query-number=20 --engine=innodb --create-schema=load --no-drop \
        >"$1.benchmark" 2>&1
    echo "load $?"
    mariadb --no-defaults -u root -S "$1/socket" -N \
        -e 'CHECK TABLE `load`.t1; SELECT COUNT(*) > 100 FROM `load`.t1'
}
