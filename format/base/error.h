/* Errors: a code, a message that names what and where, and the context that each layer adds. */
#ifndef TG_FORMAT_BASE_ERROR_H
#define TG_FORMAT_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* code, exit status of the tool when the error ends a command */
#define TG_ERROR_CODES(X)                                                                                    \
    X(NO_MEMORY, 2)                                                                                          \
    X(USAGE, 2)       /* invalid command line */                                                             \
    X(INPUT, 2)       /* malformed input: trace, settings, pattern, specification */                         \
    X(LIMIT, 2)       /* a size or count beyond tollgate's limits */                                         \
    X(OS, 2)          /* the operating system refused a call */                                              \
    X(EXISTS, 2)      /* an output file exists already */                                                    \
    X(NOT_FOUND, 2)   /* a named thing does not exist */                                                     \
    X(TARGET, 3)      /* the traced program could not be run or reached */                                   \
    X(UNSUPPORTED, 2) /* not supported by this machine, kernel or file version */

enum tg_error_code {
#define X(name, status) TG_ERROR_##name,
    TG_ERROR_CODES(X)
#undef X
};

/* Owned by whoever receives it; free with tg_error_destroy. NULL means success everywhere. */
struct tg_error;

/* A new error. Never returns NULL: where memory is short it is the static out-of-memory error. */
struct tg_error *tg_error_create(enum tg_error_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

/* A TG_ERROR_OS error whose message ends with ": " and strerror(errno_value). */
struct tg_error *tg_error_create_errno(int errno_value, const char *format, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

/* The static out-of-memory error; destroying it does nothing. */
struct tg_error *tg_error_no_memory(void) __attribute__((returns_nonnull));

/* Puts context in front of ERROR's message ("context: message"); takes ERROR and returns it, NULL stays
 * NULL. */
struct tg_error *tg_error_prefix(struct tg_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NULL is accepted. */
void tg_error_destroy(struct tg_error *error);

enum tg_error_code tg_error_code(const struct tg_error *error);

/* Valid as long as ERROR. May contain bytes from untrusted sources: print it through tg_printable_error. */
const char *tg_error_message(const struct tg_error *error);

/* The exit status for a command that ends with ERROR (architecture: 2 bad input, 3 program not run); 0 for
 * NULL. */
int tg_error_exit_status(const struct tg_error *error);

/* The name of CODE without its prefix: "INPUT". */
const char *tg_error_code_name(enum tg_error_code code);

/* Scope guard: `TG_AUTO_ERROR struct tg_error *error = NULL;` destroys what is left in it at scope end. */
void tg_error_cleanup(struct tg_error **error);
#define TG_AUTO_ERROR __attribute__((cleanup(tg_error_cleanup)))

#endif
