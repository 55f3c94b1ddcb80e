#include "foundation/base/nearest.h"

#include <string.h>

#define LENGTH_MAX 40

static size_t least_of_three(size_t a, size_t b)
{
    return a < b ? a : b;
}

void nearest_offer(struct nearest *nearest, const char *word)
{
    size_t length = strlen(word);
    if (nearest->length >= LENGTH_MAX || length >= LENGTH_MAX)
        return;
    /* Levenshtein distance in which a swap of neighbours is one step; both words are shorter than
     * LENGTH_MAX. */
    size_t rows[3][LENGTH_MAX + 1];
    for (size_t j = 0; j <= length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= nearest->length; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t change = before[j - 1] + (nearest->typed[i - 1] != word[j - 1]);
            now[j] = least_of_three(change, least_of_three(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && nearest->typed[i - 1] == word[j - 2] &&
                nearest->typed[i - 2] == word[j - 1])
                now[j] = least_of_three(now[j], earlier[j - 2] + 1);
        }
    }
    size_t steps = rows[nearest->length % 3][length];
    if (!nearest->word || steps < nearest->steps) {
        nearest->word = word;
        nearest->steps = steps;
    }
}

/* A word is near if most of what was typed is right. */
const char *nearest_found(const struct nearest *nearest)
{
    return nearest->steps <= (nearest->length + 1) / 2 ? nearest->word : NULL;
}
