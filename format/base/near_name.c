#include "format/base/near_name.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LENGTH = 64, FAR = MAX_LENGTH + 1 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits between A and B, a swap of two neighbours counting as one (optimal string alignment). */
static unsigned distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned rows[3][MAX_LENGTH + 1]; /* of the character before last, the last, and this one of A */
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= n_b; j++)
        last[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n_b; j++) {
            unsigned replaced = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = min(replaced, min(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = min(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[n_b];
}

void tg_near_name_init(struct tg_near_name *near, const char *word)
{
    *near = (struct tg_near_name){.word = word, .distance = FAR};
}

void tg_near_name_offer(struct tg_near_name *near, const char *name)
{
    size_t length = strlen(near->word);
    size_t name_length = strlen(name);
    if (length > MAX_LENGTH || name_length > MAX_LENGTH || strcmp(near->word, name) == 0)
        return;
    unsigned edits = distance(near->word, length, name, name_length);
    unsigned allowed = ((unsigned)length + 1) / 3;
    if (length >= 2 && length < name_length && distance(near->word, length, name, length) == 0)
        edits = min(edits, 1);
    if (edits <= allowed && edits < near->distance) {
        near->best = name;
        near->distance = edits;
    }
}

const char *tg_near_name_hint(const struct tg_near_name *near, char buffer[TG_NEAR_NAME_HINT])
{
    buffer[0] = '\0';
    if (near->best != NULL)
        snprintf(buffer, TG_NEAR_NAME_HINT, "; did you mean '%s'?", near->best);
    return buffer;
}
