/* Any bytes in the form of lines. */
#include "service_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] == 0) /* that would be the other form */
        return 0;
    struct fuzz_service *service = fuzz_service_open();
    fuzz_service_give(service, data, size);
    fuzz_service_give(service, "\n", 1);
    fuzz_service_close(service);
    return 0;
}
