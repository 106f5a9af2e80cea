/* Command lines: argp, with the conventions that all commands of tollgate share. */
#ifndef TG_FORMAT_SETTINGS_COMMAND_LINE_H
#define TG_FORMAT_SETTINGS_COMMAND_LINE_H

#include <argp.h>

enum tg_command_line {
    TG_COMMAND_LINE_OPERANDS, /* options and operands in any order */
    TG_COMMAND_LINE_PROGRAM,  /* options, with one dash or two, then a program with arguments of its own */
};

/* Parses a command line as argp_parse does, with INPUT for ARGP's parser; operands are handed over in order.
 * Adds -h, --help, --usage and --version (which prints argp_program_version). Wrong usage prints a message and
 * exits with status 2; for an unknown option, it names the one that was probably meant. Returns ENOMEM, or the
 * error of ARGP's parser. */
error_t tg_command_line_parse(const struct argp *argp, enum tg_command_line shape, int argc, char **argv,
                              void *input);

/* For ARGP's parser, instead of argp_error: prints what is wrong and what to type for help, and exits with status
 * 2. */
void tg_command_line_error(const struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#endif
