/* A finding: what every source of waits reports, and what all writers print. Read this first.
 *
 *     source (run, inspect, watch, collectives, detect, check, serve)
 *         fills one struct finding
 *     writers
 *         finding_text.c      text for a terminal
 *         finding_json.c      one JSON object: docs/reference/findings.md
 *         finding_picture.c   the wait-for graph for Graphviz or as an SVG
 *         finding_drawing.c   the wait-for graph drawn with lines and letters, for text
 *
 * A finding has parties (threads, processes, sessions, ranks), resources that they wait for and
 * hold, and edges between them. An edge with a waiter and a holder reads "the waiter waits for the
 * resource, which the holder holds". An edge with only one of the two states only that half.
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
 * `failed` is set when memory runs out. */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/json/json_write.h"
#include "output/finding/frame.h"
#include "output/show/style.h"

#define FINDING_SCHEMA "gordian-finding/1"
#define FINDING_NONE   UINT32_MAX

enum finding_kind {
    FINDING_DEADLOCK,
    FINDING_OWNER_GONE,           /* the owner of the awaited resource has ended */
    FINDING_NEVER_SIGNALLED,      /* no thread is left that could signal or post */
    FINDING_LOCK_ORDER_INVERSION, /* lock orders that can deadlock */
    FINDING_STALL,                /* a wait longer than the limit */
    FINDING_STATUS,               /* a requested snapshot: claims nothing */
    FINDING_ABSENT_RANK,          /* has not arrived at an operation that others are in */
    FINDING_SILENT_RANK,          /* left no dump, or one that cannot be read */
    FINDING_STUCK_DEVICE,         /* has not completed an operation that its peers completed */
    FINDING_MISMATCH,             /* ranks called different operations, sizes or types */
    FINDING_STALLED_OPERATION,    /* all ranks have arrived, and it does not complete */
};

/* How certain the kind is. */
enum finding_verdict {
    FINDING_PROVED = 1,
    FINDING_LIKELY,
    FINDING_UNKNOWN, /* claims nothing */
};

enum finding_role {
    FINDING_MEMBER, /* part of the finding */
    FINDING_BEHIND, /* blocked behind the finding */
    FINDING_BLAMED, /* the cause */
    FINDING_OTHER,  /* listed for completeness */
};

struct finding_thread {
    uint32_t tid, pid; /* pid 0: the pid of the finding */
    const char *comm;  /* its name in the system */
    const char *entry; /* the function that it started with */
    const char *doing; /* what it does if it waits for no lock, or "" */
    bool waiting, ended, foreign;
    bool unwatched;  /* has made no watched call */
    double waited_s; /* negative: not known */
    const struct stack *stack, *created;
};

/* A session of a database server. */
struct finding_session {
    const char *server;
    int64_t pid;
    const char *prepared; /* name of a prepared transaction */
    const char *user, *application, *database, *client, *state, *query;
    uint32_t client_port;          /* 0: none */
    double state_s, transaction_s; /* negative: not known */
    bool thread;                   /* a thread of a watched process */
    bool waiting;                  /* waits for a lock */
    bool active;                   /* the query is running */
};

struct finding_party {
    const char *name; /* unique among the parties */
    const char *kind; /* "thread", "process", "session", "rank" */
    enum finding_role role;
    bool odd;          /* runs another operation than the others, or in another order */
    uint32_t rank;     /* FINDING_NONE: not a rank */
    const char *about; /* second line in pictures, such as "thread 17"; NULL: the kind */
    const struct finding_thread *thread;   /* NULL: not a thread */
    const struct finding_session *session; /* NULL: not a session */
};

/* A lock of a program. */
struct finding_lock {
    uint64_t address;
    const char *place;  /* "in the heap", or "" */
    uint32_t owner_tid; /* 0: none */
    bool has_value, has_missing;
    bool rwlock, thread_end; /* a read-write lock; the end of a thread */
    bool signals;            /* also posted by threads that never waited, such as signal handlers */
    uint32_t value;          /* value of a semaphore; threads that a barrier waits for */
    uint32_t missing;        /* threads that have not reached a barrier */
    const struct stack *initialised;
};

/* An operation of a training job. */
struct finding_operation {
    const char *group, *description, *name, *dtype;
    const char *line; /* "train.py:31 step" */
    uint64_t sequence, input, output, created_ns;
    uint32_t peer;      /* FINDING_NONE: a collective */
    uint32_t completed; /* number of ranks that completed it */
};

struct finding_resource {
    const char *name;
    const char *kind;         /* "mutex", "row", "client", "operation", ... */
    const char *object, *row; /* of a database: "transaction 745", "accounts(0,3)" */
    const char
        *holding; /* relation of the holders: "held by", "could be signalled by"; NULL: "held by" */
    const struct finding_lock *lock;
    const struct finding_operation *operation;
};

enum finding_relation {
    FINDING_WAITS,   /* the edge has no holder */
    FINDING_HOLDS,   /* the holder has the resource */
    FINDING_QUEUED,  /* the holder is ahead in the queue */
    FINDING_COULD,   /* the holder could release it: signal, post, wake */
    FINDING_CLIENT,  /* the same client waits in the holder */
    FINDING_CALL,    /* the holder runs a call of the waiter */
    FINDING_MISSING, /* the holder has not arrived */
    FINDING_OLDER,   /* the holder has older operations in flight */
};

struct finding_edge {
    uint32_t waiter, holder; /* parties; FINDING_NONE: the edge has none */
    uint32_t resource;
    enum finding_relation relation;
    bool witness;          /* part of the proof */
    bool timed;            /* the wait has a timeout */
    const char *mode;      /* requested mode; NULL */
    const char *held_mode; /* held mode; NULL */
    uint64_t units;        /* requested units; 0: one, or not counted */
    uint64_t held_units;   /* held units */
    double wait_s;         /* negative: not known */
    uint64_t seen;         /* how often a lock order was seen; 0: once */
    uint32_t released;     /* the resource released for the wait, such as the mutex of a condition
                              variable */
    const char *how;       /* how this edge was determined, or "" */
    const char *held_how;  /* how the hold alone was determined; NULL */
    const char *owes; /* text instead of "holds", such as "has not arrived at"; "": not printed */
    bool unnamed;     /* the lock does not record its owner */
    bool tried;       /* acquired by a try-lock */
    const struct stack *site,
        *held_site;                 /* location of the waiting call; location of the acquisition */
    const char *place, *held_place; /* label in pictures, such as "transfer, bank.c:31"; NULL */
};

struct finding_advice {
    const char *text;               /* NULL: none */
    const char *lines;              /* the same text as lines; NULL: `text` is short */
    uint32_t victim;                /* party to end; FINDING_NONE */
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
    const char *unseen; /* what could not be determined */
    uint64_t time_ms;   /* 0: not known */
    uint64_t behind;    /* total number of parties blocked behind the finding */
    uint32_t first;     /* the party that closed the cycle; FINDING_NONE */
    bool cycle;         /* the witness edges form a cycle, in order */

    /* of a program */
    const char *program, *engine, *action;
    uint32_t pid, incident;
    size_t more_processes;
    bool outside;            /* found from outside: the text prints the verdict */
    const char *consequence; /* a sentence: what happens to the program now; NULL */
    double found_after_ms;   /* negative: not known */
    uint64_t signature, locks_watched, threads_watched;

    /* a mismatch in a training job: what differs */
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

/* Add a party or a resource and return its number: 0, 1, ... */
uint32_t finding_party(struct finding *finding, const char *name, const char *kind);
uint32_t finding_resource(struct finding *finding, const char *name, const char *kind);
/* Adds an edge. Never returns NULL: if memory runs out, it returns an edge outside the finding. A
 * party or resource that does not exist sets `failed`. */
struct finding_edge *finding_edge(struct finding *finding, uint32_t waiter, uint32_t resource,
                                  uint32_t holder);

/* Allocates zeroed memory that lives as long as the finding. NULL: out of memory. */
void *finding_alloc(struct finding *finding, size_t size);
const char *finding_copy(struct finding *finding, const char *text);
const char *finding_format(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets `time_ms` to the current time. */
void finding_stamp(struct finding *finding);

/* ------------------------------------------------------------------ writers */

/* How text is printed. */
struct finding_look {
    struct style style;
    bool verbose;       /* print system frames, every thread and whole cycles */
    bool everybody;     /* print every thread */
    const char *folder; /* print paths below it as relative paths; NULL: none */
};

/* Prints the finding as text. False: out of memory. */
bool finding_text(const struct finding *finding, const struct finding_look *look,
                  struct output *out);
/* Prints a line that describes a session, and its query. */
void finding_session_text(const char *name, const struct finding_session *session,
                          const struct finding_look *look, struct output *out);
/* Prints ascending numbers as ranges, "0-8, 10-13, 15"; after `most` ranges "and 7 more". */
void finding_ranges(struct output *out, const uint32_t *numbers, size_t count, size_t most);

/* Writes one JSON object and a newline. */
void finding_json(const struct finding *finding, struct output *out);
/* Writes the finding as the member `key` of an object. */
void finding_json_member(const struct finding *finding, struct json *json, const char *key);
void finding_dot(const struct finding *finding, struct output *out);
void finding_svg(const struct finding *finding, struct output *out);
/* Draws the wait-for graph as text. `whole`: without abbreviation. False: no party waits, or out of
 * memory. */
bool finding_draw(const struct finding *finding, const struct style *style, bool whole,
                  struct output *out);
