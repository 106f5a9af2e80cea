#include "recorder/inject/files.h"

#include "recorder/agent/contract.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STATIC_TLS = 1 << 24 };

/* Relative to the directory of the program: as installed, and in the build tree. */
static const char *const places[] = {TG_AGENT_INSTALLED, "agent"};

void tg_agent_files_deinit(struct tg_agent_files *files)
{
    free(files->agent);
    free(files->audit);
    free(files->heap);
    *files = (struct tg_agent_files){0};
}

/* Characters that separate names in LD_PRELOAD or LD_AUDIT, or are expanded there. */
static bool can_be_told(const char *path)
{
    return strpbrk(path, " :$") == NULL;
}

struct tg_error *tg_agent_files_find_in(const char *directory, struct tg_agent_files *files)
{
    struct tg_agent_files found = {0};
    const struct {
        char **path;
        const char *name;
    } libraries[] = {{&found.agent, TG_AGENT_LIBRARY},
                     {&found.audit, TG_AGENT_AUDIT_LIBRARY},
                     {&found.heap, TG_AGENT_HEAP_LIBRARY}};
    struct tg_error *error = NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0] && error == NULL; i++) {
        if (asprintf(libraries[i].path, "%s/%s", directory, libraries[i].name) < 0) {
            *libraries[i].path = NULL;
            error = tg_error_no_memory();
        } else if (access(*libraries[i].path, R_OK) != 0) {
            error = tg_error_create(TG_ERROR_NOT_FOUND, "cannot read the agent's library %s: %s",
                                    *libraries[i].path, strerror(errno));
        }
    }
    if (error == NULL && !can_be_told(directory))
        error = tg_error_create(TG_ERROR_UNSUPPORTED,
                                "the agent is in %s, and the dynamic loader cannot preload a library whose "
                                "path has a space, ':' or '$'",
                                directory);
    if (error != NULL)
        tg_agent_files_deinit(&found);
    else
        *files = found;
    return error;
}

/* The directory that this program's file is in. */
static bool own_directory(char directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);
    if (length <= 0)
        return false;
    directory[length] = '\0';
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        *slash = '\0';
    return slash != NULL;
}

struct tg_error *tg_agent_files_find(struct tg_agent_files *files)
{
    char own[PATH_MAX];
    if (!own_directory(own))
        return tg_error_create_errno(errno, "cannot read the path of this program from /proc/self/exe");
    struct tg_error *first = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[2 * PATH_MAX];
        char resolved[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", own, places[i]);
        if (realpath(path, resolved) == NULL)
            snprintf(resolved, sizeof resolved, "%.*s", PATH_MAX - 1, path);
        struct tg_error *error = tg_agent_files_find_in(resolved, files);
        if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND) {
            tg_error_destroy(first);
            return error;
        }
        if (first == NULL)
            first = error;
        else
            tg_error_destroy(error);
    }
    return first;
}

/* ---- variables */

void tg_agent_variables_deinit(struct tg_agent_variables *variables)
{
    free(variables->preload);
    free(variables->audit);
    free(variables->tunables);
    free(variables->agent);
    *variables = (struct tg_agent_variables){0};
}

/* The program's own setting, or glibc's default. */
static uint64_t own_static_tls(const char *tunables)
{
    static const char name[] = TG_AGENT_TUNABLE "=";
    uint64_t bytes = 512;
    for (const char *at = tunables; at != NULL && (at = strstr(at, name)) != NULL;) {
        at += sizeof name - 1;
        unsigned long long value = strtoull(at, NULL, 0);
        bytes = value < MAX_STATIC_TLS ? value : MAX_STATIC_TLS;
    }
    return bytes;
}

char *tg_agent_files_preload(const struct tg_agent_files *files, const struct tg_agent_preload *preload)
{
    bool has_first = preload->first != NULL, has_own = preload->own != NULL && preload->own[0] != '\0';
    char *text = NULL;
    int length = asprintf(&text, "%s%s%s%s%s%s%s", has_first ? preload->first : "", has_first ? ":" : "",
                          files->agent, preload->heap ? ":" : "", preload->heap ? files->heap : "",
                          has_own ? ":" : "", has_own ? preload->own : "");
    return length < 0 ? NULL : text;
}

struct tg_error *tg_agent_variables_init(struct tg_agent_variables *variables,
                                         const struct tg_agent_files *files, const char *directory,
                                         const struct tg_agent_preload *preload, const char *tunables,
                                         uint64_t static_tls_bytes)
{
    struct tg_agent_variables made = {0};
    char *value = tg_agent_files_preload(files, preload);
    if (value == NULL || asprintf(&made.preload, "LD_PRELOAD=%s", value) < 0)
        made.preload = NULL;
    free(value);
    if (asprintf(&made.audit, "LD_AUDIT=%s", files->audit) < 0)
        made.audit = NULL;
    if (asprintf(&made.tunables, TG_AGENT_TUNABLES "%" PRIu64, own_static_tls(tunables) + static_tls_bytes) <
        0)
        made.tunables = NULL;
    if (asprintf(&made.agent, "%s=%s", TG_AGENT_VARIABLE, directory) < 0)
        made.agent = NULL;
    if (made.preload == NULL || made.audit == NULL || made.tunables == NULL || made.agent == NULL) {
        tg_agent_variables_deinit(&made);
        return tg_error_no_memory();
    }
    *variables = made;
    return NULL;
}
