/* Linked into the command, the examples and the fuzzers where the address sanitizer is, on aarch64
 * only: looking for leaks at the end of a process takes seconds there (the allocator walks its
 * whole address range), and the command's tests start hundreds. Tests in C look for leaks: leaks.h.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
