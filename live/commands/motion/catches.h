/* Events that `dcont` stops at. */
#ifndef TG_LIVE_COMMANDS_MOTION_CATCHES_H
#define TG_LIVE_COMMANDS_MOTION_CATCHES_H

#include "live/console/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sections zone that is gone through section by section. */
struct tg_section_steps {
    bool is_on;
    size_t process;
    uint64_t team;
    uint64_t code;   /* of the construct, 0 unknown */
    uint64_t number; /* of it among those of the process, 0 unknown */
    uint64_t count;  /* of its sections, 0 unknown */
    /* in a live job, once it has begun: */
    uint64_t visits; /* how often a worker has come to it that is inside; 0: not looked at yet */
    bool is_shared_out;
};

struct tg_catches {
    bool sections; /* the beginning of each sections zone */
    struct tg_section_steps steps;
};

/* Why `dcont` ended, for what is printed. */
enum tg_catch {
    TG_CATCH_NOTHING, /* not an event that was asked for */
    TG_CATCH_SECTIONS,
    TG_CATCH_SECTION,       /* a section of the zone that is stepped through */
    TG_CATCH_SECTIONS_DONE, /* end of that zone: stepping has been switched off */
};

/* State: a struct tg_catches. */
extern const struct tg_console_state_kind tg_catches_kind;

/* Whether the event that SOURCE took last is one that CATCHES asks for, of FOCUS. Keeps count of the sections
 * that began. */
enum tg_catch tg_catches_look(struct tg_catches *catches, const struct tg_source *source,
                              const struct tg_focus *focus);

#endif
