/* Does what C does not define: the sanitizer has to end it, and somebody has to say where
 * (undefined.sh). */
#include "test.h"

#include <limits.h>

int main(void)
{
    volatile int most = INT_MAX;
    CHECK(most + (int)test_passed + 1 != 0); /* here */
    return test_done();
}
