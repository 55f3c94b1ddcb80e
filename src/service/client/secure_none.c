/* secure_load of a library built without OpenSSL: it always fails. */
#include "foundation/base/error.h"
#include "service/client/secure.h"

const struct secure_interface *secure_load(gordian_error *error)
{
    fail(error, GORDIAN_STATUS_UNAVAILABLE,
         "tls:// needs OpenSSL, and this libgordian was built without it: build it with "
         "-Dtls=enabled");
    return NULL;
}
