/* The destination of a command's result: standard output, or a file that appears only when it is complete. */
#ifndef TG_ANALYZER_OUTPUT_OUTPUT_FILE_H
#define TG_ANALYZER_OUTPUT_OUTPUT_FILE_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tg_output;

/* PATH NULL or "-": standard output; SIGPIPE is ignored from here on, a reader that went away shows in
 * tg_output_closed. Otherwise a temporary file beside PATH that commit renames, and that goes where a signal ends the process
 * (format/base/cleanup.h); an existing regular file is
 * an EXISTS error unless FORCE; a device or pipe at PATH is written to as it is. */
struct tg_error *tg_output_open(const char *path, bool force, struct tg_output **output);

/* The EXISTS error that opening PATH has, before anything is done for what is to be written. */
struct tg_error *tg_output_check(const char *path, bool force);

/* USAGE error where OUTPUT_PATH is the file INPUT_PATH: --force must not replace a trace by what is said
 * about it. NULL and "-" are no files. */
struct tg_error *tg_output_refuse_input(const char *output_path, const char *input_path);

FILE *tg_output_stream(struct tg_output *output);

/* Whether the result goes to a file of its own, not to standard output. */
bool tg_output_is_file(const struct tg_output *output);

/* Whether the result goes to a terminal, where people read it at once. */
bool tg_output_is_terminal(const struct tg_output *output);

/* Columns and lines of that terminal: COLUMNS and LINES, what the terminal says, or 80 and 24. */
size_t tg_output_columns(const struct tg_output *output);
size_t tg_output_lines(const struct tg_output *output);

/* Has a pager show what is written from here on, where the result goes to a terminal and the user has one
 * (analyzer/output/pager.h). Before anything is written. */
struct tg_error *tg_output_page(struct tg_output *output);

/* Whether colour is wanted: a terminal, and neither NO_COLOR nor TERM=dumb says otherwise. */
bool tg_output_colour(const struct tg_output *output);

/* Writing failed (the reader of a pipe went away, the disk is full): nothing more needs writing, commit tells
 * why. Cheap enough to ask for every event. */
bool tg_output_closed(const struct tg_output *output);

/* Bytes written so far, without those that are still in the stream's buffer. */
uint64_t tg_output_bytes(const struct tg_output *output);

/* Closes the stream and puts the file in its place, or waits until the user leaves the pager; OS (disk
 * full, ...), EXISTS or TARGET (the pager) error. A closed pipe is no error. Once. */
struct tg_error *tg_output_commit(struct tg_output *output);

/* Removes what was not committed. NULL is accepted. */
void tg_output_destroy(struct tg_output *output);

#endif
