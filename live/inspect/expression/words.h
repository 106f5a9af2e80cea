/* Words of expressions: blanks, tokens, names, numbers, types. */
#ifndef TG_LIVE_INSPECT_EXPRESSION_WORDS_H
#define TG_LIVE_INSPECT_EXPRESSION_WORDS_H

#include "live/inspect/expression/expression_tree.h"

/* A text that is read from its beginning to its end. */
struct tg_words {
    const char *text;
    size_t at;
    char *strings; /* room for the names that are kept */
    size_t n_strings;
    struct tg_error *error; /* the first one */
    size_t position;        /* of it */
};

/* ERROR, which is taken, is at POSITION; the first one counts. */
void tg_words_fail(struct tg_words *words, size_t position, struct tg_error *error);
/* Fails: WHAT is expected here. */
void tg_words_expected(struct tg_words *words, const char *what);

void tg_words_skip_blanks(struct tg_words *words);
/* TOKEN is next; "take" skips blanks, and goes behind it. */
bool tg_words_starts(const struct tg_words *words, const char *token);
bool tg_words_take(struct tg_words *words, const char *token);
/* The same of a word, which no letter or digit follows. */
bool tg_words_take_word(struct tg_words *words, const char *word);

bool tg_words_is_word_start(char c);
bool tg_words_is_word(char c);
/* How long the name here is: words with "::" between them; a leading '.' as compilers have it. 0: none. */
size_t tg_words_name_length(const struct tg_words *words);
/* A copy of LENGTH bytes at TEXT. The room is that of the text and a NUL each. */
const char *tg_words_keep(struct tg_words *words, const char *text, size_t length);

/* A type in parentheses, behind '('. Certain ones: base types, struct and the like, names with stars. Of a
 * plain name in parentheses *IS_NAME says that it may be one. Nothing is taken where there is no type. */
bool tg_words_type(struct tg_words *words, struct tg_type_words *type, const char **name, bool *is_name);

/* The number here, with its suffix. False: it is none, and that has failed. */
bool tg_words_number(struct tg_words *words, struct tg_number *number);

/* The character behind a backslash; moves TEXT to its end. */
int tg_words_escape(const char **text);

#endif
