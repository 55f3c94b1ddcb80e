/* Writes an incident as the watcher would, about a deadlock on paper: two threads of this program
 * stop where they would wait, and their registers, stacks and call sites are copied. The reporter
 * must make of it what the source below says.
 *
 *     writer [KIND [TRUNCATE]] > incident
 */
#define _GNU_SOURCE
#include "foundation/records/incident.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SECTIONS_MOST (1u << 20)

struct account {
    int balance;
    pthread_mutex_t lock;
};

static struct account accounts[3];
static pthread_mutex_t *heap_lock;

static struct incident head;
static struct incident_thread threads[2];
static struct incident_lock locks[2];
static struct incident_edge edges[4];
static struct incident_order orders[2];
static struct incident_fold folds[1];
static uint64_t words[64];
static size_t word_count;
static char strings[256] = "";
static size_t string_count = 1;
static char stacks[2][INCIDENT_STACK_MAX];
static pthread_barrier_t stopped, done;

static uint32_t string(const char *text)
{
    size_t at = string_count;
    memcpy(strings + at, text, strlen(text) + 1);
    string_count += strlen(text) + 1;
    return (uint32_t)at;
}

static uint32_t word(uint64_t value)
{
    words[word_count] = value;
    return (uint32_t)word_count++;
}

static void registers_of(const ucontext_t *context, struct incident_thread *thread)
{
    const mcontext_t *state = &context->uc_mcontext;
#if defined(__x86_64__)
    static const int numbers[] = {3, 6, 7, 12, 13, 14, 15, 16};
    static const int names[] = {REG_RBX, REG_RBP, REG_RSP, REG_R12,
                                REG_R13, REG_R14, REG_R15, REG_RIP};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        thread->register_mask |= UINT64_C(1) << numbers[i];
        thread->registers[numbers[i]] = (uint64_t)state->gregs[names[i]];
    }
    thread->stack_address = thread->registers[7];
#else
    for (int i = 19; i <= 30; i++) {
        thread->register_mask |= UINT64_C(1) << i;
        thread->registers[i] = state->regs[i];
    }
    thread->register_mask |= UINT64_C(3) << 31;
    thread->registers[31] = state->sp;
    thread->registers[32] = state->pc;
    thread->stack_address = state->sp;
#endif
}

/* Where a watched call would be: copies everything, then waits for the end. */
static __attribute__((noinline)) void stop_here(unsigned index)
{
    ucontext_t context;
    pthread_attr_t attributes;
    void *low;
    size_t size;
    getcontext(&context);
    struct incident_thread *thread = &threads[index];
    thread->tid = (uint32_t)syscall(SYS_gettid);
    registers_of(&context, thread);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    thread->stack_low = (uint64_t)(uintptr_t)low;
    thread->stack_high = thread->stack_low + size;
    uint64_t bytes = thread->stack_high - thread->stack_address;
    thread->stack_size = bytes < INCIDENT_STACK_MAX ? bytes : INCIDENT_STACK_MAX;
    memcpy(stacks[index], (const void *)(uintptr_t)thread->stack_address, thread->stack_size);
    pthread_barrier_wait(&stopped);
    pthread_barrier_wait(&done);
}

/* A caller's address, as a frame list would have it. */
static __attribute__((noinline)) uint64_t here(void)
{
    __asm__ volatile(""); /* each call counts */
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static __attribute__((noinline)) void transfer(unsigned index)
{
    struct incident_edge *hold = &edges[2 * (1 - index) + 1];
    hold->frames = word(here()); /* takes the first lock */
    hold->count = 1;
    orders[index].held_frames = hold->frames;
    orders[index].held_count = 1;
    orders[index].taken_frames = word(here()); /* would take the second */
    orders[index].taken_count = 1;
    stop_here(index); /* waits for the second lock */
    __asm__ volatile("");
}

static inline __attribute__((always_inline)) void serve(unsigned index)
{
    transfer(index);
    __asm__ volatile("");
}

static void *teller(void *unused)
{
    (void)unused;
    serve(0);
    return NULL;
}

static void *auditor(void *unused)
{
    (void)unused;
    transfer(1);
    return NULL;
}

/* ------------------------------------------------------------------ the file */

static void describe(unsigned kind)
{
    for (uint32_t i = 0; i < 2; i++) {
        threads[i].flags = INCIDENT_STUCK | INCIDENT_WAITING;
        threads[i].name = string(i ? program_invocation_short_name : "Tim Teller");
        threads[i].wait = 2 * i;
        edges[2 * i] = (struct incident_edge){.thread = i,
                                              .lock = i,
                                              .mode = INCIDENT_EXCLUSIVE,
                                              .flags = INCIDENT_WAITS | INCIDENT_WITNESS,
                                              .units = 1,
                                              .outer = INCIDENT_NONE};
        edges[2 * i + 1].thread = 1 - i;
        edges[2 * i + 1].lock = i;
        edges[2 * i + 1].mode = INCIDENT_EXCLUSIVE;
        edges[2 * i + 1].flags = INCIDENT_WITNESS;
        edges[2 * i + 1].units = 1;
        edges[2 * i + 1].outer = INCIDENT_NONE;
        locks[i].kind = INCIDENT_MUTEX;
        locks[i].target = INCIDENT_NONE;
        orders[i].thread = i;
        orders[i].held = 1 - i;
        orders[i].taken = i;
        orders[i].held_mode = orders[i].taken_mode = INCIDENT_EXCLUSIVE;
        orders[i].seen = 1;
    }
    locks[0].address = (uint64_t)(uintptr_t)&accounts[1].lock;
    locks[1].address = (uint64_t)(uintptr_t)heap_lock;
    locks[1].flags = INCIDENT_RECURSIVE;
    head.kind = kind;
    head.first = 0;
    head.cycle = 1;
    folds[0] = (struct incident_fold){.number = 1, .kind = INCIDENT_POTENTIAL, .count = 17};
}

static void section(FILE *out, unsigned id, const void *data, size_t count, size_t size)
{
    while (ftell(out) % 8)
        fputc(0, out);
    head.sections[id] = (struct incident_section){(uint64_t)ftell(out), count, (uint32_t)size, 0};
    fwrite(data, size, count, out);
}

static size_t read_maps(char *text, size_t room)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    size_t size = maps ? fread(text, 1, room, maps) : 0;
    if (maps)
        fclose(maps);
    return size;
}

static void write_file(FILE *out)
{
    static char maps[SECTIONS_MOST];
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    memcpy(head.magic, INCIDENT_MAGIC, sizeof head.magic);
    head.version = INCIDENT_VERSION;
    head.header_size = sizeof head;
#if defined(__x86_64__)
    head.machine = EM_X86_64;
#else
    head.machine = EM_AARCH64;
#endif
    head.action = head.kind <= INCIDENT_OWNER_GONE ? INCIDENT_ABORT : INCIDENT_GO_ON;
    head.number = 1;
    head.pid = (uint32_t)getpid();
    head.program = string(strrchr(program, '/'));
    head.locks_watched = 2;
    head.threads_watched = 3;
    bool potential = head.kind == INCIDENT_POTENTIAL, summary = head.kind == INCIDENT_SUMMARY;
    fwrite(&head, sizeof head, 1, out);
    threads[1].stack_offset = sizeof stacks[0];
    section(out, INCIDENT_THREADS, threads, summary ? 0 : 2, sizeof *threads);
    section(out, INCIDENT_LOCKS, locks, summary ? 0 : 2, sizeof *locks);
    section(out, INCIDENT_EDGES, edges, potential || summary ? 0 : 4, sizeof *edges);
    section(out, INCIDENT_ORDERS, orders, potential ? 2 : 0, sizeof *orders);
    section(out, INCIDENT_FOLDS, folds, summary ? 1 : 0, sizeof *folds);
    section(out, INCIDENT_WORDS, words, word_count, sizeof *words);
    section(out, INCIDENT_STRINGS, strings, string_count, 1);
    section(out, INCIDENT_MAPS, maps, read_maps(maps, sizeof maps), 1);
    section(out, INCIDENT_STACKS, stacks, sizeof stacks, 1);
    head.total_size = (uint64_t)ftell(out);
    rewind(out);
    fwrite(&head, sizeof head, 1, out);
}

int main(int argc, char **argv)
{
    pthread_t both[2];
    heap_lock = calloc(1, sizeof *heap_lock);
    describe(argc > 1 ? (unsigned)atoi(argv[1]) : INCIDENT_DEADLOCK);
    pthread_barrier_init(&stopped, NULL, 2);
    pthread_barrier_init(&done, NULL, 3);
    /* One after the other: the frame lists are filled without a lock. */
    pthread_create(&both[0], NULL, teller, NULL);
    pthread_barrier_wait(&stopped);
    pthread_create(&both[1], NULL, auditor, NULL);
    pthread_barrier_wait(&stopped);
    write_file(stdout);
    pthread_barrier_wait(&done);
    pthread_join(both[0], NULL);
    pthread_join(both[1], NULL);
    free(heap_lock);
    return ferror(stdout) != 0;
}
