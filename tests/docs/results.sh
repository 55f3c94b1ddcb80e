#!/bin/sh
# scripts/results: what it records, merges and quotes, and what it complains about; then the documents of this tree.
#
#     results.sh SOURCE DOCUMENT...
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
source=$(absolute "$1")
shift
results=$source/scripts/results
fails()
{
    ! "$@"
}

enter_scratch
check 'every figure of the documents is as recorded' sh -c 'cd "$0" && scripts/results check "$@"' "$source" "$@"
export GORDIAN_RESULTS="$scratch/docs/lab/results"
machine='"machine":"Linux","cpu":"A CPU","cores":2,"compiler":"cc","flags":"","commit":"1","command":"gordian bench all"'
row='{"id":"run/mutex/run","value":22.5,"unit":"ns","baseline":"native","baseline_value":20,"ratio":1.125,"bar":1.25,"bar_is":"at most","met":true}'
printf '%s\n{%s,"date":"2026-01-01","quick":true}\n' "$row" "$machine" >first.json
check 'it records' "$results" record first.json
printf '{"id":"run/mutex/run","value":30,"unit":"ns","ratio":1.5,"bar":1.25,"bar_is":"at most","met":false}\n{"id":"avoid/x/cuda","value":2,"unit":"us"}\n{%s,"device":"A GPU","date":"2026-01-02"}\n' \
    "$machine" >gpu.json
check 'a GPU is another machine' "$results" record gpu.json
check 'it writes' "$results" write
check 'the index has both' test "$(grep -c 'cores' docs/lab/results/README.md)" -eq 2
check 'a bar that was met' grep -q '| at most 1.25 | met |' docs/lab/results/a-cpu-2-cores.md
check 'and one that was not' grep -q 'missed' docs/lab/results/a-gpu-2-cores.md
check 'the page names date, commit and command' grep -q '2026-01-01 | `1` | `gordian bench all`' docs/lab/results/a-cpu-2-cores.md
check 'the picture is XML' python3 -c 'import xml.dom.minidom, sys; xml.dom.minidom.parse(sys.argv[1])' docs/lab/results/a-cpu-2-cores.svg

link='(docs/lab/results/a-cpu-2-cores.md#run "run/mutex/run")'
printf 'It takes [22.5 ns]%s, [1.1 times]%s.\n' "$link" "$link" >README.md
check 'what is recorded is fine' "$results" check README.md
printf 'It takes [22.1 ns]%s.\n' "$link" >README.md
check 'another figure is not' fails "$results" check README.md
check 'it can be put right' "$results" quote README.md
check 'and is' grep -q '\[22.5 ns\]' README.md
printf 'It takes 22.5 ns.\n' >README.md
check 'nor is one without a link' fails "$results" check README.md
printf 'It takes `22.5 ns`.\n' >README.md
check 'code may say what it likes' "$results" check README.md
printf 'It takes [3 ns](docs/lab/results/a-cpu-2-cores.md#run "run/no/row").\n' >README.md
check 'nor one of a row that there is not' fails "$results" check README.md
check 'half a file is not recorded' fails sh -c "echo '$row' >half.json && '$results' record half.json"
finish
