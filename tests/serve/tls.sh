#!/bin/sh
# `gordian send` and `gordian tail` over TLS: with a service that has it, through its restarts, and
# with everything that can be wrong.
#
#     tls.sh GORDIAN MAKE_CERTIFICATE
set -u

absolute()
{
    case $1 in
    /*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}

program=$(absolute "$1")
maker=$(absolute "$2")
passed=0
failed=0

# Looking for leaks can take seconds at every exit; the tests in C do it.
: "${ASAN_OPTIONS=detect_leaks=0}"
export ASAN_OPTIONS
unset GORDIAN_SERVICE SSL_CERT_FILE 2>/dev/null

scratch=$(mktemp -d) || exit 1
server=
follower=
clean_up()
{
    for one in $follower $server; do
        kill "$one" 2>/dev/null
        wait "$one" 2>/dev/null
    done
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1

good()
{
    passed=$((passed + 1))
}

bad()
{
    failed=$((failed + 1))
    echo "failed: $*" >&2
}

# has FILE PART WHAT
has()
{
    if grep -q -e "$2" "$1"; then good; else bad "$3: expected '$2' in: $(head -c 600 "$1")"; fi
}

is()
{
    if [ "$1" = "$2" ]; then good; else bad "$3: expected '$2', got '$1'"; fi
}

wait_for()
{
    what=$1
    shift
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt 600 ]; then
            bad "waited for $what in vain"
            return 1
        fi
        sleep 0.1
    done
}

# refuses WHAT STATUS PART COMMAND...: it fails so, and says this.
refuses()
{
    what=$1
    status=$2
    part=$3
    shift 3
    "$program" "$@" >out 2>err
    is $? "$status" "$what: exit status"
    has err "$part" "$what"
    is "$(wc -l <err)" 1 "$what: lines of complaint"
    is "$(wc -c <out)" 0 "$what: what goes to standard output"
}

# start [--listen ADDRESS OPTION...]
start()
{
    : >log
    "$program" serve --socket socket --data data --http 127.0.0.1:0 --tls-cert service.pem \
        --tls-key service.key "$@" >>log 2>&1 &
    server=$!
    wait_for 'the service' grep -q 'ready' log || { cat log >&2; exit 1; }
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\) (TLS).*/\1/p' log)
    http=$(sed -n 's,.*https://127.0.0.1:\([0-9]*\)/.*,\1,p' log)
}

stop()
{
    kill "$1" "$server"
    wait "$server" 2>/dev/null
    server=
}

for wanted in 'ca - -' 'other-ca - -' 'service ca DNS:localhost,IP:127.0.0.1' 'me ca -'; do
    # shellcheck disable=SC2086 # words
    "$maker" . $wanted || exit 1
done
cat >a.trace <<'END'
resource a
resource b
process cid
request ann a
request bob b
request ann b
request bob a
END
cat >b.trace <<'END'
resource a
exit bob
exit ann
END
echo 0123456789abcdef0123 >token
printf 'me write %s\n' "$(cat token)" >tokens
chmod 600 tokens

start --listen 127.0.0.1:0 --token-file tokens
to="--to tls://localhost:$port --tls-ca ca.pem --token-file token"

# ---- as it should be
# shellcheck disable=SC2086 # words
{
    "$program" send $to --all a.trace >out 2>err
    is $? 1 'send: exit status'
    has out 'deadlock' 'send'
    "$program" send --to "tls://127.0.0.1:$port" --tls-ca ca.pem --tls-name localhost \
        --token-file token --what-if cid a >out 2>err
    is "$(cat out)" doomed 'send --what-if, by address and name'
    SSL_CERT_FILE=ca.pem GORDIAN_SERVICE=tls://localhost:$port \
        "$program" send --token-file token --what-if cid a >out 2>err
    is "$(cat out)" doomed "the environment's service and authorities"
    "$program" tail $to --since 1h --http "localhost:$http" --count 1 --json >out 2>err
    is $? 1 'tail --since over HTTPS: exit status'
    has out '"requester":"bob"' 'tail --since over HTTPS'
    "$program" tail $to --since 1h --http "https://127.0.0.1:$http" --count 1 >out 2>err
    has out 'closed by bob' 'tail --since with https://'
    # By the Unix socket TLS is only for HTTP.
    "$program" tail --to unix:socket --tls-ca ca.pem --token-file token --since 1h \
        --http "localhost:$http" --count 1 >out 2>err
    has out 'closed by bob' 'tail --since: what is said about TLS goes for HTTP'
}

# ---- live, through a restart; a big trace meanwhile
is_back()
{
    [ "$(grep -c 'connected to' told)" -ge 2 ]
}
# shellcheck disable=SC2086 # words
{
    "$program" tail $to --retry --verbose >seen 2>told &
    follower=$!
    wait_for 'tail' grep -q 'connected to' told
    "$program" send $to b.trace >out 2>err
    is $? 0 'send: exit status'
    wait_for 'the events' grep -q 'exit *ann' seen
    {
        cat <<'END'
resource x
END
        awk 'BEGIN { for (i = 0; i < 20000; i++) { print "request p x"; print "release p x" } }'
        # Only when the service has gone and come back comes the rest.
        until [ -e back ]; do sleep 0.1; done
        echo 'request last x'
    } | "$program" send $to --json >out 2>err &
    sender=$!
    wait_for 'the first events' grep -q '"seq"' out
    stop -KILL
    start --listen "127.0.0.1:$port" --token-file tokens
    wait_for 'tail to be back' is_back
    touch back
    wait $sender
    is $? 0 'send through a restart: exit status'
    # An answer that was lost on the way is a "duplicate" when it is asked for again.
    is "$(grep -c '"op"' out)" 40001 'send through a restart: answers'
    has out '"events":40001' 'send through a restart: the summary'
    is "$(grep -c '"error"' out)" 0 'send through a restart: errors'
    has err 'connecting again' 'send through a restart'
    wait_for 'tail after the restart' grep -q 'request *last' seen
    has told 'trying again' 'tail through a restart'
    kill $follower
    wait $follower 2>/dev/null
    follower=
}

# ---- what is wrong
safe="--token-file token"
# shellcheck disable=SC2086 # words
{
    refuses 'nobody vouches' 2 '--tls-ca' send --to "tls://localhost:$port" $safe a.trace
    refuses 'another authority' 2 '--tls-ca' tail --to "tls://localhost:$port" \
        --tls-ca other-ca.pem $safe
    refuses 'another name' 2 '--tls-name' send --to "tls://localhost:$port" --tls-ca ca.pem \
        --tls-name example.org $safe a.trace
    refuses 'no such file' 2 'no-such.pem' tail --to "tls://localhost:$port" --tls-ca no-such.pem
    refuses 'half of our own' 2 'go together' send --to "tls://localhost:$port" --tls-ca ca.pem \
        --tls-cert me.pem a.trace
    refuses 'in the clear' 2 'tls://' send --to "tcp://localhost:$port" --tls-ca ca.pem a.trace
    refuses 'TLS is expected (send)' 4 'tls://' send --to "tcp://localhost:$port" $safe a.trace
    refuses 'TLS is expected (tail)' 4 'tls://' tail --to "tcp://localhost:$port" $safe
    refuses 'HTTPS is expected' 4 '' tail --to unix:socket $safe --since 1h \
        --http "http://127.0.0.1:$http"
    refuses 'HTTPS, another authority' 2 '--tls-ca' tail --to unix:socket $safe --since 1h \
        --tls-ca other-ca.pem --http "127.0.0.1:$http"
    refuses 'no token' 2 'token' send --to "tls://localhost:$port" --tls-ca ca.pem a.trace
}
stop -TERM

start --listen 127.0.0.1:0 --tls-clients ca.pem
refuses 'no certificate of our own' 2 '--tls-cert' send --to "tls://localhost:$port" \
    --tls-ca ca.pem a.trace
"$program" send --to "tls://localhost:$port" --tls-ca ca.pem --tls-cert me.pem --tls-key me.key \
    --what-if cid a >out 2>err
is "$(cat out)" granted 'our own certificate'
stop -TERM

# A service without TLS.
: >log
"$program" serve --socket socket --http none --listen 127.0.0.1:0 >log 2>&1 &
server=$!
wait_for 'the service' grep -q 'ready' log
port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' log)
refuses 'no TLS there' 4 'no TLS is spoken' send --to "tls://localhost:$port" --tls-ca ca.pem a.trace
stop -TERM

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
