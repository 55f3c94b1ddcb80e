/* The embedded page: headers of requests as browsers and others send them, and the table itself. */
#include "service/serve/http/page.h"
#include "service/serve/http/page_files.h"
#include "test.h"

#include <string.h>

static void gzip_is_taken(void)
{
    static const struct {
        const char *header;
        bool takes;
    } cases[] = {
        {NULL, false},
        {"", false},
        {"gzip", true},
        {"GZIP", true},
        {"gzip, deflate, br, zstd", true},
        {"deflate, gzip;q=1.0, *;q=0.5", true},
        {"br;q=1.0, gzip;q=0.8", true},
        {"gzip;q=0", false},
        {"gzip ; q=0.000", false},
        {"gzip;q=0, *", false},
        {"*", true},
        {"*;q=0", false},
        {"identity", false},
        {"xgzip, gzipx", false},
        {"br,,gzip", true},
        {", ,", false},
        {"gzip;", true},
        {"gzip;x=1;q=0.2", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(page_takes_gzip(cases[i].header) == cases[i].takes, "'%s'",
                  cases[i].header ? cases[i].header : "(none)");
}

static void freshness(void)
{
    const struct page_file file = {.etag = "\"abc\"", .etag_zipped = "\"abc-gz\""};
    static const struct {
        const char *header;
        bool fresh;
    } cases[] = {
        {NULL, false},
        {"", false},
        {"\"abc\"", true},
        {"\"abc-gz\"", true},
        {"W/\"abc\"", true},
        {"\"ab\"", false},
        {"\"abcd\"", false},
        {"\"x\", \"abc\"", true},
        {"\"x\" , W/\"abc-gz\"", true},
        {"*", true},
        {"abc", false},
        {",,", false},
        {"W/", false},
        {"\"x\",", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(page_is_fresh(&file, cases[i].header) == cases[i].fresh, "'%s'",
                  cases[i].header ? cases[i].header : "(none)");
}

static const char *header(const struct page_file *file, const char *name)
{
    for (const struct page_header *each = page_headers(file); each->name; each++)
        if (strcmp(each->name, name) == 0)
            return each->value;
    return "";
}

static void headers(void)
{
    const struct page_file hashed = {.hashed = true}, plain = {.hashed = false};
    CHECK(strstr(header(&hashed, "Cache-Control"), "immutable"));
    CHECK(strcmp(header(&plain, "Cache-Control"), "no-cache") == 0);
    CHECK(strcmp(header(NULL, "Cache-Control"), "no-cache") == 0);
    const char *policy = header(NULL, "Content-Security-Policy");
    CHECK(strstr(policy, "default-src 'none'"));
    CHECK(strstr(policy, "script-src 'self'"));
    CHECK(!strstr(policy, "unsafe"));
    CHECK(strcmp(header(&plain, "X-Content-Type-Options"), "nosniff") == 0);
}

static bool contains(const struct page_file *file, const char *text)
{
    return memmem(file->plain, file->plain_size, text, strlen(text)) != NULL;
}

/* What the policy forbids must not be in the page. */
static void the_files(void)
{
    size_t count = 0;
    for (const struct page_file *file = page_files; file->path; file++, count++) {
        CHECK(page_find(file->path) == file);
        CHECK(file->type && file->etag && file->etag_zipped);
        CHECK(strcmp(file->etag, file->etag_zipped) != 0);
        CHECK(!file->zipped || (file->zipped_size < file->plain_size && file->zipped[0] == 0x1f &&
                                file->zipped[1] == 0x8b));
        CHECK(!file->hashed || strncmp(file->path, "/assets/", 8) == 0);
        CHECK(!contains(file, "innerHTML"));
    }
    CHECK(page_is_built() == (count > 0));
    CHECK(page_is_built() == (*page_missing() == '\0'));
    CHECK(page_find("/index.html") == page_find("/"));
    CHECK(!page_find("/nothing") && !page_find("") && !page_find("/assets/"));
    const struct page_file *index = page_find("/");
    CHECK(page_is_built() == (index != NULL));
    if (!index)
        return;
    CHECK(strncmp(index->type, "text/html", 9) == 0 && !index->hashed);
    CHECK(!contains(index, "style=") && !contains(index, "<style") && !contains(index, " onclick"));
    CHECK(contains(index, "type=\"module\""));
}

int main(void)
{
    gzip_is_taken();
    freshness();
    headers();
    the_files();
    CHECK(page_is_built() || strstr(page_missing(), "api/v1/systems"));
    return test_done();
}
