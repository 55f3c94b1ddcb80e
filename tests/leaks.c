/* For a program that does not know leaks.h, and looks for leaks. */
#define TEST_LEAKS
#include "leaks.h"
