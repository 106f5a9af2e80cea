/* The dlopen filter setting to use: the cheapest mode, and the shortest glob-list for it, that plants every
 * breakpoint wanted in time. Candidates are built from the libraries of a trace alone; whoever asks replays
 * them through the filter model and lets tg_suggestion_choose decide on what came out. */
#ifndef TG_ANALYZER_FILTER_SUGGESTION_H
#define TG_ANALYZER_FILTER_SUGGESTION_H

#include "analyzer/filter/model.h"

enum { TG_SUGGESTION_MAX_LISTS = 4 };

/* Glob-lists to try. Initialise to zero; free with deinit. */
struct tg_suggestion_lists {
    size_t count;
    char *lists[TG_SUGGESTION_MAX_LISTS]; /* each once, none empty */
    size_t wanted;                        /* dlopened libraries that hold a breakpoint wanted, or may */
    bool colon;                           /* a name has a ':', which no pattern can hold: `?` stands for it */
};

void tg_suggestion_lists_deinit(struct tg_suggestion_lists *lists);

/* SURVEY must be finished. No list at all where no dlopened library matters. */
struct tg_error *tg_suggestion_propose(const struct tg_filter_survey *survey,
                                       struct tg_suggestion_lists *lists);

/* A pattern that matches exactly the name TEXT (but for ':', see above). Owned by the caller; NULL: no
 * memory. */
char *tg_suggestion_escape(const char *text);

/* One replayed setting. */
struct tg_suggestion_trial {
    enum tg_filter_mode mode;
    const char *match;
    const struct tg_filter_outcome *outcome;
};

/* Index of the best of N trials; Slow must be among them. One qualifies where every breakpoint is planted in time, also in
 * libraries of which it is not known whether they hold one, and no CUDA driver is missed (Slow always does). The cheapest
 * wins, with ROUND_TRIP_NS for each round trip (0: not known); of those within 1% of each other the one with fewer client
 * round trips, which cost a real client more than a recorder; then with fewer patterns, then with the shorter text. */
size_t tg_suggestion_choose(const struct tg_suggestion_trial *trials, size_t n, uint64_t round_trip_ns);

/* The command-line form, quoted for a shell. Owned by the caller; NULL: no memory. */
char *tg_suggestion_command_line(enum tg_filter_mode mode, const char *match);

/* A setting in the forms that are there to be copied; owned. */
struct tg_suggestion_texts {
    char *settings; /* lines of a settings file */
    char *command_line;
};

/* Only error: NO_MEMORY, and TEXTS need no deinit. */
struct tg_error *tg_suggestion_texts_make(enum tg_filter_mode mode, const char *match,
                                          struct tg_suggestion_texts *texts);
void tg_suggestion_texts_deinit(struct tg_suggestion_texts *texts);

#endif
