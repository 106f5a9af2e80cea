#include "recorder/agent/environment.h"

#include "recorder/agent/contract.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Array that the agent's constructor was given. It runs before libc's own. */
static char **given;

static char **current(void)
{
    return environ != NULL ? environ : given;
}

void tg_agent_environment_set(char **environment)
{
    given = environment;
}

bool tg_agent_environment_is_there(void)
{
    return current() != NULL;
}

static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

const char *tg_agent_environment_get(const char *name)
{
    const char *found = NULL;
    for (char **entry = current(); entry != NULL && *entry != NULL; entry++) {
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

/* Whether VARIABLES, TG_AGENT_VARIABLES of them, are as the contract has them. */
static bool are_the_agents(char **variables)
{
    return begins_with(value_of(variables[0], "LD_PRELOAD"), TG_AGENT_LIBRARY) &&
           (begins_with(value_of(variables[1], "LD_AUDIT"), TG_AGENT_AUDIT_LIBRARY) ||
            value_of(variables[1], TG_AGENT_VARIABLE) != NULL) &&
           strncmp(variables[2], TG_AGENT_TUNABLES, strlen(TG_AGENT_TUNABLES)) == 0 &&
           value_of(variables[3], TG_AGENT_VARIABLE) != NULL;
}

/* A constructor of another library was first to call setenv or putenv: takes the same strings out of its
 * copy. */
static void take_out(char **copy, char *const *variables)
{
    char **kept = copy;
    for (; *copy != NULL; copy++) {
        bool taken = false;
        for (size_t i = 0; i < TG_AGENT_VARIABLES; i++)
            taken = taken || *copy == variables[i];
        if (!taken)
            *kept++ = *copy;
    }
    *kept = NULL;
}

void tg_agent_environment_hide(char **environment)
{
    size_t count = 0;
    while (environment[count] != NULL)
        count++;
    if (count < TG_AGENT_VARIABLES || !are_the_agents(environment + count - TG_AGENT_VARIABLES))
        return;
    char **variables = environment + count - TG_AGENT_VARIABLES;
    if (environ != NULL && environ != environment)
        take_out(environ, variables);
    /* the NULL moves to the front of the gap, whose words then are the auxiliary vector's */
    _Static_assert(TG_AGENT_VARIABLES % 2 == 0, "an entry of the auxiliary vector is two words");
    variables[0] = NULL;
    Elf64_auxv_t *gap = (Elf64_auxv_t *)(void *)(variables + 1);
    for (size_t i = 0; i < TG_AGENT_VARIABLES / 2; i++)
        gap[i] = (Elf64_auxv_t){.a_type = AT_IGNORE};
}
