/* Any bytes in the binary form. An input is a list of frames, each `kind, size (2 bytes), body`, of
 * which proper ones are made; or, if it begins with 0xff, the bytes of the connection themselves.
 */
#include "service/wire/wire.h"
#include "service_input.h"

static void say_hello(struct fuzz_service *service)
{
    unsigned char bytes[128];
    const struct wire_hello hello = {.lease_ms = 1000, .token = {"", 0}, .name = {"fuzz", 4}};
    fuzz_service_give(service, WIRE_START, WIRE_START_SIZE);
    fuzz_service_give(service, bytes, wire_put_hello(bytes, sizeof bytes, &hello));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_service *service = fuzz_service_open();
    if (size > 0 && data[0] == 0xff) {
        fuzz_service_give(service, data + 1, size - 1);
        fuzz_service_close(service);
        return 0;
    }
    say_hello(service);
    for (size_t at = 0; at + 3 <= size;) {
        static unsigned char frame[70000];
        size_t body = wire_load16(data + at + 1);
        if (body > size - at - 3)
            body = size - at - 3;
        fuzz_service_give(service, frame,
                          wire_put_frame(frame, sizeof frame, data[at], data + at + 3, body));
        at += 3 + body;
    }
    fuzz_service_close(service);
    return 0;
}
