/* secure_load for programs that link OpenSSL: the commands and the service. */
#include "service/client/secure.h"

const struct secure_interface *secure_load(gordian_error *error)
{
    (void)error;
    return &gordian_tls_interface;
}
