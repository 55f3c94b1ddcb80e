#!/bin/sh
# What is told of deadlocks from outside: a command, a URL that fails at first, a signature.
#
#     hook.sh GORDIAN TALK
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
talker=$(absolute "$2")
need openssl
need python3
enter_scratch

# deadlock [SUFFIX]: one forms, of names with it, and ends.
deadlock()
{
    printf 'resource a%s\nresource b%s\nrequest p%s a%s\nrequest q%s b%s\nrequest p%s b%s\nrequest q%s a%s\ncancel q%s\n' \
        "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" "${1-}" |
        ASAN_OPTIONS=detect_leaks=0 "$talker" socket >/dev/null
}

# ---- a command gets it on its standard input, and may fail

cat >told.sh <<'END'
[ -e tried ] || { touch tried; cat >/dev/null; exit 3; }
cat >>told
END
serve --http 127.0.0.1:0 --on-deadlock 'sh ./told.sh'
deadlock
both()
{
    [ -e told ] && [ "$(wc -l <told)" -ge 2 ]
}
wait_for 'the command' both
has "$(sed -n 1p told)" '{"event":"began","deadlock":{"id":1,"system":"default","at":' 'what a command gets'
has "$(sed -n 2p told)" '"event":"ended"' 'the end is told, too'
has "$(sed -n 2p told)" '"how":"cancelled"' 'how it ended'
complained()
{
    grep -q 'on-deadlock: the command ended with status 3' log
}
wait_for 'the complaint' complained
url=$(sed -n 's/.*metrics on \(http[^ ]*\)\/.*/\1/p' log | head -n 1)
if command -v curl >/dev/null; then
    counted()
    {
        curl -s --max-time 60 "$url/metrics" | grep -q 'gordian_notices_sent_total 2'
    }
    wait_for 'the count' counted
fi
stop

# ---- a URL, whose server fails once; signed

cat >receiver.py <<'END'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_POST(self):
        Handler.count += 1
        body = self.rfile.read(int(self.headers['Content-Length']))
        if Handler.count > 1:
            name = 'got%d' % Handler.count
            open(name + '.body', 'wb').write(body)
            with open(name, 'w') as f:
                f.write('%s\n%s\n%s\n%s\n' % (self.path, self.headers['Content-Type'],
                        self.headers['X-Gordian-Timestamp'], self.headers['X-Gordian-Signature']))
        self.send_response(500 if Handler.count == 1 else 204)
        self.end_headers()
    def log_message(self, *rest):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
open('port.new', 'w').write(str(server.server_port))
import os
os.rename('port.new', 'port')
server.serve_forever()
END
python3 receiver.py &
receiver=$!
wait_for 'the receiver' test -e port
(umask 077 && printf '0123456789abcdef-secret\n' >secret)
serve --http none --on-deadlock "http://127.0.0.1:$(cat port)/hook?team=db" --on-deadlock-secret secret
deadlock
wait_for 'the second notice' test -e got3
is "$(sed -n 1p got2)" '/hook?team=db' 'the path'
is "$(sed -n 2p got2)" 'application/json' 'the type'
has "$(cat got2.body)" '"event":"began"' 'the first'
has "$(cat got3.body)" '"event":"ended"' 'in their order'
{ printf '%s.' "$(sed -n 3p got2)"; cat got2.body; } >signed
is "$(sed -n 4p got2)" "sha256=$(openssl dgst -sha256 -hmac 0123456789abcdef-secret signed | sed 's/.*= //')" 'the signature'
stop
kill "$receiver"
wait "$receiver" 2>/dev/null

# ---- what was kept and not told when a service was killed, the next one tells, once

cat >slow.sh <<'END'
while [ -e held ]; do
    touch begun
    sleep 0.05
done
kill -0 $PPID 2>/dev/null || exit 1 # whose service is gone tells nothing
cat >>again
END
told_again()
{
    [ -e again ] && [ "$(wc -l <again)" -ge "$1" ]
}
slow()
{
    serve --http 127.0.0.1:0 --data kept --on-deadlock 'exec sh ./slow.sh'
    url=$(sed -n 's/.*metrics on \(http[^ ]*\)\/.*/\1/p' log | head -n 1)
}
touch held
slow
deadlock 1
wait_for 'the command to begin' test -e begun
kill_service
rm held
slow
wait_for 'what was not told' told_again 2
has "$(sed -n 1p again)" '{"event":"began","deadlock":{"id":1,' 'the beginning, also after a kill'
has "$(sed -n 1p again)" '"ended":null,"how":null,' 'as it was then'
has "$(sed -n 2p again)" '{"event":"ended","deadlock":{"id":1,' 'and the end'
has "$(sed -n 2p again)" '"how":"cancelled"' 'how it ended, after a kill'
has "$(cat log)" '--on-deadlock: 2 pending notifications are sent now' 'it is in the log'
if command -v curl >/dev/null; then
    wait_for 'both to be written down' counted
    stop
    slow
    deadlock 2
    wait_for 'the next' told_again 4
    has "$(sed -n 3p again)" '{"event":"began","deadlock":{"id":2,' 'what was told is not told again'
fi
stop

# ---- so it is if it ends in order; and what stands is in the log of the next one

touch held
rm -f begun again
slow
printf 'hello lease=3600 keep=yes\nresource c\nresource d\nrequest r c\nrequest s d\nrequest r d\nrequest s c\n' |
    ASAN_OPTIONS=detect_leaks=0 "$talker" socket >/dev/null
wait_for 'the command to begin' test -e begun
stop
rm held
slow
wait_for 'what was not told when it ended' told_again 1
has "$(sed -n 1p again)" '"event":"began"' 'what was not told at the end'
has "$(cat log)" 'a deadlock is open: {"id":' 'what stands is in the log'
stop

# ---- nobody there: the service ends all the same, and at once

for round in 1 2 3 4 5 6 7 8; do # also when the command is just being started
    serve --http none --on-deadlock 'sleep 50; touch survived'
    deadlock
    stop
done
check 'a command ends with its service' test ! -e survived
serve --http none --on-deadlock 'trap "" TERM; touch stubborn; sleep 1000; sleep 1000'
deadlock
wait_for 'the command that does not listen' test -e stubborn
stop

# ---- what is refused

chmod 644 secret
refuse()
{
    "$gordian" serve --socket none --http none "$@" >said 2>&1
    is "$?" 2 "refused: $*"
}
refuse --on-deadlock http://x --on-deadlock-secret secret
has "$(cat said)" 'chmod 600' 'a secret that others can read'
refuse --on-deadlock 'http://user@host/'
refuse --on-deadlock 'http:///path'
finish
