/* Values as words of Tcl scripts. */
#ifndef TG_FORMAT_BASE_TCL_QUOTE_H
#define TG_FORMAT_BASE_TCL_QUOTE_H

#include <stdio.h>

/* Writes TEXT as one word that has the value TEXT and substitutes nothing: in braces where these can hold it,
 * else in double quotes with what is special escaped. */
void tg_tcl_quote_write(const char *text, FILE *out);

#endif
