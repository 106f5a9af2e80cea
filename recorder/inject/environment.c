#include "recorder/inject/environment.h"

#include "recorder/agent/contract.h"
#include "recorder/inject/startup_libraries.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For what the command starts, and what that needs is not known. It cannot be much: it comes out of the stack
 * of every thread, and programs make threads with 16 KiB. With what glibc keeps for dlopen, a program starts
 * whose libraries take 3 KB more than the command's do; that covers the allocators that are linked or
 * preloaded. */
enum { SPARE_TLS_BYTES = 2048 };

void tg_agent_environment_destroy(char **environment)
{
    for (char **entry = environment; entry != NULL && *entry != NULL; entry++)
        free(*entry);
    free(environment);
}

/* ---- thread-local storage */

bool tg_agent_environment_find_command(const char *command, char path[PATH_MAX])
{
    const char *list = getenv("PATH");
    if (strchr(command, '/') != NULL)
        return (size_t)snprintf(path, PATH_MAX, "%s", command) < PATH_MAX;
    while (list != NULL) {
        size_t length = strcspn(list, ":");
        int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, list, length > 0 ? "/" : "", command);
        if (n < PATH_MAX && access(path, X_OK) == 0)
            return true;
        list = list[length] == ':' ? list + length + 1 : NULL;
    }
    return false;
}

/* Static thread-local storage of the program at PATH (NULL: this one) together with the agent. What cannot be read is not known,
 * and *BYTES is 0: the loader will say what is wrong with it. Only error: NO_MEMORY. */
static struct tg_error *find_tls(const char *path, const char *preload, uint64_t *bytes)
{
    struct tg_startup_libraries *libraries;
    const struct tg_startup_program program = {
        .pid = getpid(), .path = path, .library_path = getenv("LD_LIBRARY_PATH"), .preload = preload};
    *bytes = 0;
    struct tg_error *error = tg_startup_libraries_create(&libraries);
    if (error != NULL)
        return error;
    error = tg_startup_libraries_tls(libraries, &program, bytes);
    tg_startup_libraries_destroy(libraries);
    if (error == NULL || tg_error_code(error) == TG_ERROR_NO_MEMORY)
        return error;
    tg_error_destroy(error);
    return NULL;
}

static struct tg_error *count_tls(const struct tg_agent_files *files, const struct tg_agent_preload *preload,
                                  const char *command, uint64_t *bytes)
{
    char path[PATH_MAX];
    uint64_t of_command = 0;
    char *value = tg_agent_files_preload(files, preload);
    if (value == NULL)
        return tg_error_no_memory();
    struct tg_error *error = find_tls(NULL, value, bytes);
    if (error == NULL && tg_agent_environment_find_command(command, path))
        error = find_tls(path, value, &of_command);
    if (of_command > *bytes)
        *bytes = of_command;
    *bytes += SPARE_TLS_BYTES;
    free(value);
    return error;
}

/* ---- the variables */

static bool is_named(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* Adds ENTRY (taken; NULL: there was no memory for it) in the place of all variables called NAME. */
static bool set(char **environment, size_t *count, const char *name, char *entry)
{
    size_t kept = 0;
    if (entry == NULL)
        return false;
    for (size_t i = 0; i < *count; i++) {
        if (is_named(environment[i], name))
            free(environment[i]);
        else
            environment[kept++] = environment[i];
    }
    environment[kept++] = entry;
    environment[kept] = NULL;
    *count = kept;
    return true;
}

/* NAME=OWN:VALUE, or without OWN where there is none. */
static char *joined(const char *name, const char *value)
{
    const char *own = getenv(name);
    char *entry = NULL;
    bool has_own = own != NULL && own[0] != '\0';
    return asprintf(&entry, "%s=%s%s%s", name, has_own ? own : "", has_own ? ":" : "", value) < 0 ? NULL
                                                                                                  : entry;
}

static bool set_all(char **environment, size_t *count, const struct tg_agent_variables *variables, bool audit)
{
    bool good = set(environment, count, "LD_PRELOAD", strdup(variables->preload)) &&
                set(environment, count, TG_AGENT_VARIABLE, strdup(variables->agent));
    if (!audit)
        return good;
    return good &&
           set(environment, count, "LD_AUDIT", joined("LD_AUDIT", strchr(variables->audit, '=') + 1)) &&
           set(environment, count, "GLIBC_TUNABLES",
               joined("GLIBC_TUNABLES", strchr(variables->tunables, '=') + 1));
}

struct tg_error *tg_agent_environment_create(const struct tg_agent_files *files, const char *directory,
                                             bool audit, bool heap, const char *command, char ***environment)
{
    struct tg_agent_variables variables = {0};
    const struct tg_agent_preload preload = {.own = getenv("LD_PRELOAD"), .heap = heap};
    uint64_t tls_bytes = 0;
    struct tg_error *error = audit ? count_tls(files, &preload, command, &tls_bytes) : NULL;
    if (error == NULL)
        error = tg_agent_variables_init(&variables, files, directory, &preload, getenv("GLIBC_TUNABLES"),
                                        tls_bytes);
    if (error != NULL)
        return error;
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **made = calloc(count + TG_AGENT_VARIABLES + 1, sizeof *made);
    bool good = made != NULL;
    size_t copied = 0;
    for (; good && copied < count; copied++) {
        made[copied] = strdup(environ[copied]);
        good = made[copied] != NULL;
    }
    good = good && set_all(made, &copied, &variables, audit);
    tg_agent_variables_deinit(&variables);
    if (!good) {
        tg_agent_environment_destroy(made);
        return tg_error_no_memory();
    }
    *environment = made;
    return NULL;
}
