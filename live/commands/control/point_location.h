/* Source locations as people write them after dbreak and dbarrier. */
#ifndef TG_LIVE_COMMANDS_CONTROL_POINT_LOCATION_H
#define TG_LIVE_COMMANDS_CONTROL_POINT_LOCATION_H

#include "format/base/error.h"

/* The job's code: FILE_OF is the source file where SPEC (format/settings/break_spec.h) is, for the
 * caller to free, NULL where that is nowhere or not known. */
struct tg_location_code {
    char *(*file_of)(void *context, const char *spec);
    void *context;
};

/* TEXT as a breakpoint specification (format/settings/break_spec.h), for the caller to free: N is line N of
 * DEFAULT_FILE (NULL: not known, then a USAGE error says so); FILE#N, FILE#FUNCTION#N (also with a '#' before
 * them) are FILE:N, FILE#FUNCTION and ##FUNCTION are FUNCTION, ##FUNCTION#N is line N of the file that has
 * FUNCTION (NOT_FOUND where that is none), and so is FUNCTION#N where no file FILE has the line. ##IMAGE# in
 * front of any of these is IMAGE`. Everything else stays what it is. *FUNCTION, for the caller to free:
 * where the line has to be, NULL none was named. USAGE error for what is none of these. */
struct tg_error *tg_location_parse(const char *text, const char *default_file,
                                   const struct tg_location_code *code, char **spec, char **function);

#endif
