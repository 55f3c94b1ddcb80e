#!/bin/sh
# Looks at sound programs, again and again: a busy one, and servers that sleep, where installed.
# None of them may ever be accused, and all go on.
#
#     soak.sh GORDIAN BUSY [LOOKS]
#
# Without LOOKS their number follows from GORDIAN_TEST_SCALE: 60 at 30, 200 at 100, 10000 at 1000 and more. A look
# at a thread that works costs most, so there are fewer of those, too, where there are few looks.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
busy=$(absolute "$2")
scale=${GORDIAN_TEST_SCALE:-50}
looks=${3:-$((scale >= 1000 ? 10000 : scale * 2))}
enter_scratch

# look WHAT TIMES OPTION...: so many looks, each must find nothing.
look()
{
    what=$1
    times=$2
    shift 2
    accused=0
    while [ "$times" -gt 0 ]; do
        times=$((times - 1))
        "$gordian" inspect --quiet "$@" >said 2>&1
        status=$?
        if [ $status -eq 0 ]; then
            good
        else
            bad "$what: exit status $status: $(cat said)"
            accused=$((accused + 1))
            [ $accused -lt 5 ] || return
        fi
    done
}

# Every word of the counts differs between the two files, but for those who sleep for ever.
all_count()
{
    cp counts after
    od -A n -t u8 -w8 -v before >words
    od -A n -t u8 -w8 -v after | paste words - |
        awk 'NR > 1 && $1 == $2 && $1 != "18446744073709551615" { still++ } END { exit still > 0 }'
}

threads=$((looks >= 1000 ? 300 : looks >= 200 ? 100 : 30))
"$busy" $threads counts >busy.said &
process=$!
wait_for 'the busy program' grep -q '^ready' busy.said
look busy $((looks * 7 / 10)) $process
cp counts before
wait_for 'every thread to go on' all_count
is "$(od -A n -t u8 -N 8 counts | tr -d ' ')" 0 'no call was interrupted'
kill $process

# ---- servers

try_redis()
{
    redis-server --port 0 --unixsocket redis.socket --save '' --dir . --daemonize no >redis.log 2>&1 &
    server=$!
    wait_for redis test -S redis.socket || return
    look redis "$1" $server
    kill $server
}

try_nginx()
{
    cat >nginx.conf <<EOF
daemon off; worker_processes 4; pid nginx.pid; error_log nginx.log;
events { worker_connections 64; }
http {
    access_log off; server { listen "unix:$scratch/nginx.socket"; }
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; # the usual ones are root's
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
}
EOF
    nginx -p . -c nginx.conf >nginx.out 2>&1 &
    server=$!
    wait_for nginx test -S nginx.socket || return
    look nginx "$1" --tree $server
    kill $server
}

# It does not run as root.
as_nobody()
{
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    else
        "$@"
    fi
}

try_postgres()
{
    mkdir data sockets
    [ "$(id -u)" -ne 0 ] || chown nobody data sockets . || return
    as_nobody "$postgres/initdb" -D data -A trust -U gordian --no-sync >initdb.log 2>&1 || return
    as_nobody "$postgres/postgres" -D data -k "$scratch/sockets" -c listen_addresses= \
        >postgres.log 2>&1 &
    server=$!
    wait_for postgres test -S sockets/.s.PGSQL.5432 || return
    look postgres "$1" --tree $server
    kill $server
    wait $server
}

postgres=$(command -v postgres || ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1)
postgres=$(dirname "$(readlink -f "$postgres")") # a link to it has not the others beside it
! command -v redis-server >/dev/null || try_redis $((looks / 10))
! PATH=$PATH:/usr/sbin command -v nginx >/dev/null || PATH=$PATH:/usr/sbin try_nginx $((looks / 10))
[ ! -x "$postgres/initdb" ] || try_postgres $((looks / 10))
finish
