#include "analyzer/symbols_option.h"

#include <string.h>

const struct tg_command_services *tg_symbols_option_parse(const char *argument,
                                                          const struct tg_command_services *services,
                                                          const struct argp_state *state)
{
    if (strcmp(argument, "auto") == 0)
        return services;
    if (strcmp(argument, "off") != 0)
        argp_error(state, "--symbols is auto or off");
    return NULL;
}
