/* The answer to a request of the page that failed. */
#ifndef TG_LIVE_WEB_FAILURE_H
#define TG_LIVE_WEB_FAILURE_H

#include <stdio.h>

/* Writes {"error": {"code": CODE, "message": MESSAGE}}. */
void tg_web_failure_write(FILE *stream, const char *code, const char *message);

#endif
