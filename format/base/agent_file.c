#include "format/base/agent_file.h"

#include <stddef.h>
#include <string.h>

bool tg_agent_file_is(const char *path)
{
    static const char *const names[] = {"tollgate-agent.so", "tollgate-heap.so"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash != NULL && i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(slash + 1, names[i], length) == 0 &&
            (slash[1 + length] == '\0' || slash[1 + length] == ' ')) /* " (deleted)" */
            return true;
    }
    return false;
}
