#!/bin/sh
# What needs nvcc at build time or now: `gordian makespan --own` for every event, and a .cu file.
#
#     own.sh GORDIAN
set -u

gordian=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

complain()
{
    echo "$*" >&2
    failed=1
}

# number KEY: of the object in $work/out
number()
{
    sed 's/"assumed".*//' "$work/out" | grep -o "\"$1\":[0-9]*" | head -n 1 | sed 's/.*://'
}

for event in grant block hand-over cancel rebuild; do
    for size in 100 8192; do
        "$gordian" makespan --own --event $event --size $size --seconds 0.2 --quiet --json >"$work/out" ||
            complain "$event $size: exit status $?"
        lower=$(number lower)
        upper=$(number upper)
        any=$(number any_path)
        [ "${lower:-0}" -gt 100 ] && [ "$lower" -le "$upper" ] && [ "$lower" -le "${any:-0}" ] ||
            complain "$event $size: ${lower:-?} to ${upper:-?}, any path ${any:-?}"
    done
done
"$gordian" makespan --own --event rebuild --size 131072 --json >"$work/out" || complain "exit status $?"
[ "$(number any_path)" -gt 1000000 ] || complain "too long: $(cat "$work/out")"

cat >"$work/sum.cu" <<'END'
__global__ void sum(float *to, const float *from)
{
    float all = 0;
#pragma unroll 1
    for (int i = 0; i < 10; i++)
        all += from[i * 32 + threadIdx.x];
    to[threadIdx.x] = all;
}
END
TMPDIR=$work "$gordian" makespan "$work/sum.cu" --entry sum --chip hopper --warps 2 --exact >"$work/out" ||
    complain "sum.cu: exit status $?"
grep -q 'sum.cu:5) counts: it is passed 10 times' "$work/out" || complain "$(cat "$work/out")"
grep -q 'exact' "$work/out" || complain "$(cat "$work/out")"
echo 'this is not C' >"$work/bad.cu"
"$gordian" makespan "$work/bad.cu" --chip hopper --warps 2 >"$work/out" 2>&1
[ $? -eq 2 ] || complain "bad.cu: $(cat "$work/out")"
[ -z "$(find "$work" -name 'gordian-*')" ] || complain "a temporary file is left"
exit $failed
