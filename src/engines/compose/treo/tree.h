/*
 * The syntax tree of a .treo text. All nodes are in one arena. Lists are linked, in the order of
 * the text. Every node has its first token, for messages.
 */
#pragma once

#include "engines/compose/circuit/automaton.h"
#include "engines/compose/treo/lex.h"

enum expr_kind {
    EXPR_NUMBER,
    EXPR_TEXT,      /* a string or a decimal */
    EXPR_BOOL,      /* number: 0 or 1 */
    EXPR_NULL,      /* null or *, in an atom */
    EXPR_ANY,       /* *, in a row of a table */
    EXPR_VARIABLE,  /* name[index]..[index] */
    EXPR_CELL,      /* $m; primed: $m' */
    EXPR_APPLY,     /* name(first ..), in an atom */
    EXPR_LIST,      /* <first, ..> */
    EXPR_TUPLE,     /* [first, ..] */
    EXPR_CHANCES,   /* [p : first, ..], in an atom: p is `second` of each */
    EXPR_TABLE,     /* {[a,b] ..}: tuples from first on */
    EXPR_COMPONENT, /* a component definition */
    EXPR_MINUS,     /* -first */
    EXPR_NOT,       /* !first */
    EXPR_BINARY,    /* first op second; op: a token kind */
    EXPR_MEMBER,    /* name : first */
    EXPR_FORALL,    /* forall name : first second */
    EXPR_EXISTS,    /* exists name : first second */
    EXPR_DEFINE,    /* name component */
};

struct component;

struct expr {
    uint8_t kind; /* enum expr_kind */
    bool primed;
    uint16_t op;
    const struct token *token;
    const char *name; /* NUL-terminated; a.b.c as written */
    int64_t number;
    struct expr *first, *second; /* operands, or the elements of a list */
    struct expr *indices;        /* of a variable */
    struct component *component;
    struct expr *next; /* in a list */
};

static inline bool expr_is_range(const struct expr *expr)
{
    return expr->kind == EXPR_BINARY && expr->op == TOKEN_RANGE;
}

/* A port in a signature, or the parameter <k:int>, <f(?,!)>. */
struct formal {
    struct expr *variable; /* NULL: no name */
    uint8_t direction;     /* enum port_direction; of a port */
    bool component;        /* a parameter that is a component */
    const struct token *token;
    struct formal *next;
};

/* The definition of a component that is not a composition. */
enum atom_kind {
    ATOM_NONE,
    ATOM_RULES,    /* #RBA, #P: no control states */
    ATOM_STATES,   /* #CA, #CAM, #PA: from -> to : {..} guard */
    ATOM_FOREIGN,  /* only a reference to code: it may do anything */
    ATOM_BUILT_IN, /* #PR: a built-in component by another name */
};

struct rule_port {
    struct expr *variable;
    bool fires;
    struct rule_port *next;
};

struct rule {
    const struct token *token;
    const struct token *from, *to; /* ATOM_STATES */
    struct rule_port *ports;
    bool bare; /* without braces: the guard decides which ports fire; the others are null */
    struct expr *guard;       /* NULL: true */
    const struct token *cost; /* NULL: none */
    struct rule *next;
};

/* $m = 0; before the rules, q0 : initial, q0* -> .. */
struct atom_start {
    const struct token *cell;  /* or */
    const struct token *state; /* .. an initial state */
    struct expr *value;
    struct atom_start *next;
};

struct atom {
    enum atom_kind kind;
    bool bare_cells;                 /* #CAM: a name that is not a port is a cell */
    const struct token *unsupported; /* an unsupported kind of atom */
    struct atom_start *starts;
    struct rule *rules;
    bool timed;               /* with times (#WA) */
    const struct token *name; /* ATOM_BUILT_IN: Fifo */
    struct expr *argument;    /* NULL: none */
    struct expr *ports;       /* variables, inputs first */
};

enum set_kind {
    SET_INSTANCE, /* component<arguments>(ports) */
    SET_GROUP,    /* { members | formula } */
    SET_FOR,      /* for name = first .. last member */
    SET_IF,       /* if formula member else .. */
};

struct set {
    uint8_t kind; /* enum set_kind */
    const struct token *token;
    struct component *component; /* SET_INSTANCE */
    struct expr *arguments;      /* a list, or NULL */
    struct expr *ports;          /* variables */
    const char *name;            /* SET_FOR */
    struct expr *first, *last;
    struct expr *formula;            /* may be NULL */
    struct set *members, *otherwise; /* SET_IF: if it holds, otherwise */
    struct set *next;
};

/* A component: a name or a definition. */
struct component {
    const struct token *token;
    struct expr *variable; /* a name; NULL: a definition */
    struct formal *parameters, *ports;
    uint32_t number;   /* from 1, unique in the program: see treo_internal.h */
    struct atom *atom; /* one of these */
    struct set *body;
};

struct definition {
    const struct token *token;
    const char *name;
    struct component *component;
    struct definition *next;
};

struct import {
    const struct token *token;
    const char *name; /* a.b.c */
    uint32_t module;  /* the module with the definition; GORDIAN_NONE: built-in */
    struct import *next;
};

struct file {
    const char *section; /* NULL: none */
    struct import *imports;
    struct definition *definitions;
};
