#!/bin/sh
# What needs nvcc at build time or now: `gordian makespan --own` for every event, and a .cu file.
#
#     own.sh GORDIAN
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
enter_scratch

# runs WHAT STATUS COMMAND...: it ends so; what it says is in `out`.
runs()
{
    what=$1 wanted=$2
    shift 2
    "$@" >out 2>stderr
    is $? "$wanted" "$what: exit status: $(cat stderr)"
}

# number KEY: of the object in `out`
number()
{
    sed 's/"assumed".*//' out | grep -o "\"$1\":[0-9]*" | head -n 1 | sed 's/.*://'
}

# narrow: a lower bound that is no triviality, an upper one, and any path is longer.
narrow()
{
    lower=$(number lower)
    upper=$(number upper)
    any=$(number any_path)
    echo "${lower:-?} to ${upper:-?}, any path ${any:-?}"
    [ "${lower:-0}" -gt 100 ] && [ "$lower" -le "${upper:-0}" ] && [ "$lower" -le "${any:-0}" ]
}

for event in grant block hand-over cancel rebuild; do
    for size in 100 8192; do
        runs "$event $size" 0 "$gordian" makespan --own --event $event --size $size --seconds 0.2 \
            --quiet --json
        check "$event $size" narrow
    done
done
runs 'a large one' 0 "$gordian" makespan --own --event rebuild --size 131072 --json
check 'a large one is long' test "$(number any_path)" -gt 1000000

cat >sum.cu <<'END'
__global__ void sum(float *to, const float *from)
{
    float all = 0;
#pragma unroll 1
    for (int i = 0; i < 10; i++)
        all += from[i * 32 + threadIdx.x];
    to[threadIdx.x] = all;
}
END
TMPDIR=$scratch
export TMPDIR
runs sum.cu 0 "$gordian" makespan sum.cu --entry sum --chip hopper --warps 2 --exact
has "$(cat out)" 'sum.cu:5) counts: it is passed 10 times' 'sum.cu: how often'
has "$(cat out)" 'exact' 'sum.cu: exact'

# What the compiler's own headers and its inline assembly bring along: every instruction is known.
cat >many.cu <<'END'
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
__global__ void many(half2 *h, const half *a, float *c, double *d, long long *l, int *p, int k)
{
    __shared__ float4 tile[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], reinterpret_cast<const float4 *>(a) + t, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> A;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> B;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> C;
    wmma::fill_fragment(C, 0);
    wmma::load_matrix_sync(A, a, 16);
    wmma::load_matrix_sync(B, a, 16);
    wmma::mma_sync(C, A, B, C);
    wmma::store_matrix_sync(c, C, 16, wmma::mem_row_major);
    h[0] = h2exp(__hfma2(h[1], h[2], h[3]));
    d[0] = sqrt(d[1]) / d[2] + tile[t ^ 1].x;
    l[0] = l[1] / l[2] + __popcll(l[3]) + __clzll(l[4]);
    switch (k) {
    case 0: p[0] = p[1] / p[2]; break;
    case 1: p[1] = atomicAdd(&p[0], 3); break;
    case 2: p[2] = __shfl_xor_sync(~0u, p[3], 1); break;
    case 3: p[3] = __reduce_add_sync(~0u, p[4]); break;
    case 4: p[4] = __vadd4(p[1], p[2]); break;
    case 5: p[5] = (int)__sinf(p[6]); break;
    case 6: p[6] = __match_any_sync(~0u, p[7]); break;
    default: p[7] = 1;
    }
}
END
runs many.cu 0 "$gordian" makespan many.cu --nvcc -arch=sm_80 --chip ampere --warps 2 --json \
    --seconds 1
check 'many.cu: its string' grep -q '"kernel":"[CDLST]*TTTTTTTT[CDLST]*"' out
has "$(cat out)" '"barriers":1' 'many.cu: barriers'

echo 'this is not C' >bad.cu
runs bad.cu 2 "$gordian" makespan bad.cu --chip hopper --warps 2
is "$(find . -name 'gordian-*')" '' 'temporary files left'
finish
