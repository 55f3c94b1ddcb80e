/* Names of Rust. */
#ifndef GORDIAN_OUTPUT_REPORT_SYMBOL_RUST_H
#define GORDIAN_OUTPUT_REPORT_SYMBOL_RUST_H

#include <stdbool.h>
#include <stddef.h>

#define RUST_NAME_MOST 512

/* "_RNvNtCs1_3std4sync4lock" is "std::sync::lock". False: it is no such name, or too long. */
bool rust_demangle(const char *name, char to[RUST_NAME_MOST]);

#endif
