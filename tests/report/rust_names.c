/* Names of Rust, right and damaged. */
#include "output/report/symbol/rust.h"
#include "test.h"

#include <string.h>

static void reads_names(void)
{
    static const struct {
        const char *name, *wanted;
    } cases[] = {
        {"_RNvNtCshxTglP3SOjd_3std4sync4lock", "std::sync::lock"},
        {"_RNvMNtNtNtNtCshxTglP3SOjd_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended",
         "std::sys::sync::mutex::futex::Mutex::lock_contended"},
        {"_RNvMs0_NtNtNtCshxTglP3SOjd_3std3sys6thread4unixNtB5_6Thread4join",
         "std::sys::thread::unix::Thread::join"},
        {"_RNCNvCsa_4main3run0B3_", "main::run::{closure}"},
        {"_RINvCsa_4main4swapmRhE", "main::swap"},
        {"_RNvXCsa_4mainNtB2_4LockNtCsb_4core4Drop4drop", "<main::Lock as core::Drop>::drop"},
    };
    char name[RUST_NAME_MOST];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(rust_demangle(cases[i].name, name));
        CHECK_MSG(strcmp(name, cases[i].wanted) == 0, "%s", name);
    }
}

static void refuses_others(void)
{
    static const char *const names[] = {
        "",
        "main",
        "_ZN3fooE",
        "_R",
        "_RNv",
        "_RNvC",
        "_RNvC3st",
        "_RB_",
        "_RNvB_",
        "_RNvC999999999999999999x",
        "_RINvC4main3abc",
        "_RNvCs!_3std3abc",
    };
    char name[RUST_NAME_MOST];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(!rust_demangle(names[i], name));
}

/* Whatever is cut off, or too deep, is refused or told, but never read beyond its end. */
static void survives_damage(void)
{
    static const char whole[] = "_RNvXCsa_4mainNtB2_4LockINtCsb_4core4DropRhTmhEE4drop";
    char name[RUST_NAME_MOST], part[sizeof whole], deep[2000] = "_R";
    for (size_t length = 0; length < sizeof whole; length++) {
        memcpy(part, whole, length);
        part[length] = '\0';
        if (rust_demangle(part, name))
            CHECK_MSG(strlen(name) < sizeof name, "%s", part);
    }
    for (size_t i = 2; i + 3 < sizeof deep; i += 2)
        memcpy(deep + i, "Nv", 3);
    CHECK(!rust_demangle(deep, name));
}

int main(void)
{
    reads_names();
    refuses_others();
    survives_damage();
    return test_done();
}
