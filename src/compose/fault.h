/* Where a text is wrong: gordian_error has the message, line and column; a fault adds which text
 * (one may import others) and the line itself with a place for a caret. */
#ifndef GORDIAN_COMPOSE_FAULT_H
#define GORDIAN_COMPOSE_FAULT_H

#include "base/text.h"

#include <gordian/compose.h>

/* Fills the fault (if not NULL) for a place in the text, line and column from 1. */
void text_point(const struct text *text, uint64_t line, uint64_t column, gordian_fault *fault);

#endif
