#include "recorder/agent/environment.h"

#include "recorder/agent/contract.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

bool tg_agent_environment_is_there(void)
{
    return environ != NULL;
}

static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

const char *tg_agent_environment_get(const char *name)
{
    const char *found = NULL;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        const char *value = value_of(*entry, name);
        if (value != NULL)
            found = value;
    }
    return found;
}

/* Whether VALUE's first item, up to a ':', is a path to the file NAME. */
static bool begins_with(const char *value, const char *name)
{
    if (value == NULL)
        return false;
    size_t item = strcspn(value, ":"), length = strlen(name);
    return item > length && value[item - length - 1] == '/' &&
           memcmp(value + item - length, name, length) == 0;
}

static bool is_of_the_agent(const char *entry)
{
    return begins_with(value_of(entry, "LD_PRELOAD"), TG_AGENT_LIBRARY) ||
           begins_with(value_of(entry, "LD_AUDIT"), TG_AGENT_AUDIT_LIBRARY) ||
           value_of(entry, TG_AGENT_VARIABLE) != NULL;
}

/* How many of the COUNT variables are left without the agent's at the end. */
static size_t without_trailing(char **environment, size_t *count)
{
    *count = 0;
    while (environment[*count] != NULL)
        ++*count;
    size_t kept = *count;
    while (kept > 0 && is_of_the_agent(environment[kept - 1]))
        kept--;
    return kept;
}

void tg_agent_environment_hide(char **environment)
{
    size_t count;
    if (environ != NULL && environ != environment) /* a constructor before this one called setenv */
        environ[without_trailing(environ, &count)] = NULL;
    size_t kept = without_trailing(environment, &count);
    /* the auxiliary vector's entries are two words: only an even gap can be made of them */
    if (kept == count || (count - kept) % 2 != 0)
        return;
    environment[kept] = NULL;
    Elf64_auxv_t *gap = (Elf64_auxv_t *)(void *)(environment + kept + 1);
    for (size_t i = 0; i < (count - kept) / 2; i++)
        gap[i] = (Elf64_auxv_t){.a_type = AT_IGNORE};
}
