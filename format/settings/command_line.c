#include "format/settings/command_line.h"

#include "format/base/near_name.h"
#include "format/base/printable.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, KEY_USAGE = 0x7000, KEY_WORD = 0x100 };

static error_t parse_common(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    switch (key) {
    case 'h':
    case '?':
        argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
        return 0;
    case KEY_USAGE:
        argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        return 0;
    case 'V':
        fprintf(state->out_stream, "%s\n", argp_program_version != NULL ? argp_program_version : "unknown");
        exit(0);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option common_options[] = {
    {"help", 'h', NULL, 0, "Show this help", -1},
    {NULL, '?', NULL, OPTION_HIDDEN, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "Show a short usage message", -1},
    {"version", 'V', NULL, 0, "Show the version", -1},
    {0},
};

static const struct argp common_argp = {.options = common_options, .parser = parse_common};

/* Root of the parsers; its one input goes to the command's own. */
static error_t parse_root(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

/* All options of a command in the two forms that getopt_long() takes. */
struct spellings {
    struct option *words;
    size_t n_words;
    char *letters;
    size_t n_letters;
};

static size_t count_options(const struct argp *argp)
{
    size_t count = 0;
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL); option++)
        count++;
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL; child++)
        count += count_options(child->argp);
    return count;
}

/* ARGUMENT: no_argument, required_argument (1) or optional_argument (2). */
static void add_option(struct spellings *spellings, const struct argp_option *option, int argument)
{
    if (option->name != NULL)
        spellings->words[spellings->n_words++] = (struct option){option->name, argument, NULL, KEY_WORD};
    if (option->key > ' ' && option->key <= SCHAR_MAX && option->key != '?') {
        spellings->letters[spellings->n_letters++] = (char)option->key;
        for (int i = 0; i < argument; i++)
            spellings->letters[spellings->n_letters++] = ':';
    }
}

static void add_options(struct spellings *spellings, const struct argp *argp)
{
    int argument = no_argument;
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL); option++) {
        if ((option->flags & OPTION_ALIAS) == 0)
            argument = option->arg == NULL                     ? no_argument
                       : (option->flags & OPTION_ARG_OPTIONAL) ? optional_argument
                                                               : required_argument;
        add_option(spellings, option, argument);
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL; child++)
        add_options(spellings, child->argp);
}

/* Tells of a wrong command line of PROGRAM and exits. */
__attribute__((format(printf, 2, 3), noreturn)) static void refuse(const char *program, const char *format,
                                                                   ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", program);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nTry '%s --help' for more information.\n", program);
    exit(EXIT_USAGE);
}

void tg_command_line_error(const struct argp_state *state, const char *format, ...)
{
    char *message = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&message, format, arguments);
    va_end(arguments);
    refuse(state->name, "%s", length < 0 ? "wrong usage" : message);
}

/* A word of the command line that is an option, in parts. */
struct typed {
    const char *dashes; /* one or two, then the name */
    int n_dashes;
    const char *bare; /* the name without the value behind '=' */
    char shown[64];
};

static void refuse_unknown(const char *program, const struct typed *typed, const struct spellings *spellings)
{
    char hint[TG_NEAR_NAME_HINT], dashed[TG_NEAR_NAME_HINT];
    struct tg_near_name near;
    tg_near_name_init(&near, typed->bare);
    for (size_t i = 0; i < spellings->n_words; i++)
        tg_near_name_offer(&near, spellings->words[i].name);
    if (near.best != NULL && (size_t)snprintf(dashed, sizeof dashed, "--%s", near.best) < sizeof dashed)
        near.best = dashed;
    refuse(program, "unknown option '%.*s%s'%s", typed->n_dashes, typed->dashes, typed->shown,
           tg_near_name_hint(&near, hint));
}

/* The option that TYPED is, or the first two that it abbreviates; NULL for what there is not. */
static void find_meant(const struct typed *typed, const struct spellings *spellings, const char *meant[2])
{
    size_t count = 0, length = strlen(typed->bare);
    meant[0] = meant[1] = NULL;
    for (size_t i = 0; i < spellings->n_words; i++) {
        const char *name = spellings->words[i].name;
        if (strncmp(name, typed->bare, length) != 0)
            continue;
        if (count < 2)
            meant[count++] = name;
        if (name[length] == '\0') {
            meant[0] = name;
            meant[1] = NULL;
            return;
        }
    }
}

/* What getopt_long calls wrong (KEY) in WORD, or in the letter LETTER of it (0: it is no letter). */
static void refuse_option(const char *program, const char *word, int key, int letter,
                          const struct spellings *spellings)
{
    const char *name = word + (word[1] == '-' ? 2 : 1), *meant[2];
    char *bare = strndup(name, strcspn(name, "="));
    struct typed typed = {.dashes = word, .n_dashes = (int)(name - word), .bare = bare != NULL ? bare : name};
    tg_printable(typed.bare, typed.shown, sizeof typed.shown);
    find_meant(&typed, spellings, meant);
    if (letter != 0 && key == ':')
        refuse(program, "option '-%c' needs a value", letter);
    if (letter != 0 && isprint(letter))
        refuse(program, "unknown option '-%c'", letter);
    if (meant[0] == NULL || letter != 0)
        refuse_unknown(program, &typed, spellings);
    if (key == ':')
        refuse(program, "option '--%s' needs a value", meant[0]);
    if (meant[1] == NULL)
        refuse(program, "option '--%s' takes no value", meant[0]);
    refuse(program, "option '%.*s%s' could be '--%s' or '--%s'", typed.n_dashes, typed.dashes, typed.shown,
           meant[0], meant[1]);
}

/* Goes over the command line as argp will, and refuses the first option that is not one or lacks its value. */
static void check_options(const struct spellings *spellings, enum tg_command_line shape, int argc,
                          char **argv)
{
    bool one_dash = shape == TG_COMMAND_LINE_PROGRAM;
    opterr = 0;
    optind = 0; /* glibc: begin anew */
    for (int at = 1;; at = optind) {
        int key = one_dash ? getopt_long_only(argc, argv, spellings->letters, spellings->words, NULL)
                           : getopt_long(argc, argv, spellings->letters, spellings->words, NULL);
        if (key == -1 || (key == 1 && shape == TG_COMMAND_LINE_PROGRAM))
            return;
        if ((key == ':' || key == '?') && at < argc && strcmp(argv[at], "-?") != 0) /* "-?" asks for help */
            refuse_option(argv[0], argv[at], key, optopt == KEY_WORD ? 0 : optopt, spellings);
    }
}

error_t tg_command_line_parse(const struct argp *argp, enum tg_command_line shape, int argc, char **argv,
                              void *input)
{
    const struct argp_child children[] = {{.argp = argp}, {.argp = &common_argp}, {0}};
    const struct argp root = {.parser = parse_root, .children = children};
    size_t n_options = count_options(&root);
    struct spellings spellings = {.words = calloc(n_options + 1, sizeof *spellings.words),
                                  .letters = calloc(3 * n_options + 3, 1)};
    bool has_memory = spellings.words != NULL && spellings.letters != NULL;
    if (has_memory) {
        spellings.letters[spellings.n_letters++] = '-'; /* operands are returned in their order */
        spellings.letters[spellings.n_letters++] = ':'; /* what lacks its value is told apart */
        add_options(&spellings, &root);
        check_options(&spellings, shape, argc, argv);
    }
    free(spellings.words);
    free(spellings.letters);
    if (!has_memory)
        return ENOMEM;
    argp_err_exit_status = EXIT_USAGE;
    unsigned flags = ARGP_IN_ORDER | ARGP_NO_HELP | (shape == TG_COMMAND_LINE_PROGRAM ? ARGP_LONG_ONLY : 0);
    return argp_parse(&root, argc, argv, flags, NULL, input);
}
