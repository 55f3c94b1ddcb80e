#!/bin/sh
# `gordian send` and `gordian tail` over TLS: with a service that has it, through its restarts, and
# with everything that can be wrong.
#
#     tls.sh GORDIAN MAKE_CERTIFICATE
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
maker=$(absolute "$2")
unset GORDIAN_SERVICE SSL_CERT_FILE 2>/dev/null
enter_scratch

# refuses WHAT STATUS PART COMMAND...: it fails so, and says this.
refuses()
{
    what=$1
    status=$2
    part=$3
    shift 3
    "$gordian" "$@" >out 2>err
    is $? "$status" "$what: exit status"
    has "$(cat err)" "$part" "$what"
    is "$(wc -l <err)" 1 "$what: lines of complaint"
    is "$(wc -c <out)" 0 "$what: what goes to standard output"
}

# start [--listen ADDRESS OPTION...]
start()
{
    serve --data data --http none --tls-cert service.pem --tls-key service.key "$@"
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\) (TLS).*/\1/p' log)
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
    "$gordian" send $to --all a.trace >out 2>err
    is $? 1 'send: exit status'
    has "$(cat out)" 'deadlock' 'send'
    "$gordian" send --to "tls://127.0.0.1:$port" --tls-ca ca.pem --tls-name localhost \
        --token-file token --what-if cid a >out 2>err
    is "$(cat out)" doomed 'send --what-if, by address and name'
    SSL_CERT_FILE=ca.pem GORDIAN_SERVICE=tls://localhost:$port \
        "$gordian" send --token-file token --what-if cid a >out 2>err
    is "$(cat out)" doomed "the environment's service and authorities"
    "$gordian" tail $to --since 1h --count 1 --json >out 2>err
    is $? 1 'tail --since: exit status'
    has "$(cat out)" '"requester":"bob"' 'tail --since'
    "$gordian" tail --to unix:socket --tls-ca ca.pem --since 1h --count 1 >out 2>err
    has "$(cat out)" 'closed by bob' 'tail --since by the Unix socket'
}

# ---- live, through a restart; a big trace meanwhile
is_back()
{
    [ "$(grep -c 'connected to' told)" -ge 2 ]
}
# shellcheck disable=SC2086 # words
{
    "$gordian" tail $to --retry --verbose >seen 2>told &
    follower=$!
    wait_for 'tail' grep -q 'connected to' told
    "$gordian" send $to b.trace >out 2>err
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
    } | "$gordian" send $to --json >out 2>err &
    sender=$!
    wait_for 'the first events' grep -q '"seq"' out
    kill_service
    start --listen "127.0.0.1:$port" --token-file tokens
    wait_for 'tail to be back' is_back
    touch back
    wait $sender
    is $? 0 'send through a restart: exit status'
    # An answer that was lost on the way is a "duplicate" when it is asked for again.
    is "$(grep -c '"op"' out)" 40001 'send through a restart: answers'
    has "$(cat out)" '"events":40001' 'send through a restart: the summary'
    is "$(grep -c '"error"' out)" 0 'send through a restart: errors'
    has "$(cat err)" 'connecting again' 'send through a restart'
    wait_for 'tail after the restart' grep -q 'request *last' seen
    has "$(cat told)" 'trying again' 'tail through a restart'
    kill $follower
    wait $follower 2>/dev/null
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
    refuses 'half of our own' 2 'needs its key' send --to "tls://localhost:$port" --tls-ca ca.pem \
        --tls-cert me.pem a.trace
    refuses 'in the clear' 2 'tls://' send --to "tcp://localhost:$port" --tls-ca ca.pem a.trace
    refuses 'TLS is expected (send)' 4 'tls://' send --to "tcp://localhost:$port" $safe a.trace
    refuses 'TLS is expected (tail)' 4 'tls://' tail --to "tcp://localhost:$port" $safe
    refuses 'no token' 2 'token' send --to "tls://localhost:$port" --tls-ca ca.pem a.trace
}
stop

start --listen 127.0.0.1:0 --tls-clients ca.pem
refuses 'no certificate of our own' 2 '--tls-cert' send --to "tls://localhost:$port" \
    --tls-ca ca.pem a.trace
"$gordian" send --to "tls://localhost:$port" --tls-ca ca.pem --tls-cert me.pem --tls-key me.key \
    --what-if cid a >out 2>err
is "$(cat out)" granted 'our own certificate'
stop

# A service without TLS.
serve --http none --listen 127.0.0.1:0
port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' log)
refuses 'no TLS there' 4 'does not speak TLS' send --to "tls://localhost:$port" --tls-ca ca.pem a.trace
stop

finish
