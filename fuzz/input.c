#include "fuzz.h"

#include <string.h>

static ptrdiff_t read_input(void *context, char *buffer, size_t size)
{
    struct fuzz_input *input = context;
    size_t left = input->size - input->next;
    size_t piece = 1 + input->next % 97;
    if (piece > left)
        piece = left;
    if (piece > size)
        piece = size;
    if (piece > 0)
        memcpy(buffer, input->data + input->next, piece);
    input->next += piece;
    return (ptrdiff_t)piece;
}

gordian_source fuzz_source(struct fuzz_input *input)
{
    return (gordian_source){read_input, input};
}
