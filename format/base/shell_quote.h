/* Words to be pasted into a shell. */
#ifndef TG_FORMAT_BASE_SHELL_QUOTE_H
#define TG_FORMAT_BASE_SHELL_QUOTE_H

#include <stdio.h>

/* Writes TEXT in double quotes where nothing in it is special in them, else in single ones, else as $'...'
 * (bash, ksh, zsh, POSIX since 2024), so that control characters never reach the terminal. */
void tg_shell_quote_write(FILE *stream, const char *text);

/* Writes PATH as an operand, quoted where necessary only; one that would be taken for an option gets "./" in
 * front. */
void tg_shell_quote_write_path(FILE *stream, const char *path);

#endif
