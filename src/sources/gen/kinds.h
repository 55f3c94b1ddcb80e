/* The generators behind gen.h: shapes are written without a simulation; the other kinds simulate
 * the system with libgordian, so that every event is valid in its place. */
#pragma once

#include "sources/gen/gen.h"

typedef gordian_status gen_streamer(const struct gen_options *options, struct gen_sink *sink,
                                    gordian_error *error);

typedef gordian_status gen_writer(const struct gen_options *options, struct output *out,
                                  gordian_error *error);

/* gen.c. Returns NULL if there is no such kind. */
const struct gen_kind *gen_kind_named(const char *name);
/* circuit.c */
gen_writer circuit_random, circuit_chain, circuit_apart, circuit_ring, circuit_dining;
/* collectives.c */
gen_writer job_collectives;
/* messages.c */
gen_writer messages_events;
gen_streamer messages_waits; /* a snapshot of messages */
/* shape.c */
gen_streamer shape_chain, shape_chains, shape_forest, shape_hot;
/* bank.c */
gen_streamer bank_random, bank_rounds, bank_textbook;
/* random_requests.c */
gen_streamer random_single, random_several;
/* session.c */
gen_streamer session_philosophers, session_readers_writers, session_pool;
