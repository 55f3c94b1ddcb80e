#include "foundation/base/io/size.h"

#include "foundation/base/io/reader.h"

#include <string.h>

bool parse_size(const char *text, size_t length, uint64_t *bytes)
{
    static const char letters[] = "kKmMgGtT";
    const char *why, *letter = length ? strchr(letters, text[length - 1]) : NULL;
    unsigned shift = letter ? 10 * (unsigned)((letter - letters) / 2 + 1) : 0;
    uint64_t number;
    if (!parse_u64(text, length - (letter != NULL), &number, &why) || number > UINT64_MAX >> shift)
        return false;
    *bytes = number << shift;
    return true;
}
