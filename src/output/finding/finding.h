/* A finding: what every source of waits reports, and what all writers print. Read this first.
 *
 *     source (run, inspect, watch, collectives, detect, check)
 *         fills one struct finding
 *     writers
 *         finding_text.c      text for a terminal
 *         finding_json.c      one JSON object: docs/reference/findings.md
 *         finding_picture.c   the wait-for graph for Graphviz or as an SVG
 *         finding_drawing.c   the wait-for graph drawn with lines and letters, for text
 *
 * A finding has parties (threads, processes, sessions, ranks), resources that they wait for and
 * hold, and edges between them. An edge with a waiter and a holder reads "the waiter waits for the
 * resource, which the holder holds"; an edge with one of the two says only that half.
 *
 *     struct finding finding;
 *     finding_open(&finding, "watch", FINDING_DEADLOCK, FINDING_PROVED);
 *     finding.title = finding_format(&finding, "%zu sessions wait for each other", count);
 *     uint32_t ann = finding_party(&finding, "shop/4711", "session");
 *     uint32_t row = finding_resource(&finding, "accounts(0,3)", "lock");
 *     ...
 *     finding_edge(&finding, ann, row, bob)->mode = "ShareLock";
 *     finding_json(&finding, out);
 *     finding_close(&finding);
 *
 * Texts belong to the source and must outlive the finding, except those of finding_format and
 * finding_copy. NULL and FINDING_NONE mean "not known, or not applicable": the key is left out.
 * Running out of memory is remembered in `failed`.
 */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/json/json_write.h"
#include "output/finding/frame.h"
#include "output/show/style.h"

#define FINDING_SCHEMA "gordian-finding/1"
#define FINDING_NONE   UINT32_MAX

enum finding_kind {
    FINDING_DEADLOCK,
    FINDING_OWNER_GONE,           /* what is waited for belongs to a thread that has ended */
    FINDING_NEVER_SIGNALLED,      /* no thread is left that could signal or post */
    FINDING_LOCK_ORDER_INVERSION, /* locks taken in orders that can deadlock */
    FINDING_STALL,                /* a wait longer than the limit */
    FINDING_STATUS,               /* asked for: nothing is claimed */
    FINDING_ABSENT_RANK,          /* never came to an operation that others are in */
    FINDING_SILENT_RANK,          /* left no dump, or one that cannot be read */
    FINDING_STUCK_DEVICE,         /* has not completed what its peers have */
    FINDING_MISMATCH,             /* ranks came with different operations, sizes or types */
    FINDING_STALLED_OPERATION,    /* all ranks have come, and it does not complete */
};

/* How sure it is that the kind is right. */
enum finding_verdict {
    FINDING_PROVED = 1,
    FINDING_LIKELY,
    FINDING_UNKNOWN, /* nothing is claimed */
};

enum finding_role {
    FINDING_MEMBER, /* part of it */
    FINDING_BEHIND, /* blocked behind it */
    FINDING_BLAMED, /* its cause */
    FINDING_OTHER,  /* listed for completeness */
};

struct finding_thread {
    uint32_t tid, pid; /* pid 0: that of the finding */
    const char *comm;  /* the system's name for it */
    const char *entry; /* the function it was started with */
    const char *doing; /* what it does if it waits for no lock, or "" */
    bool waiting, ended, foreign;
    bool unwatched;  /* has made no watched call */
    double waited_s; /* below 0: not known */
    const struct stack *stack, *created;
};

/* A session of a database server. */
struct finding_session {
    const char *server;
    int64_t pid;
    const char *prepared; /* the name of a prepared transaction */
    const char *user, *application, *database, *client, *state, *query;
    uint32_t client_port;          /* 0: none */
    double state_s, transaction_s; /* below 0: not known */
    bool thread;                   /* a thread of a watched process */
    bool waiting;                  /* for a lock */
    bool active;                   /* the query runs */
};

struct finding_party {
    const char *name; /* unique among the parties */
    const char *kind; /* "thread", "process", "session", "rank" */
    enum finding_role role;
    bool odd;      /* differs from the others: came with another operation, or in another order */
    uint32_t rank; /* FINDING_NONE: it is none */
    const char *about;                     /* for a picture: "thread 17"; NULL: the kind */
    const struct finding_thread *thread;   /* NULL: it is none */
    const struct finding_session *session; /* NULL: it is none */
};

/* A lock of a program. */
struct finding_lock {
    uint64_t address;
    const char *place;  /* "in the heap", or "" */
    uint32_t owner_tid; /* 0: none */
    bool has_value, has_missing;
    bool rwlock, thread_end; /* a lock for reading and writing; the end of a thread */
    bool signals;            /* signal handlers and others post it as well */
    uint32_t value;          /* of a semaphore; of a barrier: threads that it waits for */
    uint32_t missing;        /* of a barrier: threads that have not come yet */
    const struct stack *initialised;
};

/* An operation of a training job. */
struct finding_operation {
    const char *group, *description, *name, *dtype;
    const char *line; /* "train.py:31 step" */
    uint64_t sequence, input, output, created_ns;
    uint32_t peer;      /* FINDING_NONE: a collective */
    uint32_t completed; /* on as many ranks */
};

struct finding_resource {
    const char *name;
    const char *kind;         /* "mutex", "row", "client", "operation", ... */
    const char *object, *row; /* of a database: "transaction 745", "accounts(0,3)" */
    const char *holding;      /* "held by", "could be signalled by", ...; NULL: "held by" */
    const struct finding_lock *lock;
    const struct finding_operation *operation;
};

enum finding_relation {
    FINDING_WAITS,   /* there is no holder in this edge */
    FINDING_HOLDS,   /* the holder has the resource */
    FINDING_QUEUED,  /* the holder is ahead in the queue */
    FINDING_COULD,   /* the holder could give it: signal, post, wake */
    FINDING_CLIENT,  /* the same client waits in the holder */
    FINDING_CALL,    /* the holder runs what the waiter has called */
    FINDING_MISSING, /* the holder has not come */
    FINDING_OLDER,   /* the holder has older operations in flight */
};

struct finding_edge {
    uint32_t waiter, holder; /* parties; FINDING_NONE: not in this edge */
    uint32_t resource;
    enum finding_relation relation;
    bool witness;          /* part of the proof */
    bool timed;            /* the wait ends by itself */
    const char *mode;      /* wanted; NULL */
    const char *held_mode; /* NULL */
    uint64_t units;        /* wanted; 0: one, or not counted */
    uint64_t held_units;   /* likewise */
    double wait_s;         /* below 0: not known */
    uint64_t seen;         /* how often; 0: once */
    uint32_t released;     /* the resource that was released for the wait, as a condition's mutex */
    const char *how;       /* how this edge is known, or "" */
    const char *held_how;  /* how the hold alone is known; NULL */
    const char *owes;      /* in text, instead of "holds": "has not come to"; "": not listed */
    bool unnamed;          /* the resource does not say by whom it is held */
    bool tried;            /* taken by a try-lock */
    const struct stack *site, *held_site; /* where the wait was called; where it was taken */
    const char *place, *held_place;       /* for a picture: "transfer, bank.c:31"; NULL */
};

struct finding_advice {
    const char *text;               /* NULL: none */
    const char *lines;              /* the same as lines of text; NULL: `text` is short */
    uint32_t victim;                /* a party; FINDING_NONE */
    const char *cancel, *terminate; /* commands; NULL */
};

struct finding {
    const char *source;
    enum finding_kind kind;
    enum finding_verdict verdict;
    uint64_t number; /* 0: not counted */
    const char *title;
    const char *evidence;
    struct finding_advice advice;
    const char *unseen; /* what could not be known */
    uint64_t time_ms;   /* 0: not known */
    uint64_t behind;    /* parties blocked behind it, in all */
    uint32_t first;     /* the party that closed it; FINDING_NONE */
    bool cycle;         /* the edges of the witness are a cycle, in order */

    /* of a program */
    const char *program, *engine, *action;
    uint32_t pid, incident;
    size_t more_processes;
    bool outside;            /* found from outside: the text names the verdict */
    const char *consequence; /* what happens to the program now: a sentence; NULL */
    double found_after_ms;   /* below 0: not known */
    uint64_t signature, locks_watched, threads_watched;

    /* of a training job: what differs */
    bool differs, differs_name, differs_size, differs_dtype, tie;

    struct finding_party *parties;
    struct finding_resource *resources;
    struct finding_edge *edges;
    size_t party_count, party_room, resource_count, resource_room, edge_count, edge_room;
    bool failed;
    struct arena arena;
    gordian_allocator memory;
};

void finding_open(struct finding *finding, const char *source, enum finding_kind kind,
                  enum finding_verdict verdict);
void finding_close(struct finding *finding);

/* Their numbers: 0, 1, ... */
uint32_t finding_party(struct finding *finding, const char *name, const char *kind);
uint32_t finding_resource(struct finding *finding, const char *name, const char *kind);
/* Never NULL: without memory it is one that is not in the finding. Parties and resources that do
 * not exist make the finding a failed one. */
struct finding_edge *finding_edge(struct finding *finding, uint32_t waiter, uint32_t resource,
                                  uint32_t holder);

/* Memory and texts that live as long as the finding; zeroed. NULL: out of memory. */
void *finding_alloc(struct finding *finding, size_t size);
const char *finding_copy(struct finding *finding, const char *text);
const char *finding_format(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The time now, in `time_ms`. */
void finding_stamp(struct finding *finding);

/* ------------------------------------------------------------------ writers */

/* How a text looks. */
struct finding_look {
    struct style style;
    bool verbose;       /* system frames, every thread, long cycles whole */
    bool everybody;     /* every thread */
    const char *folder; /* paths below it are shown relative; NULL: none */
};

/* False: out of memory. */
bool finding_text(const struct finding *finding, const struct finding_look *look,
                  struct output *out);
/* A line that describes a session, and its query. */
void finding_session_text(const char *name, const struct finding_session *session,
                          const struct finding_look *look, struct output *out);
/* "0-8, 10-13, 15" of ascending numbers; after `most` pieces "and 7 more". */
void finding_ranges(struct output *out, const uint32_t *numbers, size_t count, size_t most);

/* One object and a newline. */
void finding_json(const struct finding *finding, struct output *out);
/* The same as the member `key` of an object. */
void finding_json_member(const struct finding *finding, struct json *json, const char *key);
void finding_dot(const struct finding *finding, struct output *out);
void finding_svg(const struct finding *finding, struct output *out);
/* The wait-for graph, for text. `whole`: not abbreviated. False: no party waits, or out of memory.
 */
bool finding_draw(const struct finding *finding, const struct style *style, bool whole,
                  struct output *out);
