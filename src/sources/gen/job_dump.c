/* Writes the dumps of a training job as pickles of protocol 2, or as JSON, from one description. */
#include "sources/gen/job.h"

#include "foundation/base/json/json_write.h"

#include <stdio.h>
#include <string.h>

#define STARTED_AT UINT64_C(1758610500000000000) /* ns since 1970 */
#define TEXTS_MOST 256

/* Writes values in either format. A pickle refers to a repeated text by its index in the memo. */
struct dump {
    const struct gen_job *job;
    struct output *out;
    bool json;
    bool comma;
    char memo[TEXTS_MOST][48];
    unsigned memo_count;
};

static void put_byte(struct dump *dump, unsigned byte)
{
    output_char(dump->out, (char)byte);
}

static void put_little(struct dump *dump, uint64_t number, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        put_byte(dump, number >> 8 * i & 0xff);
}

/* Writes the comma before a JSON value that is not the first. */
static void put_comma(struct dump *dump)
{
    if (dump->json && dump->comma)
        output_char(dump->out, ',');
    dump->comma = true;
}

static void open_container(struct dump *dump, bool list)
{
    put_comma(dump);
    dump->comma = false;
    if (dump->json)
        output_char(dump->out, list ? '[' : '{');
    else
        output_text(dump->out, list ? "](" : "}(");
}

static void close_container(struct dump *dump, bool list)
{
    dump->comma = true;
    if (dump->json)
        output_char(dump->out, list ? ']' : '}');
    else
        output_char(dump->out, list ? 'e' : 'u');
}

static void put_pickled(struct dump *dump, const char *text)
{
    size_t length = strlen(text);
    for (unsigned i = 0; i < dump->memo_count; i++) {
        if (strcmp(dump->memo[i], text) != 0)
            continue;
        put_byte(dump, 'h');
        put_byte(dump, i);
        return;
    }
    put_byte(dump, 'X');
    put_little(dump, length, 4);
    output_bytes(dump->out, text, length);
    if (dump->memo_count < TEXTS_MOST && length < sizeof dump->memo[0]) {
        memcpy(dump->memo[dump->memo_count], text, length + 1);
        put_byte(dump, 'q');
        put_byte(dump, dump->memo_count++);
    }
}

/* Dumps contain no text that JSON would escape. */
static void put_dump_text(struct dump *dump, const char *text)
{
    put_comma(dump);
    if (dump->json)
        output_format(dump->out, "\"%s\"", text);
    else
        put_pickled(dump, text);
}

static void put_key(struct dump *dump, const char *key)
{
    put_dump_text(dump, key);
    if (dump->json)
        output_char(dump->out, ':');
    dump->comma = false;
}

static void put_key_open(struct dump *dump, const char *key, bool list)
{
    put_key(dump, key);
    open_container(dump, list);
}

static void put_key_text(struct dump *dump, const char *key, const char *text)
{
    put_key(dump, key);
    put_dump_text(dump, text);
}

static void put_number(struct dump *dump, int64_t number)
{
    put_comma(dump);
    if (dump->json) {
        output_i64(dump->out, number);
    } else if (number >= 0 && number < 256) {
        put_byte(dump, 'K');
        put_little(dump, (uint64_t)number, 1);
    } else if (number >= INT32_MIN && number <= INT32_MAX) {
        put_byte(dump, 'J');
        put_little(dump, (uint64_t)number, 4);
    } else {
        put_byte(dump, 0x8a);
        put_byte(dump, 8);
        put_little(dump, (uint64_t)number, 8);
    }
}

static void put_constant(struct dump *dump, const char *json, unsigned opcode)
{
    put_comma(dump);
    if (dump->json)
        output_text(dump->out, json);
    else
        put_byte(dump, opcode);
}

static void put_key_bool(struct dump *dump, const char *key, bool truth)
{
    put_key(dump, key);
    put_constant(dump, truth ? "true" : "false", truth ? 0x88 : 0x89);
}

static void put_key_number(struct dump *dump, const char *key, int64_t number)
{
    put_key(dump, key);
    put_number(dump, number);
}

/* ------------------------------------------------------------------ groups */

static const char *const kind_names[] = {"default_pg", "TENSOR_MODEL_PARALLEL_GROUP",
                                         "PIPELINE_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP",
                                         "EXPERT_MODEL_PARALLEL_GROUP"};

static bool kind_is_there(const struct gen_job *job, enum group_kind kind)
{
    return kind != GROUP_WORLD || job->ranks <= JOB_WORLD_MOST;
}

/* Groups are numbered in the order of creation: all groups of one kind, then of the next. */
static void group_name(const struct gen_job *job, enum group_kind kind, uint32_t rank, char *text,
                       size_t size)
{
    uint32_t number = job_group(job, kind, rank);
    for (unsigned i = 0; i < (unsigned)kind; i++)
        if (kind_is_there(job, (enum group_kind)i))
            number += job_groups(job, (enum group_kind)i);
    snprintf(text, size, "%u", number);
}

/* Writes a list of ranks as the text "[0, 1, 2]". */
static void put_ranks(struct dump *dump, enum group_kind kind, uint32_t group)
{
    struct output text;
    if (!output_open(&text, OUTPUT_MEMORY))
        return;
    for (uint32_t i = 0; i < job_members(dump->job, kind); i++) {
        output_text(&text, i ? ", " : "[");
        output_u64(&text, job_member(dump->job, kind, group, i));
    }
    output_text(&text, "]");
    output_char(&text, '\0');
    put_dump_text(dump, text.failure ? "" : text.buffer);
    output_close(&text);
}

static void put_groups(struct dump *dump, uint32_t rank)
{
    put_key_open(dump, "pg_config", false);
    for (unsigned i = 0; i < GROUP_KINDS; i++) {
        char name[16];
        if (!kind_is_there(dump->job, (enum group_kind)i))
            continue;
        group_name(dump->job, (enum group_kind)i, rank, name, sizeof name);
        put_key_open(dump, name, false);
        put_key_text(dump, "name", name);
        put_key_text(dump, "desc", kind_names[i]);
        put_key(dump, "ranks");
        put_ranks(dump, (enum group_kind)i, job_group(dump->job, (enum group_kind)i, rank));
        close_container(dump, false);
    }
    close_container(dump, false);
}

/* Writes what a rank has queued and completed in a kind of group. In a group with sends and
 * receives the recorder stores the number of the last operation of either kind. */
static void put_status(struct dump *dump, uint32_t rank, enum group_kind kind)
{
    const struct gen_job *job = dump->job;
    int64_t queued = -1, completed = -1;
    bool open = false;
    for (uint32_t i = 0; i < job->hosts[rank]; i++) {
        const struct call_plan *plan = job_call(job, rank, i);
        if (plan->kind != kind || job_skips(job, rank, i))
            continue;
        queued = (int64_t)plan->sequence + job->base;
        open |= *job_state(job, rank, i) != CALL_STATE_DONE;
        if (!open)
            completed = queued;
    }
    if (queued >= 0 && completed < 0)
        completed = job->base;
    open_container(dump, false);
    put_key_number(dump, "last_enqueued_collective", queued);
    put_key_number(dump, "last_started_collective", -1);
    put_key_number(dump, "last_completed_collective", completed);
    close_container(dump, false);
}

static void put_statuses(struct dump *dump, uint32_t rank)
{
    put_key_open(dump, "pg_status", false);
    for (unsigned i = 0; i < GROUP_KINDS; i++) {
        char id[16];
        if (!kind_is_there(dump->job, (enum group_kind)i))
            continue;
        snprintf(id, sizeof id, "%u", i);
        put_key(dump, id);
        put_status(dump, rank, (enum group_kind)i);
    }
    close_container(dump, false);
}

/* ------------------------------------------------------------------ entries */

/* Returns the operation as the rank called it. A rank whose operation or size is wrong differs
 * here. */
static struct call_plan call_made(const struct gen_job *job, uint32_t rank, uint32_t index)
{
    struct call_plan plan = *job_call(job, rank, index);
    bool odd = job->victim_count && job->victims[0] == rank && job->at[0] == index;
    if (odd && job->fault == FAULT_OPERATION)
        plan.call = plan.call == CALL_ALL_REDUCE ? CALL_ALL_GATHER : CALL_ALL_REDUCE;
    if (odd && job->fault == FAULT_SIZE)
        plan.elements += plan.elements / 2;
    return plan;
}

static void profiling_name(const struct gen_job *job, uint32_t rank, const struct call_plan *plan,
                           char *text, size_t size)
{
    static const char *const names[] = {"_all_gather_base", "_reduce_scatter_base", "all_to_all",
                                        "all_reduce"};
    if (!call_is_p2p(plan)) {
        snprintf(text, size, "nccl:%s", names[plan->call]);
        return;
    }
    uint32_t self = job_stage(job, rank);
    uint32_t peer = job_stage(job, job_neighbour(job, rank, plan->toward));
    snprintf(text, size, plan->call == CALL_SEND ? "nccl:send %u->%u" : "nccl:recv %u<-%u", self,
             peer);
}

/* In expert groups each rank has its own sizes. */
static uint32_t size_of(const struct gen_job *job, uint32_t rank, const struct call_plan *plan,
                        bool output)
{
    uint32_t members = job_members(job, plan->kind);
    if (plan->call == CALL_ALL_TO_ALL)
        return plan->elements + (output ? rank % 7 : 0);
    bool many =
        plan->call == CALL_ALL_GATHER ? output : plan->call == CALL_REDUCE_SCATTER && !output;
    return many ? plan->elements * members : plan->elements;
}

/* `empty`: the entry has no tensors. */
static void put_sizes(struct dump *dump, const char *sizes, const char *types, uint32_t elements,
                      bool empty)
{
    put_key_open(dump, sizes, true);
    if (!empty) {
        open_container(dump, true);
        put_number(dump, elements / 1024);
        put_number(dump, 1024);
        close_container(dump, true);
    }
    close_container(dump, true);
    put_key_open(dump, types, true);
    if (!empty)
        put_dump_text(dump, "BFloat16");
    close_container(dump, true);
}

/* The role of a recorder entry. Each operation of a coalesced group has a member entry, which never
 * changes its state. The last operation also has the entry that closes the group. */
enum entry_role {
    ROLE_ALONE,
    ROLE_MEMBER,
    ROLE_CLOSING,
};

/* Returns the state of an entry. A closing entry has the least state in its group. */
static uint8_t entry_progress(const struct gen_job *job, uint32_t rank, uint32_t index,
                              enum entry_role role)
{
    uint8_t state = *job_state(job, rank, index);
    uint32_t batch = job_call(job, rank, index)->batch;
    if (role == ROLE_MEMBER)
        return CALL_STATE_NONE;
    for (uint32_t i = index; role == ROLE_CLOSING && i-- > batch;)
        if (*job_state(job, rank, i) < state)
            state = *job_state(job, rank, i);
    return state;
}

/* Writes a time; 0 means unknown. */
static void put_time(struct dump *dump, const char *key, uint64_t ns)
{
    put_key(dump, key);
    if (ns)
        put_number(dump, (int64_t)ns);
    else
        put_constant(dump, "null", 'N');
}

static void put_progress(struct dump *dump, uint32_t rank, uint32_t index, enum entry_role role)
{
    uint8_t state = entry_progress(dump->job, rank, index, role);
    bool started = state != CALL_STATE_NONE && dump->job->timed;
    uint64_t created =
        STARTED_AT + (uint64_t)(dump->job->base + index) * 1000000 + rank % 1000 * 100;
    put_key_text(dump, "state",
                 state == CALL_STATE_DONE ? "completed"
                 : started                ? "started"
                                          : "scheduled");
    put_key_number(dump, "time_created_ns", (int64_t)created);
    put_time(dump, "time_discovered_started_ns", started ? created + 1000 : 0);
    put_time(dump, "time_discovered_completed_ns", state == CALL_STATE_DONE ? created + 2000 : 0);
    put_key_bool(dump, "retired", state == CALL_STATE_DONE);
    put_key_number(dump, "timeout_ms", 600000);
}

static void put_frames(struct dump *dump, const struct call_plan *plan)
{
    put_key_open(dump, "frames", true);
    open_container(dump, false);
    put_key_text(dump, "name", call_is_p2p(plan) ? "exchange" : "forward");
    put_key_text(dump, "filename", "/job/train.py");
    put_key_number(dump, "line", 10 + 7 * plan->call);
    close_container(dump, false);
    close_container(dump, true);
}

static void put_dump_entry(struct dump *dump, uint32_t rank, uint32_t index, enum entry_role role,
                           uint32_t record)
{
    const struct gen_job *job = dump->job;
    const struct call_plan plan = call_made(job, rank, index);
    bool p2p = call_is_p2p(&plan);
    char text[48];
    open_container(dump, false);
    put_key_number(dump, "record_id", (int64_t)job->base + record);
    put_key_number(dump, "pg_id", plan.kind);
    put_key_open(dump, "process_group", true);
    group_name(job, plan.kind, rank, text, sizeof text);
    put_dump_text(dump, text);
    put_dump_text(dump, kind_names[plan.kind]);
    close_container(dump, true);
    put_key_number(dump, "collective_seq_id", (int64_t)job->base + (p2p ? 0 : plan.sequence));
    put_key_number(dump, "p2p_seq_id", p2p ? (int64_t)job->base + plan.sequence : 0);
    put_key_number(dump, "op_id", (int64_t)job->base + plan.sequence);
    put_key(dump, "profiling_name");
    profiling_name(job, rank, &plan, text, sizeof text);
    put_dump_text(dump, role == ROLE_CLOSING ? "nccl:coalesced" : text);
    put_sizes(dump, "input_sizes", "input_dtypes", size_of(job, rank, &plan, false),
              role == ROLE_CLOSING);
    put_sizes(dump, "output_sizes", "output_dtypes", size_of(job, rank, &plan, true),
              role == ROLE_CLOSING);
    put_progress(dump, rank, index, role);
    put_key_bool(dump, "is_p2p", p2p);
    if (job->frames)
        put_frames(dump, &plan);
    close_container(dump, false);
}

/* Lists the entries of an operation in order and returns their number. A coalesced collective has
 * two members. */
static uint32_t list_entry_roles(const struct gen_job *job, uint32_t rank, uint32_t index,
                                 enum entry_role roles[3])
{
    uint32_t count = 0;
    if (job_skips(job, rank, index))
        return 0;
    const struct call_plan *plan = job_call(job, rank, index);
    bool coalesced = call_is_p2p(plan) ? job->batches
                                       : job->coalesces && plan->kind == GROUP_DATA &&
                                             plan->call == CALL_ALL_GATHER;
    roles[count++] = coalesced ? ROLE_MEMBER : ROLE_ALONE;
    if (coalesced && !call_is_p2p(plan))
        roles[count++] = ROLE_MEMBER;
    if (coalesced && (index + 1 >= stage_of(job, rank)->count ||
                      job_call(job, rank, index + 1)->batch == job_index(job, rank, index + 1)))
        roles[count++] = ROLE_CLOSING;
    return count;
}

/* Writes the latest entries, up to the capacity of the recorder. A dump may omit completed
 * entries. */
static void put_dump_entries(struct dump *dump, uint32_t rank)
{
    const struct gen_job *job = dump->job;
    enum entry_role roles[3];
    uint32_t made = 0, record = 0;
    for (uint32_t i = 0; i < job->hosts[rank]; i++)
        made += list_entry_roles(job, rank, i, roles);
    put_key_open(dump, "entries", true);
    for (uint32_t i = 0; i < job->hosts[rank]; i++) {
        uint32_t count = list_entry_roles(job, rank, i, roles);
        for (uint32_t j = 0; j < count; j++, record++)
            if (made - record <= job->keep &&
                !(job->active && entry_progress(job, rank, i, roles[j]) == CALL_STATE_DONE))
                put_dump_entry(dump, rank, i, roles[j], record);
    }
    close_container(dump, true);
}

bool gen_job_dump(const struct gen_job *job, uint32_t rank, bool json, struct output *out)
{
    struct dump dump = {.job = job, .out = out, .json = json};
    for (uint32_t i = 0; job->fault == FAULT_SILENT && i < job->victim_count; i++)
        if (job->victims[i] == rank)
            return false;
    if (!json) {
        put_byte(&dump, 0x80);
        put_byte(&dump, 2);
    }
    open_container(&dump, false);
    put_key_text(&dump, "version", "2.9");
    put_key_text(&dump, "nccl_version", "2.27.3");
    put_groups(&dump, rank);
    put_statuses(&dump, rank);
    put_dump_entries(&dump, rank);
    close_container(&dump, false);
    if (!json)
        put_byte(&dump, '.');
    return true;
}
