"""ctypes declarations of the structs and functions in the public headers of libgordian.

`tests/python/test_layout.py` compares every struct with the layout that the C compiler computes.
"""

from __future__ import annotations

import ctypes as c
from typing import Any

from ._functions import FUNCTIONS

U8, U16, U32, U64 = c.c_uint8, c.c_uint16, c.c_uint32, c.c_uint64
I64, SIZE, INT, UINT, BOOL, CHAR, P, TEXT = (
    c.c_int64,
    c.c_size_t,
    c.c_int,
    c.c_uint,
    c.c_bool,
    c.c_char,
    c.c_void_p,
    c.c_char_p,
)
U32s, U64s = c.POINTER(U32), c.POINTER(U64)
DOUBLE = c.c_double

NONE = 0xFFFFFFFF
FOREVER_NS = 0xFFFFFFFFFFFFFFFF
FOREVER_MS = 0xFFFFFFFF
NAME_MAX = 255
LETTERS = 26

OK, END, INPUT, UNAVAILABLE, MEMORY, IO, CANCELLED, VICTIM = range(8)


def struct(name: str, *fields: tuple) -> Any:
    """The struct gordian_NAME of the headers."""
    return type(name, (c.Structure,), {"_fields_": list(fields), "c_name": "gordian_" + name})


# ---------------------------------------------------------------- gordian.h

error = struct("error", ("status", INT), ("line", U64), ("column", U64), ("message", CHAR * 400))
options = struct(
    "options",
    ("engine", TEXT),
    ("allocator", P),
    ("shared", BOOL),
    ("recorder", P),
    ("reserved", P * 4),
)
engine_info = struct(
    "engine_info",
    ("family", TEXT),
    ("name", TEXT),
    ("summary", TEXT),
    ("available", BOOL),
    ("reason", TEXT),
)
device_info = struct(
    "device_info",
    ("name", CHAR * 128),
    ("available", BOOL),
    ("reason", CHAR * 200),
    ("major", U32),
    ("minor", U32),
    ("multiprocessors", U32),
    ("memory", U64),
    ("memory_free", U64),
)
want = struct("want", ("units", U64), ("resource", U32))
event = struct(
    "event",
    ("op", INT),
    ("process", U32),
    ("resource", U32),
    ("to", U32),
    ("units", U64),
    ("wants", P),
    ("want_count", SIZE),
)
result = struct(
    "result", ("outcome", U8), ("refusal", U8), ("reserved", U16), ("served_count", U32)
)
edge = struct("edge", ("units", U64), ("process", U32), ("resource", U32), ("waits", BOOL))
witness = struct("witness", ("cycle", BOOL), ("edges", c.POINTER(edge)), ("count", SIZE))
victim = struct(
    "victim",
    ("process", U32),
    ("weight", I64),
    ("frees", c.POINTER(edge)),
    ("frees_count", SIZE),
    ("served", U32s),
    ("served_count", SIZE),
)
part = struct(
    "part",
    ("cycle", BOOL),
    ("processes", U32s),
    ("resources", U32s),
    ("process_count", SIZE),
    ("resource_count", SIZE),
)
report = struct(
    "report",
    ("model", INT),
    ("deadlocked", U32s),
    ("deadlocked_count", SIZE),
    ("parts", c.POINTER(part)),
    ("part_count", SIZE),
    ("engine", TEXT),
)
check_options = struct("check_options", ("engine", TEXT), ("threads", UINT))
source = struct("source", ("read", P), ("context", P))
bytes_left = struct("bytes", ("next", P), ("left", SIZE))
writer = struct("writer", ("write", P), ("rewrite", P), ("context", P))
word = struct("word", ("text", P), ("length", U32), ("column", U32))
trace_item = struct(
    "trace_item", ("word", word), ("name", word), ("value", word), ("units", U64)
)
trace = struct(
    "trace",
    ("avoidance", BOOL),
    ("acts", BOOL),
    ("line", U64),
    ("kind", INT),
    ("op", INT),
    ("verb", word),
    ("name", word),
    ("units", U64),
    ("to", word),
    ("items", c.POINTER(trace_item)),
    ("item_count", SIZE),
    ("words", c.POINTER(word)),
    ("word_count", SIZE),
    ("inside", P),
)
step = struct(
    "step",
    ("seq", U64),
    ("line", U64),
    ("column", U64),
    ("event", event),
    ("result", result),
    ("process", TEXT),
    ("message", TEXT),
)

# ---------------------------------------------------------------- avoid.h

bank_options = struct(
    "bank_options", ("engine", TEXT), ("allocator", P), ("queue", BOOL), ("patience", U32)
)
lack = struct("lack", ("units", U64), ("process", U32), ("resource", U32))
answer = struct(
    "answer",
    ("detail", INT),
    ("verdict", INT),
    ("reason", INT),
    ("waits", BOOL),
    ("incomplete", BOOL),
    ("at", U32),
    ("served", U32s),
    ("served_count", SIZE),
    ("sequence", U32s),
    ("sequence_count", SIZE),
    ("stuck", U32s),
    ("stuck_count", SIZE),
    ("lacks", c.POINTER(lack)),
    ("lack_count", SIZE),
    ("store", P),
)
bank_request_item = struct("bank_request_item", ("process", U32), ("wants", P), ("count", SIZE))
bank_step = struct(
    "bank_step",
    ("seq", U64),
    ("line", U64),
    ("column", U64),
    ("kind", INT),
    ("op", INT),
    ("name", TEXT),
    ("process", U32),
    ("wants", c.POINTER(want)),
    ("want_count", SIZE),
    ("units", U64),
    ("message", TEXT),
)
pool = struct(
    "pool",
    ("units", U64),
    ("cost", U64),
    ("claims", U64),
    ("largest", U64),
    ("alone", U64),
    ("least", U64),
    ("missing", U64),
    ("claimants", U32),
)
plan_answer = struct(
    "plan_answer",
    ("pools", c.POINTER(pool)),
    ("pool_count", SIZE),
    ("least_units", U64),
    ("least_cost", U64),
    ("missing_units", U64),
    ("missing_cost", U64),
    ("safe", BOOL),
    ("witness", witness),
)

# ---------------------------------------------------------------- makespan.h

unit = struct(
    "unit",
    ("letter", CHAR),
    ("units", U32),
    ("lanes", U32),
    ("latency", U32),
    ("latency_most", U32),
)
makespan_problem = struct(
    "makespan_problem",
    ("kernel", TEXT),
    ("length", SIZE),
    ("warps", U32),
    ("schedulers", U32),
    ("warp_size", U32),
    ("issue", U32),
    ("units", P),
    ("unit_count", SIZE),
)
chip = struct(
    "chip",
    ("name", TEXT),
    ("title", TEXT),
    ("schedulers", U32),
    ("max_warps", U32),
    ("units", c.POINTER(unit)),
    ("unit_count", SIZE),
    ("latencies", U32s),
    ("source", TEXT),
)
makespan_options = struct(
    "makespan_options",
    ("engine", TEXT),
    ("goal", INT),
    ("seed", U64),
    ("chains", U32),
    ("evaluations", U64),
    ("temperature", DOUBLE),
    ("published", BOOL),
    ("start", INT),
    ("threads", UINT),
    ("max_memory", U64),
    ("max_ns", U64),
    ("go_on", P),
    ("improved", P),
    ("context", P),
)
makespan_answer = struct(
    "makespan_answer",
    ("lower", U32),
    ("upper", U32),
    ("exact", BOOL),
    ("witness", U32s),
    ("cycles", U32s),
    ("pieces", U32s),
    ("witness_count", SIZE),
    ("evaluations", U64),
    ("states", U64),
    ("memory", U64),
    ("stop", INT),
    ("engine", TEXT),
    ("note", TEXT),
    ("seconds", DOUBLE),
)

# ---------------------------------------------------------------- ptx.h

ptx_named = struct("ptx_named", ("name", TEXT), ("value", U64))
ptx_call = struct("ptx_call", ("name", TEXT), ("letters", TEXT))
ptx_question = struct(
    "ptx_question",
    ("entry", TEXT),
    ("table", P),
    ("path", TEXT),
    ("from", TEXT),
    ("to", TEXT),
    ("avoid", TEXT),
    ("loops", P),
    ("loop_count", SIZE),
    ("extra_loops", BOOL),
    ("only_loops", BOOL),
    ("values", P),
    ("value_count", SIZE),
    ("calls", P),
    ("call_count", SIZE),
    ("weights", U64 * LETTERS),
)
ptx_note = struct("ptx_note", ("line", U32), ("text", CHAR * 240))
ptx_answer = struct(
    "ptx_answer",
    ("letters", TEXT),
    ("lines", U32s),
    ("count", SIZE),
    ("instructions", SIZE),
    ("barriers", U32),
    ("notes", c.POINTER(ptx_note)),
    ("note_count", SIZE),
    ("every_path", BOOL),
    ("most", U64 * LETTERS),
    ("longest", U64),
    ("weights", U64 * LETTERS),
)

# ---------------------------------------------------------------- compose.h

fault = struct(
    "fault",
    ("file", CHAR * 256),
    ("line", CHAR * 160),
    ("caret", U32),
    ("inner_file", CHAR * 256),
    ("inner_text", CHAR * 160),
    ("inner_line", U64),
    ("inner_column", U64),
    ("inner_caret", U32),
)
circuit_options = struct(
    "circuit_options",
    ("main", TEXT),
    ("data", TEXT),
    ("define", TEXT),
    ("import", P),
    ("context", P),
    ("files", BOOL),
    ("folders", TEXT),
    ("allocator", P),
    ("max_instances", U32),
    ("max_unfolded", U32),
)
circuit_info = struct(
    "circuit_info",
    ("title", TEXT),
    ("name_count", U32),
    ("datum_count", U32),
    ("automaton_count", SIZE),
    ("label_words", SIZE),
    ("combinations", U64),
    ("initial", U64),
)
compose_options = struct(
    "compose_options",
    ("engine", TEXT),
    ("full", BOOL),
    ("indivisible", BOOL),
    ("count_transitions", BOOL),
    ("reduce", BOOL),
    ("max_states", U64),
    ("max_memory", U64),
    ("max_ns", U64),
    ("max_deadlocks", U32),
    ("threads", UINT),
    ("order", P),
    ("go_on", P),
    ("context", P),
    ("allocator", P),
)
compose_deadlock = struct(
    "compose_deadlock", ("number", U64), ("state", U32s), ("labels", U64s), ("step_count", SIZE)
)
compose_phase = struct(
    "compose_phase",
    ("name", TEXT),
    ("ns", U64),
    ("idle_ns", U64),
    ("fired", U64),
    ("found", U64),
    ("sent", U64),
    ("rounds", U64),
)
allocator = struct("allocator", ("resize", P), ("context", P))
compose_result = struct(
    "compose_result",
    ("states", U64),
    ("transitions", U64),
    ("deadlocks", U64),
    ("uncounted", BOOL),
    ("stop", INT),
    ("memory", U64),
    ("found", c.POINTER(compose_deadlock)),
    ("found_count", SIZE),
    ("order", U32s),
    ("engine", TEXT),
    ("note", CHAR * 200),
    ("workers", UINT),
    ("phases", compose_phase * 8),
    ("phase_count", SIZE),
    ("allocator", allocator),
)
graph_arc = struct("graph_arc", ("label", U32), ("to", U32))
ARCS: Any = c.POINTER(graph_arc)
graph_deadlocks = struct(
    "graph_deadlocks",
    ("states", U64),
    ("transitions", U64),
    ("deadlocks", U64),
    ("state", U32),
    ("path", ARCS),
    ("path_count", SIZE),
    ("allocator", allocator),
)
hiding = struct("hiding", ("hides", P), ("context", P))
livelock = struct(
    "livelock",
    ("states", U64),
    ("state", U32),
    ("path", ARCS),
    ("path_count", SIZE),
    ("cycle", ARCS),
    ("cycle_count", SIZE),
    ("allocator", allocator),
)
question = struct(
    "question",
    ("formula", TEXT),
    ("linear", BOOL),
    ("fairness", INT),
    ("semiring", INT),
)
check = struct(
    "check",
    ("holds", BOOL),
    ("states", U64),
    ("start", U32),
    ("path", ARCS),
    ("path_count", SIZE),
    ("cycle", ARCS),
    ("cycle_count", SIZE),
    ("dead_end", BOOL),
    ("cost", DOUBLE),
    ("costs", c.POINTER(DOUBLE)),
    ("allocator", allocator),
)
difference = struct(
    "difference",
    ("labels", c.POINTER(TEXT)),
    ("by_left", c.POINTER(BOOL)),
    ("count", SIZE),
    ("allocator", allocator),
)

# ---------------------------------------------------------------- client.h

reply = struct(
    "reply",
    ("status", INT),
    ("outcome", U8),
    ("refusal", U8),
    ("waits", BOOL),
    ("number", U64),
    ("fence", U64),
    ("served", U32s),
    ("served_count", SIZE),
    ("message", TEXT),
    ("code", UINT),
    ("process", U32),
    ("json", P),
    ("json_length", SIZE),
)
client_options = struct(
    "client_options",
    ("name", TEXT),
    ("token", TEXT),
    ("system", TEXT),
    ("session", P),
    ("lease_ms", U32),
    ("keep", BOOL),
    ("timeout_ms", U32),
    ("connect_ms", U32),
    ("patient", BOOL),
    ("window", U32),
    ("open", INT),
    ("open_options", TEXT),
    ("code", P),
    ("granted", P),
    ("notice", P),
    ("link", P),
    ("context", P),
    ("tls_ca", TEXT),
    ("tls_name", TEXT),
    ("tls_certificate", TEXT),
    ("tls_key", TEXT),
    ("allocator", P),
)
declaration = struct(
    "declaration",
    ("name", TEXT),
    ("is_resource", BOOL),
    ("units", U64),
    ("claims", P),
    ("claim_count", SIZE),
)

ANSWERED = c.CFUNCTYPE(None, P, c.POINTER(reply))
GRANTED = c.CFUNCTYPE(None, P, U32)
NOTICE = c.CFUNCTYPE(None, P, INT, P, SIZE)
LINK = c.CFUNCTYPE(None, P, BOOL, TEXT)
HIDES = c.CFUNCTYPE(BOOL, P, P, SIZE)

# ---------------------------------------------------------------- functions

# The letters of `_functions`. Pointer types are not distinguished, except: e is the error, which is
# the last argument of every function that can fail; t is a text that ends in a NUL.
_LETTERS = {
    "-": None,
    "s": INT,
    "i": INT,
    "u": U32,
    "U": U64,
    "I": I64,
    "z": SIZE,
    "b": BOOL,
    "p": P,
    "e": P,
    "t": TEXT,
    "c": CHAR,
    "w": c.c_short,
    "n": UINT,
    "S": source,
    "W": writer,
    "H": hiding,
    "a": ARCS,
    "r": U32s,
}


def declare(library: c.CDLL) -> None:
    """Declares the argument and result types of all functions to ctypes."""
    for line in FUNCTIONS.splitlines():
        name, letters = line.split()
        function = getattr(library, "gordian_" + name)
        function.restype = _LETTERS[letters[0]]
        function.argtypes = [_LETTERS[each] for each in letters[1:]]
