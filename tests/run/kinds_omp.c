/* Hangs of OpenMP, and the same written right.
 *
 *     kinds_omp lock|critical [good] */
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool good;
static atomic_int come;
static omp_lock_t locks[2];

static void meet(void)
{
    atomic_fetch_add(&come, 1);
    while (!good && atomic_load(&come) < 2)
        ;
}

static void cross_locks(int side)
{
    int first = good ? 0 : side;
    omp_set_lock(&locks[first]);
    meet();
    omp_set_lock(&locks[1 - first]);
    omp_unset_lock(&locks[1 - first]);
    omp_unset_lock(&locks[first]);
}

static void one_then_two(void)
{
#pragma omp critical(one)
    {
        meet();
#pragma omp critical(two)
        meet();
    }
}

static void two_then_one(void)
{
#pragma omp critical(two)
    {
        meet();
#pragma omp critical(one)
        meet();
    }
}

static void cross_sections(int side)
{
    if (good || side == 0)
        one_then_two();
    else
        two_then_one();
}

int main(int argc, char **argv)
{
    bool critical = argc > 1 && strcmp(argv[1], "critical") == 0;
    good = argc > 2 && strcmp(argv[2], "good") == 0;
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(2)
    {
        if (critical)
            cross_sections(omp_get_thread_num());
        else
            cross_locks(omp_get_thread_num());
    }
    puts("done");
    return 0;
}
