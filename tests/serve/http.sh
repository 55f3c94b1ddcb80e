#!/bin/sh
# The service's HTTP side from outside, with curl: answers, tokens, TLS, limits, metrics, reload,
# systemd.
#
#     http.sh GORDIAN TALK FAKE_SYSTEMD
set -u

findings=$(cd "$(dirname "$0")/.." && pwd)/findings.py
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
talker=$(absolute "$2")
fake_systemd=$(absolute "$3")
need curl
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY 2>/dev/null
enter_scratch

# start OPTION...: $url is where it answers.
start()
{
    serve --http 127.0.0.1:0 "$@"
    url=$(sed -n 's/.*metrics on \(http[^ ]*\)\/.*/\1/p' log | head -n 1)
}

# The service is looked at for leaks, what it is talked to with is not.
talk()
{
    ASAN_OPTIONS=detect_leaks=0 "$talker" "$@"
}

lines()
{
    talk socket
}

get()
{
    curl -sS --max-time 60 "$@" 2>&1
}

# status ARGUMENT...: of the answer.
status()
{
    curl -sS --max-time 60 -o body -w '%{http_code}' "$@" 2>errors
}

json()
{
    get -H 'Content-Type: application/json' "$@"
}

# ---- answers

test_answers()
{
    start
    is "$(get "$url/healthz")" ok healthz
    is "$(get "$url/readyz")" ready readyz
    text=$(get "$url/api/v1/systems")
    has "$text" '{"systems":[{"name":"default","kind":"detect","engine":"sparse"' systems
    has "$text" '"processes":0,"resources":0,"waiting":0,"deadlocked":0,"events":0' systems

    # A deadlock of two, one behind it, one that runs.
    lines >answers <<'END'
resource fork
resource spoon
resource pool 4
hello lease=3600 keep=yes name=test
process ann
request ann fork
request bob spoon
request eve pool=2
request ann spoon
request bob fork
request cid fork
END
    has "$(cat answers)" '"result":"deadlock"' 'a deadlock over the socket'
    has "$(cat answers)" '"result":"doomed"' 'one behind it'

    text=$(get "$url/api/v1/systems")
    has "$text" '"processes":4,"resources":3,"waiting":3' systems
    counted()
    {
        get "$url/api/v1/systems" | grep -q '"deadlocked":3'
    }
    wait_for 'the number of deadlocked' counted

    text=$(get "$url/api/v1/systems/default/graph")
    has "$text" '{"system":"default","seq":6,"processes":[' graph
    has "$text" '"name":"ann","waiting":true,"deadlocked":true,"since_ms":1' graph
    has "$text" '"name":"eve","waiting":false,"deadlocked":false,"since_ms":null' graph
    has "$text" '"name":"pool","units":4,"free":2}' graph
    has "$text" '"units":2,"waits":false}' graph
    has "$text" '"truncated":false}' graph
    is "$(printf %s "$text" | grep -o '"waits":true' | wc -l | tr -d ' ')" 3 'waits in the graph'
    text=$(get "$url/api/v1/systems/default/graph?only=deadlocked")
    has_not "$text" '"eve"' 'only the deadlocked'
    text=$(get "$url/api/v1/systems/default/graph?around=pool&depth=1")
    has "$text" '"eve"' 'around a resource'
    has_not "$text" '"ann"' 'around a resource'
    text=$(get "$url/api/v1/systems/default/graph?limit=3")
    has "$text" '"truncated":true}' 'a graph with a limit'
    is "$(status "$url/api/v1/systems/default/graph?around=nobody")" 404 'around nobody'
    is "$(status "$url/api/v1/systems/default/graph?only=nonsense")" 400 'only nonsense'
    is "$(status "$url/api/v1/systems/default/graph?limit=x")" 400 'a limit that is no number'

    text=$(get "$url/api/v1/systems/default/chain?process=cid")
    has "$text" '"process":"cid","chain":[{"process":"cid","waits_for":[{"resource":"fork"' chain
    has "$text" '"holders":["ann"]' chain
    has "$text" '"deadlocked":true' chain
    text=$(get "$url/api/v1/systems/default/chain?process=bob")
    has "$text" '"witness":[{"process":"ann","waits":"spoon","units":1}' witness
    is "$(status "$url/api/v1/systems/default/chain?process=nobody")" 404 'chain of nobody'
    is "$(status "$url/api/v1/systems/default/chain")" 400 'chain of whom'

    has "$(json -d '{"process":"eve","wants":[{"resource":"pool","units":2}]}' \
        "$url/api/v1/systems/default/what-if")" '"result":"granted"' what-if
    has "$(json -d '{"process":"eve","wants":[{"resource":"fork"}]}' \
        "$url/api/v1/systems/default/what-if")" '"result":"doomed"' what-if
    has "$(json -d '{"process":"eve","wants":[{"resource":"moon"}]}' \
        "$url/api/v1/systems/default/what-if")" '"status":404' 'what-if of nothing known'
    for body in '' '[' '[]' '{}' '{"process":1,"wants":[]}' '{"process":"eve","wants":[]}' \
        '{"process":"eve","wants":[{"resource":"pool","units":0}]}' \
        '{"process":"eve","wants":[{"resource":"pool","units":1.5}]}' \
        '{"process":"eve","wants":[{"resource":3}]}' '{"process":"eve","process":"ann"}'; do
        is "$(status -H 'Content-Type: application/json' -d "$body" \
            "$url/api/v1/systems/default/what-if")" 400 "what-if '$body'"
    done
    is "$(status -d '{}' "$url/api/v1/systems/default/what-if")" 415 'what-if as a form'
    is "$(get "$url/api/v1/systems/default/graph" | grep -o '"seq":[0-9]*')" '"seq":6' \
        'questions change nothing'

    text=$(get "$url/api/v1/incidents")
    has "$text" '{"incidents":[{"id":1,"system":"default"' incidents
    has "$text" '"ended":null' incidents
    has "$text" '"requester":"bob"' incidents
    has "$text" '"next":null}' incidents
    has_not "$text" '"replay"' incidents
    has "$(get "$url/api/v1/incidents?process=ann&open=1")" '"id":1' 'incidents of ann'
    is "$(get "$url/api/v1/incidents?process=eve")" '{"incidents":[],"next":null}' \
        'incidents of eve'
    is "$(get "$url/api/v1/incidents?system=other")" '{"incidents":[],"next":null}' \
        'incidents elsewhere'
    is "$(get "$url/api/v1/incidents?ended=1")" '{"incidents":[],"next":null}' 'ended incidents'
    has "$(get "$url/api/v1/incidents/1")" '"replay":{"graph":{' 'one incident'
    get "$url/api/v1/incidents/1" >incident.json
    is "$(python3 "$findings" --check incident.json 2>&1)" '' 'its finding'
    is "$(status "$url/api/v1/incidents/2")" 404 'an incident that is not there'
    is "$(status "$url/api/v1/incidents/x")" 404 'an incident without a number'
    is "$(status "$url/api/v1/incidents?limit=x")" 400 'incidents without a number'

    echo 'exit ann' | lines >answers
    has "$(get "$url/api/v1/incidents?ended=1")" '"id":1' 'it has ended'
    sampled()
    {
        get "$url/api/v1/rates" | grep -q '"deadlocks":1,'
    }
    wait_for 'a sample' sampled
    has "$(get "$url/api/v1/rates?system=default")" '"p99_us":' 'rates of a system'
    is "$(status "$url/api/v1/rates?system=x")" 404 'rates of no system'

    # In a system of single units the witness is the cycle.
    printf 'open one detect\nuse one\nhello lease=3600\nresource q\nresource r\nrequest a q\n' >trace
    printf 'request b r\nrequest a r\nrequest b q\n' >>trace
    lines >answers <trace
    has "$(get "$url/api/v1/systems/one/chain?process=b")" '"witness":["b","q","a","r"]' 'a cycle'

    # A system that avoids.
    lines >answers <<'END'
open bank avoid queue=yes
use bank
hello lease=3600
resource gpu 4
process a gpu=3
process b gpu=3
request a gpu=2
request b gpu=1
request b gpu=2
END
    text=$(get "$url/api/v1/systems")
    has "$text" '{"name":"bank","kind":"avoid","engine":"holt"' 'a bank'
    has "$(json -d '{"process":"a","wants":[{"resource":"gpu","units":1}]}' \
        "$url/api/v1/systems/bank/what-if")" '"result":"granted"' 'what-if of a bank'
    has "$(json -d '{"process":"a","wants":[{"resource":"gpu","units":2}]}' \
        "$url/api/v1/systems/bank/what-if")" '"result":"error"' 'what-if beyond the claim'
    text=$(get "$url/api/v1/systems/bank/graph")
    has "$text" '"name":"b","waiting":true,"deadlocked":false' 'the graph of a bank'
    has "$text" '"name":"gpu","units":4,"free":1}' 'the graph of a bank'
    text=$(get "$url/api/v1/systems/bank/chain?process=b")
    has "$text" '"waits_for":[{"resource":"gpu","units":2,"free":1,"holders":["a"]}]' \
        'the chain of a bank'
    has "$(get "$url/metrics")" 'gordian_outcomes_total{system="bank",outcome="unavailable"} 1' \
        'the outcomes of a bank'

    # Names with everything in them.
    printf 'open a/b?c%%d detect\nuse a/b?c%%d\nresource "\\\nrequest <&> "\\\n' | lines >answers
    has "$(get "$url/api/v1/systems/a%2Fb%3Fc%25d/graph")" '"name":"\"\\"' 'odd names'
    has "$(get "$url/metrics")" 'gordian_resources{system="a/b?c%d"} 1' 'odd names'

    # What is not there, and how it is said.
    for path in /api/v1 /api/v1/nothing /api/v1/systems/x/graph /api/v1/systems/default/x /nothing \
        /assets/../../etc/passwd /api/v1/systems/default/graph/x; do
        is "$(status --path-as-is "$url$path")" 404 "$path"
    done
    has "$(get "$url/nothing")" '{"error":{"status":404,"message":"' 'an error'
    is "$(status -X DELETE "$url/api/v1/systems")" 405 'another method'
    is "$(status -d '{}' "$url/api/v1/systems")" 405 'POST to a list'
    is "$(status "$url/api/v1/systems/default/what-if")" 405 'GET of a question'
    is "$(status -d x "$url/")" 405 'POST to the page'
    has "$(get -i -X DELETE "$url/api/v1/systems")" 'Allow: GET, HEAD, POST' 'what there is instead'
    has "$(get -i -d '{}' "$url/api/v1/systems")" 'Allow: GET, HEAD' 'what there is instead'
    has "$(get -i "$url/api/v1/systems/default/what-if")" 'Allow: POST' 'what there is instead'
    has "$(get -i -d x "$url/")" 'Allow: GET, HEAD' 'what there is instead'
    text=$(get -i "$url/")
    has "$text" 'HTTP/1.1 200 ' 'the page'
    has "$text" 'Content-Security-Policy: ' 'the page'
    has_not "$text" "unsafe-inline" 'the page'
    text=$(get -I "$url/api/v1/systems")
    for header in 'Cache-Control: no-store' 'X-Content-Type-Options: nosniff' \
        "Content-Security-Policy: default-src 'none'" 'Content-Type: application/json'; do
        has "$text" "$header" 'headers'
    done

    # Pages of others must not reach us through a browser.
    is "$(status -H 'Host: evil.example' "$url/api/v1/systems")" 421 'another host'
    is "$(status -H 'Host: localhost:1' "$url/api/v1/systems")" 200 'localhost'
    is "$(status -H 'Origin: http://evil.example' -H 'Content-Type: application/json' -d '{}' \
        "$url/api/v1/systems/default/what-if")" 403 'another origin'
    for header in 'Sec-Fetch-Site: cross-site' 'Sec-Fetch-Site: same-site'; do
        for path in systems stream rates; do
            is "$(status -H "$header" -H 'Sec-Fetch-Dest: image' "$url/api/v1/$path")" 403 \
                "$header, $path"
        done
    done
    is "$(status -H 'Sec-Fetch-Site: same-origin' "$url/api/v1/systems")" 200 'our own page'
    is "$(status -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Dest: document' \
        "$url/api/v1/systems")" 200 'a link that was followed'
    is "$(status -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Dest: document' \
        -H 'Content-Type: application/json' -d '{}' "$url/api/v1/systems/default/what-if")" 403 \
        'a form that was sent'
    stop
}

# ---- metrics

test_metrics()
{
    start
    lines >answers <<'END'
hello lease=3600
resource r
request a r
request b r
release a r
nonsense
END
    get "$url/metrics" >metrics
    has "$(get -I "$url/metrics")" 'Content-Type: text/plain; version=0.0.4' 'metrics'
    for sample in 'gordian_events_total{system="default"} 3' \
        'gordian_outcomes_total{system="default",outcome="granted"} 1' \
        'gordian_outcomes_total{system="default",outcome="blocked"} 1' \
        'gordian_served_total{system="default"} 1' \
        'gordian_event_duration_seconds_count 3' \
        'gordian_event_duration_seconds_bucket{le="+Inf"} 3' \
        'gordian_waiting_processes{system="default"} 0' \
        'gordian_engine_info{system="default",kind="detect",engine="sparse"} 1' \
        'gordian_deadlocks_total{system="default"} 0' \
        'gordian_journal_lag_records 0' \
        'gordian_ready 1'; do
        has "$(cat metrics)" "$sample" metrics
    done
    is "$(grep -c '# TYPE' metrics)" "$(grep -c '# HELP' metrics)" 'HELP and TYPE'
    is "$(grep '# TYPE' metrics | sort | uniq -d)" '' 'families come once'
    # However many processes there are, the series stay the same.
    before=$(grep -vc '^#' metrics)
    {
        echo 'hello lease=3600'
        for i in 1 2 3 4 5 6 7 8 9; do echo "request p$i r"; done
    } | lines >answers
    is "$(get "$url/metrics" | grep -vc '^#')" "$before" 'series do not grow with processes'
    waited()
    {
        get "$url/metrics" |
            grep -q 'gordian_longest_wait_seconds{system="default"} [0-9.]*[1-9]'
    }
    wait_for 'the longest wait' waited
    has "$(get "$url/metrics")" 'gordian_waiting_processes{system="default"} 9' 'who waits'
    if command -v promtool >/dev/null; then
        if promtool check metrics <metrics >promtool.out 2>&1 && [ ! -s promtool.out ]; then
            good
        else
            bad "promtool: $(cat promtool.out)"
        fi
    else
        echo "promtool is not here: the metrics' format is only looked at"
    fi
    stop
}

# ---- the stream

test_stream()
{
    start
    curl -sS -N --max-time 300 "$url/api/v1/stream" >stream 2>/dev/null &
    reader=$!
    wait_for 'the stream' grep -q retry stream
    printf 'hello lease=3600\nresource q\nresource r\nrequest a q\nrequest b r\n' >trace
    printf 'request a r\nrequest b q\n' >>trace
    lines >answers <trace
    wait_for 'the incident' grep -q '"requester":"b"' stream
    wait_for 'the rates' grep -q 'event: rates' stream
    wait_for 'the reset' grep -q 'event: reset' stream
    has "$(cat stream)" '["+h",0,0,1]' 'effects'
    has "$(cat stream)" '"names":{"processes":{"0":"a"' 'names of effects'
    has "$(cat stream)" '"resources":{"0":{"name":"q","units":1}' 'names of effects'
    # The next change begins where a graph fetched in between ends.
    seq=$(get "$url/api/v1/systems/default/graph" | grep -o '"seq":[0-9]*' | head -n 1)
    echo 'cancel b' | lines >answers
    wait_for 'a change' grep -q '\["-w",1,0,1\]' stream
    has "$(grep -F '["-w",1,0,1]' stream)" "\"from\":${seq#*:}," 'changes follow the graph'
    wait_for 'its end' grep -q '"how":"cancelled"' stream
    is "$(get "$url/metrics" | grep '^gordian_http_streams')" 'gordian_http_streams 1' 'streams'
    kill $reader
    wait $reader 2>/dev/null
    gone()
    {
        get "$url/metrics" | grep -q '^gordian_http_streams 0'
    }
    wait_for 'the end of the stream' gone
    stop
}

# ---- tokens

reading=read-0123456789abcdef
writing=write-0123456789abcdef

test_tokens()
{
    (umask 077 && printf 'grafana read %s\nci write %s\n' $reading $writing >tokens)
    start --token-file "$scratch/tokens"
    is "$(status "$url/healthz")" 200 'health needs no token'
    is "$(status "$url/")" 200 'the page needs no token'
    for path in /metrics /api/v1/systems /api/v1/stream /api/v1/incidents; do
        is "$(status "$url$path")" 401 "$path without a token"
        is "$(status -H 'Authorization: Bearer wrong-0123456789abcdef' "$url$path")" 401 \
            "$path with a wrong token"
    done
    has "$(get -i "$url/metrics")" 'WWW-Authenticate: Bearer' 'a token is asked for'
    is "$(status -H "Authorization: Bearer ${reading}x" "$url/metrics")" 401 'one character more'
    is "$(status -H "Authorization: Basic $reading" "$url/metrics")" 401 'another scheme'
    is "$(status -H "Authorization: Bearer $reading" "$url/metrics")" 200 'a token'
    is "$(status -H "Authorization: Bearer $writing" "$url/api/v1/systems")" 200 'a token'
    is "$(status -H 'Host: any.example' -H "Authorization: Bearer $reading" "$url/metrics")" 200 \
        'any host with a token'

    is "$(status -H 'Content-Type: application/json' -d '{"token":"wrong-0123456789"}' \
        "$url/api/v1/login")" 401 'a wrong login'
    has "$(get -H "Authorization: Bearer $reading" "$url/metrics")" 'gordian_wrong_tokens_total 6' \
        'it is counted, as the others are'
    text=$(json -i -c cookies -d "{\"token\":\"$reading\"}" "$url/api/v1/login")
    has "$text" 'HttpOnly; SameSite=Strict' 'the cookie'
    has "$text" '{"rights":"read"}' 'login'
    is "$(status -b cookies "$url/api/v1/systems")" 200 'with the cookie'
    is "$(status -b cookies -H 'Origin: http://evil.example' -H 'Content-Type: application/json' \
        -d '{}' "$url/api/v1/systems/default/what-if")" 403 'the cookie from elsewhere'
    cp cookies kept
    json -b cookies -c cookies -d '{}' "$url/api/v1/logout" >/dev/null
    is "$(status -b kept "$url/api/v1/systems")" 401 'after logging out'

    # Reload: a broken file changes nothing, a good one ends what it does not name any more.
    printf 'nonsense\n' >tokens
    kill -HUP "$server"
    wait_for 'the complaint' grep -q "tokens', line 1" log
    is "$(status -H "Authorization: Bearer $reading" "$url/metrics")" 200 'keeping the old tokens'
    printf 'ci write %s\n' $writing >tokens
    kill -HUP "$server"
    revoked()
    {
        [ "$(status -H "Authorization: Bearer $reading" "$url/metrics")" = 401 ]
    }
    wait_for 'the reload' revoked
    is "$(status -H "Authorization: Bearer $writing" "$url/metrics")" 200 'the other one stays'
    stop
    has_not "$(cat log)" $writing 'tokens are not logged'
}

# ---- tokens that are for some systems only

test_bound_tokens()
{
    (umask 077 && printf 'shop read %s systems=shop-*\nci write %s\n' $reading $writing >tokens)
    start --token-file "$scratch/tokens"
    printf 'open shop-1 detect\nresource a\nresource b\nrequest p a\nrequest q b\nrequest p b\nrequest q a\nopen other detect\nresource a\nresource b\nrequest p a\nrequest q b\nrequest p b\nrequest q a\n' | lines >/dev/null
    bound()
    {
        get -H "Authorization: Bearer $reading" "$@"
    }
    text=$(bound "$url/api/v1/systems")
    has "$text" '"name":"shop-1"' 'its system'
    has_not "$text" '"name":"other"' 'another system'
    has_not "$text" '"name":"default"' 'another system'
    text=$(bound "$url/api/v1/incidents")
    has "$text" '"id":1,"system":"shop-1"' 'its incident'
    has_not "$text" '"system":"other"' 'the incident of another system'
    has "$(bound "$url/api/v1/incidents/1")" '"replay"' 'its incident'
    is "$(status -H "Authorization: Bearer $reading" "$url/api/v1/incidents/2")" 404 'not its incident'
    is "$(status -H "Authorization: Bearer $writing" "$url/api/v1/incidents/2")" 200 'for others it is there'
    for path in systems/other/graph 'systems/default/chain?process=p' 'rates?system=other'; do
        is "$(status -H "Authorization: Bearer $reading" "$url/api/v1/$path")" 404 "not its $path"
    done
    text=$(curl -sSN --max-time 60 -H "Authorization: Bearer $reading" "$url/api/v1/stream" 2>/dev/null | sed -n '/^event: rates/{n;p;q;}')
    has "$text" '"name":"shop-1"' 'its system in the stream'
    has_not "$text" '"name":"other"' 'another system in the stream'
    is "$(status -H "Authorization: Bearer $reading" "$url/metrics")" 403 'metrics are of all systems'
    stop
}

# ---- what operators do by hand, and the trail of it

test_actions()
{
    (umask 077 && printf 'looker read %s\nsender send %s-\nboss send,end-others %s\n' $reading $writing $writing >tokens)
    start --token-file "$scratch/tokens" --data "$scratch/acted"
    printf 'hello lease=100 keep=yes\nresource a\nresource b\nrequest p a\nrequest q b\nrequest p b\nrequest q a\nprocess idle\n' | lines >/dev/null
    act()
    {
        get -H 'Content-Type: application/json' -H "Authorization: Bearer $1" -d "$2" "$url/api/v1/systems/default/$3"
    }
    has "$(act $reading '{"process":"p"}' end)" '"status":403' 'a reader ends nobody'
    has "$(act $writing- '{"process":"p"}' end)" '"status":403' 'who may send ends nobody'
    has "$(act $writing '{"process":"nobody"}' end)" '"status":404' 'nobody is ended'
    has "$(act $writing '{"proces":"p"}' end)" '"status":400' 'a wrong body'
    has "$(act $writing '{"process":"idle"}' cancel)" '"status":409' 'who does not wait'
    text=$(get -H "Authorization: Bearer $reading" "$url/api/v1/audit")
    is "$text" '{"actions":[],"next":null}' 'what was refused is not in the trail'
    text=$(act $writing '{"process":"q","reason":"the \"older\" one stays"}' end)
    has "$text" '"process":"q","result":"exited","who":"boss"' 'the end of a victim'
    has "$(get -H "Authorization: Bearer $reading" "$url/api/v1/incidents")" '"how":"ended"' 'the incident is over'
    printf 'use default\nrequest r a\n' | lines >/dev/null
    printf 'hello lease=100 keep=yes\nresource c\nrequest s c\nrequest t c\n' | lines >/dev/null
    has "$(act $writing '{"process":"t"}' cancel)" '"result":"cancelled"' 'a wait is cancelled'
    text=$(get -H "Authorization: Bearer $reading" "$url/api/v1/audit")
    has "$text" '"system":"default","what":"cancel","process":"t","who":"boss"' 'the trail'
    has "$text" '"what":"exit","process":"q","who":"boss","why":"the \"older\" one stays"' 'the trail'
    has "$(get -H "Authorization: Bearer $reading" "$url/api/v1/audit?process=q&limit=1")" '"process":"q"' 'the trail of one'
    stop
    start --data "$scratch/acted"
    has "$(get "$url/api/v1/audit?limit=1")" '"process":"t","who":"boss","why":""}],"next":' 'the trail stays'
    has "$(get "$url/api/v1/systems/default/graph")" '"name":"p","waiting":false' 'what was done stays'
    stop
    text=$("$gordian" incidents --data "$scratch/acted" --audit 2>&1)
    has "$text" 'boss' 'the trail from the command line'
    has "$("$gordian" incidents --data "$scratch/acted" --audit --json 2>&1)" '"what":"exit"' 'the trail as JSON'
}

# ---- the protocol over TCP, and who may use the Unix socket

test_tcp()
{
    (umask 077 && printf 'looker read %s\nci write %s\n' $reading $writing >tokens)
    start --token-file "$scratch/tokens" --listen 127.0.0.1:0
    wait_for 'TCP' grep -q 'listening on 127.0.0.1:' log
    tcp=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' log)
    text=$(printf 'resource r\nrequest p r\n' | talk "$tcp")
    has "$text" '"error"' 'TCP without a token'
    has_not "$text" '"granted"' 'TCP without a token'
    text=$(printf 'hello token=wrong-0123456789abcdef\nresource r\nrequest p r\n' | talk "$tcp")
    has "$text" '"error"' 'TCP with a wrong token'
    has_not "$text" '"granted"' 'TCP with a wrong token'
    has_not "$text" wrong- 'a wrong token is not repeated'
    text=$(printf 'hello token=%s\nresource r\nrequest p r\n' $reading | talk "$tcp")
    has "$text" '"error"' 'a token for reading does not write'
    has_not "$text" '"granted"' 'a token for reading does not write'
    text=$(printf 'hello token=%s\nping\nsystems\n' $reading | talk "$tcp")
    has "$text" pong 'a token for reading reads'
    text=$(printf 'hello token=%s\nresource r\nrequest p r\n' $writing | talk "$tcp")
    has "$text" '"granted"' 'a token for writing writes'
    is "$(stat -c %a socket)" 600 'the mode of the Unix socket'
    has "$(echo ping | lines)" pong 'the Unix socket needs no token'
    stop
    has_not "$(cat log)" 0123456789abcdef 'tokens are not logged'
    has "$(cat log)" 'a wrong token was sent by 127.0.0.1' 'who guessed is logged'
    start --socket-group "$(id -g)"
    is "$(stat -c %a socket)" 660 'the mode with a group'
    stop
    start --allow-uid "$(id -u),12345"
    is "$(stat -c %a socket)" 666 'the mode when credentials decide'
    has "$(echo ping | lines)" pong 'a user who is named'
    stop
    if [ -e socket ]; then bad 'the socket is left behind'; else good; fi
}

# ---- refusals

# refuses WHAT MESSAGE OPTION...
refuses()
{
    what=$1
    message=$2
    shift 2
    "$gordian" serve --socket "$scratch/socket" "$@" >out 2>errors
    is $? 2 "$what: exit status"
    has "$(cat errors)" "$message" "$what"
}

test_refusals()
{
    refuses 'HTTP for everybody' '--token-file' --http 0.0.0.0:0
    refuses 'the protocol for everybody' '--token-file' --http none --listen 0.0.0.0:0
    refuses 'tokens in the clear' '--tls-cert' --http 0.0.0.0:0 --token-file "$scratch/tokens"
    chmod 644 tokens
    refuses 'a token file for everybody' 'chmod 600' --http none --token-file "$scratch/tokens"
    chmod 600 tokens
    echo 'short write abc' >bad-tokens
    chmod 600 bad-tokens
    refuses 'a bad token file' 'line 1: a token must have 16 to 512' --http none \
        --token-file "$scratch/bad-tokens"
    printf 'a write \0\n' >bad-tokens
    refuses 'a token file with a NUL' 'line 1: ' --http none --token-file "$scratch/bad-tokens"
    refuses 'no token file' 'cannot read the token file' --http none --token-file "$scratch/nothing"
    refuses 'half of TLS' '--tls' --http none --tls-cert "$scratch/cert"
    refuses 'not an address' 'nonsense' --http nonsense
    refuses 'no such group' 'no-such-group' --http none --socket-group no-such-group
}

# ---- a file of options, read again

# limit: what a new session is told it may have of systems.
opens()
{
    printf 'open one detect\nopen two detect\nclose one\nclose two\n' | lines | grep -c '"ok":"open"'
}

# reload TEXT: the log then has it once more.
reload()
{
    count=$(grep -c "$1" log)
    kill -HUP "$server"
    again()
    {
        [ "$(grep -c "$1" log)" -gt "$count" ]
    }
    wait_for "$1" again "$1"
}

test_config()
{
    echo 'max-opened 1' >options
    start --config options --max-systems 60
    is "$(opens)" 1 'a limit of the file'
    printf 'max-opened 2\nmax-clients lots\n' >options
    reload 'could be reloaded'
    has "$(cat log)" "options: --max-clients: 'lots'" 'a broken file'
    has "$(cat log)" 'the limits are unchanged' 'a broken file'
    is "$(opens)" 1 'after a broken file'
    printf 'max-systems 1\ndurability full\n' >options
    reload ': reloaded'
    is "$(opens)" 2 'what the file does not name has its default, what the command line says goes'
    has "$(cat log)" '--durability is unchanged: it needs a restart' 'what cannot change'
    stop
}

# ---- limits

test_limits()
{
    start
    head -c 100000 /dev/zero | tr '\0' a >large
    is "$(status -H 'Content-Type: application/json' --data-binary @large \
        "$url/api/v1/systems/default/what-if")" 413 'a large body'
    is "$(status -H "X: $(cat large | head -c 20000)" "$url/healthz")" 431 'a large head'
    is "$(status -H 'Transfer-Encoding: chunked' -d x "$url/api/v1/login")" 411 'chunks'
    # More connections than there may be, all unfinished; others get through.
    pids=
    for i in 1 2 3 4 5 6; do
        (for j in $(seq 50); do echo "url = \"$url/healthz\""; done |
            curl -sS --max-time 60 -Z --parallel-max 50 -K - >/dev/null 2>&1) &
        pids="$pids $!"
    done
    is "$(get "$url/healthz")" ok 'in a crowd'
    # shellcheck disable=SC2086 # a list
    wait $pids
    is "$(get "$url/healthz")" ok 'after a crowd'
    stop
}

# ---- TLS

test_tls()
{
    if ! command -v openssl >/dev/null; then
        echo "openssl is not here: TLS is not tested"
        return
    fi
    certificate()
    {
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
            -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
            -keyout key.pem -out "$1" 2>/dev/null
    }
    certificate cert.pem
    chmod 600 key.pem tokens
    printf 'ci write %s\n' $writing >tokens
    start --tls-cert "$scratch/cert.pem" --tls-key "$scratch/key.pem" \
        --token-file "$scratch/tokens" --listen 127.0.0.1:0
    wait_for 'TCP' grep -q 'listening on 127.0.0.1:' log
    has "$url" https:// 'the address'
    is "$(get --cacert cert.pem "$url/healthz")" ok TLS
    is "$(status "$url/healthz")" 000 'an unknown certificate'
    has "$(get -v --cacert cert.pem --tls-max 1.2 "$url/healthz")" TLSv1.2 'TLS 1.2'
    is "$(status --cacert cert.pem --tls-max 1.1 "$url/healthz")" 000 'TLS 1.1'
    is "$(status "http${url#https}/healthz")" 000 'in the clear'
    has "$(json -i --cacert cert.pem -d "{\"token\":\"$writing\"}" "$url/api/v1/login")" \
        '; Secure' 'the cookie over TLS'
    has "$(get --cacert cert.pem -H "Authorization: Bearer $writing" "$url/metrics")" \
        'gordian_tls_certificate_expiry_timestamp_seconds 1' 'when it ends'
    curl -sS -N --max-time 300 --cacert cert.pem -H "Authorization: Bearer $writing" \
        "$url/api/v1/stream" >stream 2>/dev/null &
    reader=$!
    wait_for 'the stream over TLS' grep -q 'event: rates' stream

    # The protocol over TLS.
    tcp=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' log)
    text=$(printf 'hello token=%s\nping\nquit\n' $writing |
        openssl s_client -quiet -verify_return_error -CAfile cert.pem -connect "127.0.0.1:$tcp" \
            2>errors)
    has "$text" pong 'the protocol over TLS'
    text=$(printf 'systems\nquit\n' | openssl s_client -quiet -CAfile cert.pem \
        -connect "127.0.0.1:$tcp" 2>errors)
    has "$text" '"error"' 'the protocol over TLS without a token'
    has_not "$text" '"default"' 'the protocol over TLS without a token'
    has_not "$(printf 'hello token=%s\nping\n' $writing | talk "$tcp")" pong \
        'the protocol in the clear where TLS is spoken'

    # A new certificate on reload; a broken one changes nothing.
    certificate other.pem
    cp other.pem cert.new
    cp cert.pem cert.old
    echo nonsense >cert.pem
    kill -HUP "$server"
    wait_for 'the complaint' grep -q 'cannot use the certificate' log
    is "$(get --cacert cert.old "$url/healthz")" ok 'keeping the old certificate'
    cp cert.new cert.pem
    kill -HUP "$server"
    renewed()
    {
        [ "$(get --cacert cert.new "$url/healthz")" = ok ]
    }
    wait_for 'the new certificate' renewed
    kill $reader
    wait $reader 2>/dev/null
    stop
    # Clients with certificates only: the one there is vouches for itself.
    start --tls-cert "$scratch/cert.pem" --tls-key "$scratch/key.pem" \
        --tls-clients "$scratch/cert.pem"
    is "$(get --cacert cert.pem --cert cert.pem --key key.pem "$url/healthz")" ok \
        'a client with a certificate'
    is "$(status --cacert cert.pem "$url/healthz")" 000 'a client without one'
    stop
    chmod 644 key.pem
    refuses 'a key for everybody' 'chmod 600' --http none --tls-cert "$scratch/cert.pem" \
        --tls-key "$scratch/key.pem"
}

# ---- a disk that takes no more

test_disk()
{
    if ! command -v prlimit >/dev/null; then
        echo "prlimit is not here: a full disk is not tested"
        return
    fi
    start --data "$scratch/data"
    # No file may grow beyond this: room for the log, but for no page of the journal, so that what
    # is tried again fails again.
    prlimit --pid "$server" --fsize=4096:
    is "$(get "$url/readyz")" ready 'before the disk is full'
    {
        echo 'hello lease=3600'
        awk 'BEGIN { for (i = 0; i < 20000; i++) print "resource a-name-that-takes-room-" i }'
    } | lines >answers &
    sender=$! # what it has sent by then is answered when the disk is well again
    unready()
    {
        [ "$(status "$url/readyz")" = 503 ]
    }
    wait_for 'the disk to be full' unready
    has "$(echo 'resource more' | lines)" '"error"' 'an event when the disk is full'
    is "$(get "$url/healthz")" ok 'it lives'
    text=$(get "$url/metrics")
    has "$text" 'gordian_ready 0' 'when the disk is full'
    has "$text" 'gordian_journal_healthy 0' 'when the disk is full'
    wait_for 'the log' grep -q 'nothing is acknowledged' log
    prlimit --pid "$server" --fsize=unlimited:
    recovered()
    {
        [ "$(get "$url/readyz")" = ready ]
    }
    wait_for 'the disk to be well again' recovered
    wait $sender
    is $? 0 'one who sent when the disk got full'
    has "$(printf 'resource again\nrequest p again\n' | lines)" '"granted"' 'it goes on'
    settled()
    {
        get "$url/metrics" | grep -q 'gordian_journal_lag_records 0'
    }
    wait_for 'everything to be kept' settled
    stop
}

# ---- systemd

test_systemd()
{
    "$fake_systemd" --socket unix="$scratch/activated" --socket http=0 --socket http=0 \
        --socket unix="$scratch/second" --socket http="$scratch/other" --watchdog 400000 \
        "$gordian" serve >said 2>log &
    server=$!
    wait_for 'READY=1' grep -q 'READY=1' said || { cat said log >&2; return; }
    pid=$(sed -n 's/^pid //p' said)
    url=http://127.0.0.1:$(sed -n 's/^port http //p' said | sed -n 1p)
    is "$(get "$url/healthz")" ok 'HTTP on a socket of systemd'
    has "$(echo ping | talk activated)" pong 'the protocol on a socket of systemd'
    url2=http://127.0.0.1:$(sed -n 's/^port http //p' said | sed -n 2p)
    is "$(get "$url2/healthz")" ok 'HTTP on another socket of systemd'
    is "$(curl -s --max-time 10 --unix-socket other http://localhost/healthz)" ok 'and on a Unix socket'
    has "$(echo ping | talk second)" pong 'the protocol on another socket of systemd'
    wait_for 'signs of life' sh -c '[ "$(grep -c WATCHDOG=1 said)" -ge 3 ]'
    kill -HUP "$pid"
    wait_for 'RELOADING=1' grep -q 'RELOADING=1 MONOTONIC_USEC=[0-9]' said
    reloaded()
    {
        [ "$(grep -c READY=1 said)" -eq 2 ]
    }
    wait_for 'READY=1 again' reloaded
    kill -TERM "$pid"
    wait_for 'its end' grep -q '^exit' said
    has "$(cat said)" 'STOPPING=1' 'STOPPING=1'
    is "$(tail -n 1 said)" 'exit 0' 'the exit status'
    if [ -S activated ]; then good; else bad "a socket of systemd's was removed"; fi
    wait "$server"
}

test_answers
test_metrics
test_stream
test_tokens
test_bound_tokens
test_actions
test_tcp
test_refusals
test_config
test_limits
test_tls
test_disk
test_systemd
finish
