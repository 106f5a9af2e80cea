#include "format/settings/command_line.h"

#include "format/base/near_name.h"
#include "format/base/printable.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, KEY_USAGE = 0x7000 };

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

static void add_option(struct spellings *spellings, const struct argp_option *option, bool has_argument)
{
    if (option->name != NULL)
        spellings->words[spellings->n_words++] =
            (struct option){option->name, has_argument ? required_argument : no_argument, NULL, 0x100};
    if (option->key > ' ' && option->key <= SCHAR_MAX && option->key != '?') {
        spellings->letters[spellings->n_letters++] = (char)option->key;
        if (has_argument)
            spellings->letters[spellings->n_letters++] = ':';
    }
}

static void add_options(struct spellings *spellings, const struct argp *argp)
{
    bool has_argument = false;
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL); option++) {
        if ((option->flags & OPTION_ALIAS) == 0)
            has_argument = option->arg != NULL;
        add_option(spellings, option, has_argument);
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL; child++)
        add_options(spellings, child->argp);
}

/* Tells of an unknown option and exits. WORD begins with one dash or two, and may have a value behind '='. */
static void refuse_option(const char *program, const char *word, const struct spellings *spellings)
{
    char shown[64], hint[TG_NEAR_NAME_HINT], dashed[TG_NEAR_NAME_HINT];
    const char *name = word + strspn(word, "-");
    char *bare = strndup(name, strcspn(name, "="));
    struct tg_near_name near;
    tg_near_name_init(&near, bare != NULL ? bare : name);
    for (size_t i = 0; i < spellings->n_words; i++)
        tg_near_name_offer(&near, spellings->words[i].name);
    if (near.best != NULL && (size_t)snprintf(dashed, sizeof dashed, "--%s", near.best) < sizeof dashed)
        near.best = dashed;
    fprintf(stderr, "%s: unknown option '%.*s%s'%s\nTry '%s --help' for more information.\n", program,
            (int)(name - word), word, tg_printable(bare != NULL ? bare : name, shown, sizeof shown),
            tg_near_name_hint(&near, hint), program);
    exit(EXIT_USAGE);
}

/* Whether WORD abbreviates an option: argp itself then says which ones it could be. */
static bool is_abbreviation(const struct spellings *spellings, const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < spellings->n_words; i++)
        if (strncmp(spellings->words[i].name, name, length) == 0)
            return true;
    return false;
}

/* Goes over the command line as argp will, and stops at an option that nobody knows. */
static void find_unknown_option(const struct spellings *spellings, enum tg_command_line shape, int argc,
                                char **argv)
{
    bool one_dash = shape == TG_COMMAND_LINE_PROGRAM;
    opterr = 0;
    optind = 0; /* glibc: begin anew */
    for (;;) {
        int at = optind == 0 ? 1 : optind;
        int key = one_dash ? getopt_long_only(argc, argv, spellings->letters, spellings->words, NULL)
                           : getopt_long(argc, argv, spellings->letters, spellings->words, NULL);
        if (key == -1 || (key == 1 && shape == TG_COMMAND_LINE_PROGRAM))
            return;
        bool is_letter = at < argc && argv[at][1] != '-' && argv[at][2] == '\0';
        if (key == '?' && optopt == 0 && at < argc && !is_letter && !is_abbreviation(spellings, argv[at]))
            refuse_option(argv[0], argv[at], spellings);
    }
}

error_t tg_command_line_parse(const struct argp *argp, enum tg_command_line shape, int argc, char **argv,
                              void *input)
{
    const struct argp_child children[] = {{.argp = argp}, {.argp = &common_argp}, {0}};
    const struct argp root = {.parser = parse_root, .children = children};
    size_t n_options = count_options(&root);
    struct spellings spellings = {.words = calloc(n_options + 1, sizeof *spellings.words),
                                  .letters = calloc(2 * n_options + 2, 1)};
    bool has_memory = spellings.words != NULL && spellings.letters != NULL;
    if (has_memory) {
        spellings.letters[spellings.n_letters++] = '-'; /* operands are returned in their order */
        add_options(&spellings, &root);
        find_unknown_option(&spellings, shape, argc, argv);
    }
    free(spellings.words);
    free(spellings.letters);
    if (!has_memory)
        return ENOMEM;
    argp_err_exit_status = EXIT_USAGE;
    unsigned flags = ARGP_IN_ORDER | ARGP_NO_HELP | (shape == TG_COMMAND_LINE_PROGRAM ? ARGP_LONG_ONLY : 0);
    return argp_parse(&root, argc, argv, flags, NULL, input);
}
