#include "service/client/secure_interface.h"

/* The module's one symbol, SECURE_TABLE. */
extern const struct secure_door gordian_tls_door;

__attribute__((visibility("default"))) const struct secure_door gordian_tls_door = {
    .head.version = BESIDE_VERSION,
    .open = secure_open,
    .close = secure_close,
    .link_open = secure_link_open,
    .link_close = secure_link_close,
    .shake = secure_shake,
    .read = secure_read,
    .write = secure_write,
    .flush = secure_flush,
    .unsent = secure_unsent,
    .has_more = secure_has_more,
    .trouble = secure_trouble,
};
