/* Demangling of Rust names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RUST_NAME_MOST 512

/* "_RNvNtCs1_3std4sync4lock" becomes "std::sync::lock". False: not such a name, or too long. */
bool rust_demangle(const char *name, char to[RUST_NAME_MOST]);
