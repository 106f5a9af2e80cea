/* Where dexamine has come to. */
#ifndef TG_LIVE_COMMANDS_DEXAMINE_H
#define TG_LIVE_COMMANDS_DEXAMINE_H

#include "format/base/error.h"

struct tg_examination;

struct tg_error *tg_examination_create(struct tg_examination **examination);
void tg_examination_destroy(struct tg_examination *examination); /* NULL is accepted */

#endif
