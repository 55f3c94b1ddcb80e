#!/bin/sh
# Labels and the past over HTTP, with curl.
#
#     labels.sh GORDIAN TALK
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
talker=$(absolute "$2")
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
lines()
{
    ASAN_OPTIONS=detect_leaks=0 "$talker" socket
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

    write='writer-0123456789abcdef' read='reader-0123456789abcdef' bound='bound-0123456789abcdef'
    printf 'w write %s\nr read %s\nb read %s systems=shop\n' $write $read $bound >tokens
    chmod 600 tokens
    start --token-file tokens --data labelled
    lines >answers <<'END'
hello lease=3600 keep=yes
resource till
request ann till
label process ann team:pay env:<b>"
label resource till kind:table
open shop detect
resource till
request eve till
label process eve team:shop
END
    has_not "$(cat answers)" '"error"' 'labels over the socket'
    api=$url/api/v1 as="Authorization: Bearer $write"
    text=$(get -H "$as" "$api/systems/default/graph?label=team:pay")
    has "$text" '"name":"ann"' 'what has a label'
    has "$text" '"labels":["team:pay","env:<b>\""]' 'labels of a node'
    has "$text" '"name":"till"' 'and what that holds'
    has_not "$(get -H "$as" "$api/systems/default/graph?label=team:none")" '"name"' 'what nobody has'
    text=$(get -H "$as" "$api/systems?label=team:shop")
    has "$text" '"name":"shop"' 'the system with a label'
    has_not "$text" '"name":"default"' 'and no other'
    has "$(get -H "$as" "$api/systems/default/labels")" '{"label":"kind:table","processes":0,"resources":1}' 'which there are'
    is "$(status -H "Authorization: Bearer $read" -H 'Content-Type: application/json' \
        -d '{"process":"ann","labels":["a:b"]}' "$api/systems/default/label")" 403 'who only looks labels nothing'
    has "$(json -H "$as" -d '{"process":"ann","labels":["team:","a:b"]}' "$api/systems/default/label")" \
        '"process":"ann","labels":["env:<b>\"","a:b"]' 'set by hand'
    has "$(json -H "$as" -d '{"resource":"till","labels":["kind:desk"]}' "$api/systems/default/label")" \
        '"resource":"till","labels":["kind:desk"]' 'a resource by hand'
    text=$(get -H "$as" "$api/audit")
    has "$text" '"system":"default","what":"label","process":"ann","who":"w","why":"team: a:b"}' 'who labelled whom'
    has "$text" '"what":"label resource","process":"till","who":"w","why":"kind:desk"}' 'and what'
    for body in '{"process":"ann"}' '{"process":"ann","labels":["b"]}' '{"process":"ann","labels":[1]}' \
        '{"labels":["a:b"]}' '{"process":"ann","resource":"till","labels":["a:b"]}' nonsense; do
        is "$(status -H "$as" -H 'Content-Type: application/json' -d "$body" "$api/systems/default/label")" 400 "$body"
    done
    is "$(status -H "$as" -H 'Content-Type: application/json' -d '{"process":"x","labels":["a:b"]}' \
        "$api/systems/default/label")" 404 'nobody of that name'

    has "$(get -H "$as" "$api/past")" '"from":' 'how far back'
    now=$(date +%s)999
    text=$(get -H "$as" "$api/systems/default/graph?at=$now")
    has "$text" '"name":"ann"' 'how it was'
    has "$text" "\"at\":$now" 'and when'
    is "$(status -H "$as" "$api/systems/default/graph?at=x")" 400 'no moment'
    is "$(status -H "Authorization: Bearer $bound" "$api/systems/default/graph?at=$now")" 404 'a system that is not there for a token'
    has "$(get -H "Authorization: Bearer $bound" "$api/systems/shop/graph?at=$now")" '"name":"eve"' 'and one that is'
    is "$(status "$api/past")" 401 'the past is for those with a token'
    has "$(get -H "$as" "$api/cluster")" '"shared":false,"leads":true' 'it is alone'
    has "$("$gordian" incidents --data labelled --audit --color never)" 'label ann  by w: team: a:b' 'the trail has it'

    printf '%s\n' $write >token
    printf 'resource x\nresource y\nhold lee x\nrequest kim y\nrelease kim z\nrequest kim x\nexit kim\nrequest kim y\n' >trace
    sent()
    {
        ASAN_OPTIONS=detect_leaks=0 "$gordian" send --to "unix:$scratch/socket" --token-file token --color never "$@"
    }
    sent --system sent --open detect --label 'team:x  env:prod' trace >said 2>&1
    is $? 0 "send with labels: $(cat said)"
    text=$(get -H "$as" "$api/systems/sent/graph")
    has "$text" '"name":"lee","waiting":false,"deadlocked":false,"since_ms":null,"owner":' 'who was sent'
    is "$(get -H "$as" "$api/systems/sent/labels")" \
        '{"system":"sent","labels":[{"label":"team:x","processes":2,"resources":0},{"label":"env:prod","processes":2,"resources":0}],"truncated":false}' \
        'all processes of a trace are labelled, also one that comes again'
    for label in '' ' ' team ':x' 'a:b team' 'a:b=c'; do
        sent --label "$label" trace >said 2>&1
        is $? 2 "no label: '$label'"
        has "$(cat said)" 'is not a label: expected KEY:VALUE' "what is wrong with '$label'"
    done
    stop
    start
    is "$(status "$url/api/v1/past")" 410 'who keeps nothing has no past'
    stop
finish
