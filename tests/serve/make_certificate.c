/* Makes a certificate for a test that is a script.
 *
 *     make-certificate FOLDER NAME SIGNER HOSTS
 *
 * SIGNER is the name of one made before, or - for none: then it may sign others. HOSTS may be -. */
#include "certificates.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    bool alone = strcmp(argv[3], "-") == 0;
    struct certificate wanted = {.name = argv[2],
                                 .by = alone ? NULL : argv[3],
                                 .hosts = strcmp(argv[4], "-") == 0 ? NULL : argv[4],
                                 .authority = alone};
    if (certificate_make(argv[1], &wanted))
        return 0;
    fprintf(stderr, "%s: could not be made\n", argv[2]);
    return 1;
}
