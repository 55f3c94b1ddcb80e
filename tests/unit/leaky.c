/* Loses what it allocates: the address sanitizer has to say so (leaky.sh). */
#include "test.h"

int main(void)
{
    for (unsigned i = 0; i < 100; i++) {
        void *volatile lost = malloc(100);
        CHECK(lost);
    }
    return test_done();
}
