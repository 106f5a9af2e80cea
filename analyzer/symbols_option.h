/* The option --symbols of the commands that name code addresses. */
#ifndef TG_ANALYZER_SYMBOLS_OPTION_H
#define TG_ANALYZER_SYMBOLS_OPTION_H

#include "format/command.h"

#include <argp.h>

/* Its line in a table of options. */
#define TG_SYMBOLS_OPTION(key)                                                                               \
    {                                                                                                        \
        "symbols", key, "auto|off", 0,                                                                       \
            "Function and source line of code addresses, from the files that are there (default: auto)", 0   \
    }

/* What ARGUMENT asks for: SERVICES, or NULL where addresses stay numbers; anything else is an argp_error. */
const struct tg_command_services *tg_symbols_option_parse(const char *argument,
                                                          const struct tg_command_services *services,
                                                          const struct argp_state *state);

#endif
