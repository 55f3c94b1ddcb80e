/* Tokens, and the cookies that stand for them. Only SHA-256 digests are kept. */
#include "service/serve/auth/auth.h"

#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/io/size.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGEST    32
#define COOKIE_MS (UINT64_C(3600000) * AUTH_COOKIE_HOURS)

struct token {
    unsigned char digest[DIGEST];
    struct auth_grant grant; /* its texts point to the arrays below */
    char name[AUTH_NAME_MAX + 1];
    char systems[AUTH_SYSTEMS_MAX + 1];
};

struct cookie {
    unsigned char digest[DIGEST];       /* of the cookie */
    unsigned char token_digest[DIGEST]; /* of the token it was given for */
    uint64_t until;                     /* when it expires, in ms; 0: free */
};

struct auth {
    gordian_allocator memory;
    char *path; /* NULL: no tokens */
    struct token *tokens;
    size_t token_count, token_room;
    struct cookie *cookies; /* AUTH_COOKIES_MAX of them, allocated by the first login */
    size_t next_cookie;     /* the slot to use next: the oldest cookie */
    unsigned generation;
};

static bool digest_of(const char *text, size_t length, unsigned char digest[DIGEST])
{
    return EVP_Digest(text, length, digest, NULL, EVP_sha256(), NULL) == 1;
}

/* ------------------------------------------------------------------ the file */

static ptrdiff_t read_token_file(void *context, char *buffer, size_t size)
{
    int fd = *(int *)context;
    for (;;) {
        ssize_t count = read(fd, buffer, size);
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

static gordian_status open_token_file(const char *path, int *fd, gordian_error *error)
{
    struct stat about;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read the token file '%s': %s", path,
                    strerror(errno));
    const char *why = NULL;
    if (fstat(*fd, &about) != 0 || !S_ISREG(about.st_mode))
        why = "it is not a regular file";
    else if (about.st_mode & 077)
        why = "other users can read or change it: run chmod 600";
    if (!why)
        return GORDIAN_OK;
    close(*fd);
    return fail(error, GORDIAN_STATUS_INPUT, "cannot use the token file '%s': %s", path, why);
}

static gordian_status bad_token_line(const struct auth *auth, const struct reader *reader,
                                     const char *what, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "'%s', line %llu: %s", auth->path,
                (unsigned long long)reader->line, what);
}

/* The rights in a list with commas; AUTH_NONE if one of them is unknown. */
static enum auth_rights rights_of(const gordian_word *word)
{
    static const struct {
        const char *name;
        enum auth_rights rights;
    } names[] = {{"read", AUTH_READ},
                 {"send", AUTH_SEND},
                 {"administer", AUTH_ADMINISTER},
                 {"end-others", AUTH_END_OTHERS},
                 {"write", AUTH_WRITE}};
    const size_t count = sizeof names / sizeof *names;
    unsigned all = AUTH_NONE;
    for (size_t at = 0; at <= word->length;) {
        size_t end = at, i = 0;
        while (end < word->length && word->text[end] != ',')
            end++;
        while (i < count && (strlen(names[i].name) != end - at ||
                             memcmp(names[i].name, word->text + at, end - at) != 0))
            i++;
        if (i == count)
            return AUTH_NONE;
        all |= names[i].rights;
        at = end + 1;
    }
    return (enum auth_rights)all;
}

/* Reads key=value behind a token. Returns NULL, or what is wrong with it. */
static const char *take_setting(struct token *token, const gordian_word *word)
{
    const struct {
        const char *name;
        uint64_t *limit;
    } limits[] = {{"max-systems", &token->grant.max_systems},
                  {"max-names", &token->grant.max_names},
                  {"max-events", &token->grant.max_events}};
    gordian_word name, value;
    const char *why;
    word_split(word, &name, &value);
    if (!value.text || value.length == 0)
        return "expected key=value after the token";
    if (word_is(&name, "systems")) {
        if (value.length > AUTH_SYSTEMS_MAX)
            return "systems= is too long: at most 255 characters";
        for (size_t i = 0; i < value.length; i++)
            if (strchr("\"\\[]", value.text[i]))
                return "systems= permits no wildcards except * and ?";
        memcpy(token->systems, value.text, value.length);
        return NULL;
    }
    if (word_is(&name, "max-memory"))
        return parse_size(value.text, value.length, &token->grant.max_memory) &&
                       token->grant.max_memory > 0
                   ? NULL
                   : "max-memory= must be a size such as 512M";
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (word_is(&name, limits[i].name))
            return parse_u64(value.text, value.length, limits[i].limit, &why) &&
                           *limits[i].limit > 0 && *limits[i].limit <= UINT32_MAX
                       ? NULL
                       : "a limit must be a whole number, at least 1";
    return "expected systems=, max-systems=, max-names=, max-memory= or max-events=";
}

/* Reads a line of the token file. Returns NULL, or what is wrong with it. */
static const char *parse_token_line(const struct reader *reader, struct token *token)
{
    const gordian_word *words = reader->words;
    const char *wrong = NULL;
    if (reader->word_count < 3)
        return "expected NAME RIGHTS TOKEN";
    if (words[0].length > AUTH_NAME_MAX)
        return "the name is too long: at most 63 characters";
    memcpy(token->name, words[0].text, words[0].length);
    token->grant.rights = rights_of(&words[1]);
    if (token->grant.rights == AUTH_NONE)
        return "the rights must be 'read', 'write', or a list of 'send', 'administer' and "
               "'end-others' with commas";
    if (words[2].length < AUTH_TOKEN_MIN || words[2].length > AUTH_TOKEN_MAX)
        return "a token must have 16 to 512 characters";
    for (size_t i = 0; i < words[2].length; i++)
        if (words[2].text[i] <= ' ' || words[2].text[i] > '~')
            return "a token must consist of printable ASCII characters";
    for (size_t i = 3; i < reader->word_count && !wrong; i++)
        wrong = take_setting(token, &words[i]);
    return wrong;
}

static gordian_status take_token_line(struct auth *auth, const struct reader *reader,
                                      gordian_error *error)
{
    struct token token = {0};
    const gordian_word *secret = &reader->words[2];
    const char *wrong = parse_token_line(reader, &token);
    if (!wrong && auth->token_count == AUTH_TOKENS_MAX)
        wrong = "too many tokens: at most 256";
    if (wrong)
        return bad_token_line(auth, reader, wrong, error);
    if (!digest_of(secret->text, secret->length, token.digest) ||
        !memory_extend(&auth->memory, auth->tokens, auth->token_room, auth->token_count))
        return fail_memory(error);
    auth->tokens[auth->token_count++] = token;
    return GORDIAN_OK;
}

/* Fills auth->tokens from auth->path. */
static gordian_status read_tokens(struct auth *auth, gordian_error *error)
{
    int fd;
    TRY(open_token_file(auth->path, &fd, error));
    struct reader reader;
    gordian_source source = {read_token_file, &fd};
    gordian_status status = reader_open(&reader, &source, &auth->memory, error);
    if (status == GORDIAN_OK) {
        gordian_error trouble = {0};
        while ((status = reader_next(&reader, &trouble)) == GORDIAN_OK &&
               (status = take_token_line(auth, &reader, error)) == GORDIAN_OK)
            continue;
        if (trouble.status == GORDIAN_STATUS_INPUT)
            bad_token_line(auth, &reader, trouble.message, error);
        else if (trouble.status != GORDIAN_OK)
            fail(error, trouble.status, "'%s': %s", auth->path, trouble.message);
        OPENSSL_cleanse(reader.buffer, reader.room);
        reader_close(&reader);
    }
    close(fd);
    if (status != GORDIAN_STATUS_END)
        return status;
    if (auth->token_count == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "no tokens in '%s': add a line NAME RIGHTS TOKEN",
                    auth->path);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ open and close */

gordian_status auth_open(struct auth **out, const char *path, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct auth *auth = memory_zeroed(&memory, sizeof *auth);
    *out = NULL;
    if (!auth)
        return fail_memory(error);
    auth->memory = memory;
    if (path) {
        auth->path = memory_copy_text(&memory, path);
        gordian_status status = auth->path ? read_tokens(auth, error) : fail_memory(error);
        if (status != GORDIAN_OK) {
            auth_close(auth);
            return status;
        }
    }
    *out = auth;
    return GORDIAN_OK;
}

void auth_close(struct auth *auth)
{
    if (!auth)
        return;
    gordian_allocator memory = auth->memory;
    memory_free_all(&memory, auth->path, auth->tokens, auth->cookies, auth);
}

static const struct token *token_with(const struct auth *auth, const unsigned char *digest)
{
    const struct token *found = NULL;
    /* Compares all of them, so that the time does not depend on the token. */
    for (size_t i = 0; i < auth->token_count; i++)
        if (CRYPTO_memcmp(auth->tokens[i].digest, digest, DIGEST) == 0)
            found = &auth->tokens[i];
    return found;
}

gordian_status auth_reload(struct auth *auth, gordian_error *error)
{
    if (!auth->path)
        return GORDIAN_OK;
    struct auth fresh = {.memory = auth->memory, .path = auth->path};
    gordian_status status = read_tokens(&fresh, error);
    if (status != GORDIAN_OK) {
        memory_free(&auth->memory, fresh.tokens);
        return status;
    }
    memory_free(&auth->memory, auth->tokens);
    auth->tokens = fresh.tokens;
    auth->token_count = fresh.token_count;
    auth->token_room = fresh.token_room;
    auth->generation++;
    for (size_t i = 0; auth->cookies && i < AUTH_COOKIES_MAX; i++)
        if (auth->cookies[i].until && !token_with(auth, auth->cookies[i].token_digest))
            auth->cookies[i].until = 0;
    return GORDIAN_OK;
}

bool auth_required(const struct auth *auth)
{
    return auth->path != NULL;
}

unsigned auth_generation(const struct auth *auth)
{
    return auth->generation;
}

/* ------------------------------------------------------------------ questions */

static const struct token *find_token(const struct auth *auth, const char *token, size_t length)
{
    unsigned char digest[DIGEST];
    if (length > AUTH_TOKEN_MAX || !digest_of(token, length, digest))
        return NULL;
    return token_with(auth, digest);
}

static enum auth_rights grant_of(const struct token *token, struct auth_grant *grant)
{
    *grant = token ? token->grant : (struct auth_grant){.rights = AUTH_NONE};
    grant->name = token ? token->name : "";
    grant->systems = token ? token->systems : "";
    return grant->rights;
}

enum auth_rights auth_token(const struct auth *auth, const char *token, size_t length,
                            struct auth_grant *grant)
{
    return grant_of(find_token(auth, token, length), grant);
}

bool auth_fits(const char *patterns, const char *name)
{
    char pattern[AUTH_SYSTEMS_MAX + 1];
    if (!*patterns)
        return true;
    for (const char *at = patterns; *at;) {
        size_t length = strcspn(at, ",");
        if (length < sizeof pattern) {
            memcpy(pattern, at, length);
            pattern[length] = '\0';
            if (fnmatch(pattern, name, 0) == 0)
                return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

enum auth_rights auth_login(struct auth *auth, const char *token, size_t length, uint64_t now,
                            char cookie[AUTH_COOKIE_SIZE])
{
    unsigned char secret[(AUTH_COOKIE_SIZE - 1) / 2];
    const struct token *found = find_token(auth, token, length);
    if (!found || RAND_bytes(secret, sizeof secret) != 1)
        return AUTH_NONE;
    if (!auth->cookies)
        auth->cookies = memory_zeroed(&auth->memory, AUTH_COOKIES_MAX * sizeof *auth->cookies);
    if (!auth->cookies)
        return AUTH_NONE;
    for (size_t i = 0; i < AUTH_COOKIE_SIZE - 1; i++)
        cookie[i] = "0123456789abcdef"[secret[i / 2] >> (i % 2 ? 0 : 4) & 15];
    cookie[AUTH_COOKIE_SIZE - 1] = '\0';
    struct cookie *place = &auth->cookies[auth->next_cookie];
    if (!digest_of(cookie, AUTH_COOKIE_SIZE - 1, place->digest))
        return AUTH_NONE;
    memcpy(place->token_digest, found->digest, DIGEST);
    place->until = now + COOKIE_MS;
    auth->next_cookie = (auth->next_cookie + 1) % AUTH_COOKIES_MAX;
    return found->grant.rights;
}

static struct cookie *find_cookie(const struct auth *auth, const char *cookie, size_t length)
{
    unsigned char digest[DIGEST];
    struct cookie *found = NULL;
    if (!auth->cookies || length != AUTH_COOKIE_SIZE - 1 || !digest_of(cookie, length, digest))
        return NULL;
    for (size_t i = 0; i < AUTH_COOKIES_MAX; i++)
        if (CRYPTO_memcmp(auth->cookies[i].digest, digest, DIGEST) == 0 && auth->cookies[i].until)
            found = &auth->cookies[i];
    return found;
}

enum auth_rights auth_cookie(const struct auth *auth, const char *cookie, size_t length,
                             uint64_t now, struct auth_grant *grant)
{
    const struct cookie *found = find_cookie(auth, cookie, length);
    bool good = found && found->until > now;
    return grant_of(good ? token_with(auth, found->token_digest) : NULL, grant);
}

void auth_logout(struct auth *auth, const char *cookie, size_t length)
{
    struct cookie *found = find_cookie(auth, cookie, length);
    if (found)
        found->until = 0;
}
