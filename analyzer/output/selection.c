#include "analyzer/output/selection.h"

#include "format/base/array.h"
#include "format/base/near_name.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANGES = 100000 };

void tg_selection_deinit(struct tg_selection *selection)
{
    free(selection->kinds);
    free(selection->pids);
    free(selection->ranks);
    free(selection->chosen);
    tg_error_destroy(selection->error);
    *selection = (struct tg_selection){0};
}

/* The next word of a comma-separated list in WORD (owned by the caller); *LIST moves on, NULL after the
 * last. */
static struct tg_error *next_word(const char **list, char **word)
{
    const char *comma = strchrnul(*list, ',');
    *word = strndup(*list, (size_t)(comma - *list));
    *list = *comma == ',' ? comma + 1 : NULL;
    return *word == NULL ? tg_error_no_memory() : NULL;
}

static void free_word(char **word)
{
    free(*word);
}

static struct tg_error *refuse_kind(const char *word)
{
    struct tg_near_name near;
    char hint[TG_NEAR_NAME_HINT];
    tg_near_name_init(&near, word);
    for (size_t i = 0; i < tg_event_kind_count(); i++)
        tg_near_name_offer(&near, tg_event_kind_name(tg_event_kind_at(i)));
    if (near.best != NULL)
        return tg_error_create(TG_ERROR_USAGE, "--kind: unknown kind '%s'%s", word,
                               tg_near_name_hint(&near, hint));
    char *names = strdup("");
    for (size_t i = 0; names != NULL && i < tg_event_kind_count(); i++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s", names, i == 0 ? "" : ", ", tg_event_kind_name(tg_event_kind_at(i))) <
            0)
            longer = NULL;
        free(names);
        names = longer;
    }
    struct tg_error *error = tg_error_create(
        TG_ERROR_USAGE, "--kind: unknown kind '%s'; use one of %s, or a glob like 'library_*'", word,
        names == NULL ? "" : names);
    free(names);
    return error;
}

struct tg_error *tg_selection_add_kinds(struct tg_selection *selection, const char *list)
{
    if (selection->kinds == NULL) {
        selection->kinds = calloc(tg_event_kind_count(), sizeof *selection->kinds);
        if (selection->kinds == NULL)
            return tg_error_no_memory();
    }
    while (list != NULL) {
        __attribute__((cleanup(free_word))) char *word = NULL;
        struct tg_error *error = next_word(&list, &word);
        if (error != NULL)
            return error;
        bool found = false;
        for (size_t i = 0; i < tg_event_kind_count(); i++)
            if (fnmatch(word, tg_event_kind_name(tg_event_kind_at(i)), 0) == 0)
                found = selection->kinds[i] = true;
        if (!found)
            return refuse_kind(word);
    }
    return NULL;
}

static bool parse_number(const char **text, int64_t *number)
{
    if (**text < '0' || **text > '9')
        return false;
    char *end;
    errno = 0;
    *number = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static struct tg_error *add_ranges(const char *option, const char *what, const char *list,
                                   struct tg_number_range **ranges, size_t *count)
{
    while (list != NULL) {
        __attribute__((cleanup(free_word))) char *word = NULL;
        struct tg_error *error = next_word(&list, &word);
        if (error != NULL)
            return error;
        struct tg_number_range range;
        const char *rest = word;
        bool ok = parse_number(&rest, &range.first);
        range.last = range.first;
        if (ok && *rest == '-') {
            rest++;
            ok = parse_number(&rest, &range.last) && range.first <= range.last;
        }
        if (!ok || *rest != '\0')
            return tg_error_create(TG_ERROR_USAGE, "%s: invalid %s '%s'; give numbers like 3 or 0-7,12",
                                   option, what, word);
        if (*count == MAX_RANGES)
            return tg_error_create(TG_ERROR_LIMIT, "%s: more than %d numbers; give ranges like 0-7", option,
                                   (int)MAX_RANGES);
        error = TG_ARRAY_APPEND_EXACT(*ranges, *count, range);
        if (error != NULL)
            return error;
    }
    return NULL;
}

struct tg_error *tg_selection_add_pids(struct tg_selection *selection, const char *list)
{
    return add_ranges("--pid", "process id", list, &selection->pids, &selection->n_pids);
}

struct tg_error *tg_selection_add_ranks(struct tg_selection *selection, const char *list)
{
    return add_ranges("--rank", "rank", list, &selection->ranks, &selection->n_ranks);
}

static uint64_t unit_ns(const char *unit)
{
    if (*unit == '\0' || strcmp(unit, "s") == 0)
        return 1000000000;
    if (strcmp(unit, "ms") == 0)
        return 1000000;
    if (strcmp(unit, "us") == 0)
        return 1000;
    return strcmp(unit, "ns") == 0 ? 1 : 0;
}

struct tg_error *tg_selection_parse_time(const char *text, uint64_t *time_ns)
{
    const char *unit = text + strspn(text, "0123456789.");
    uint64_t scale = unit_ns(unit), whole = 0, fraction = 0;
    bool ok = scale != 0 && unit != text, seen_point = false, digits = false;
    uint64_t digit_ns = scale; /* value of a 1 at the next decimal place */
    for (const char *c = text; ok && c < unit; c++) {
        if (*c == '.') {
            ok = !seen_point;
            seen_point = true;
            continue;
        }
        uint64_t digit = (uint64_t)(*c - '0');
        digits = true;
        if (seen_point) {
            digit_ns /= 10;
            fraction += digit * digit_ns;
        } else {
            ok = !__builtin_mul_overflow(whole, 10, &whole) && !__builtin_add_overflow(whole, digit, &whole);
        }
    }
    ok = ok && digits && !__builtin_mul_overflow(whole, scale, &whole) &&
         !__builtin_add_overflow(whole, fraction, &whole);
    if (!ok)
        return tg_error_create(TG_ERROR_USAGE,
                               "invalid time '%s'; give seconds like 1.5, or a number with s, ms, us or ns",
                               text);
    *time_ns = whole;
    return NULL;
}

enum { KEY_PID = 'p', KEY_RANK = 'r', KEY_FROM = 0x100, KEY_TO };

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct tg_selection *selection = state->input;
    struct tg_error *error = NULL;
    switch (key) {
    case KEY_PID:
        error = tg_selection_add_pids(selection, argument);
        break;
    case KEY_RANK:
        error = tg_selection_add_ranks(selection, argument);
        break;
    case KEY_FROM:
        error = tg_error_prefix(tg_selection_parse_time(argument, &selection->from_ns), "--from");
        selection->has_from = true;
        break;
    case KEY_TO:
        error = tg_error_prefix(tg_selection_parse_time(argument, &selection->to_ns), "--to");
        selection->has_to = true;
        break;
    case ARGP_KEY_END:
        if (selection->has_from && selection->has_to && selection->from_ns > selection->to_ns)
            error = tg_error_create(TG_ERROR_USAGE, "--from is later than --to");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (error == NULL)
        return 0;
    tg_error_destroy(selection->error);
    selection->error = error;
    return EINVAL;
}

static const struct argp_option options[] = {
    {"pid", KEY_PID, "PID[,PID...]", 0, "Only these processes (numbers and ranges like 100-120)", 1},
    {"rank", KEY_RANK, "RANK[,RANK...]", 0, "Only the processes of these ranks (numbers and ranges like 0-7)",
     1},
    {"from", KEY_FROM, "TIME", 0,
     "Only from TIME on: seconds after the start of the trace, or with a unit: s, ms, us, ns", 1},
    {"to", KEY_TO, "TIME", 0, "Only up to TIME", 1},
    {0},
};

const struct argp tg_selection_argp = {.options = options, .parser = parse_option};

void tg_selection_start(struct tg_selection *selection, uint64_t start_ns)
{
    if (__builtin_add_overflow(start_ns, selection->from_ns, &selection->from_ns))
        selection->from_ns = UINT64_MAX;
    if (__builtin_add_overflow(start_ns, selection->to_ns, &selection->to_ns))
        selection->to_ns = UINT64_MAX;
}

struct tg_error *tg_selection_check_end(const struct tg_selection *selection, uint64_t start_ns,
                                        uint64_t end_ns)
{
    if (!selection->has_from || selection->from_ns <= end_ns)
        return NULL;
    return tg_error_create(TG_ERROR_USAGE,
                           "--from %.9g s: the trace ends at %.9g s, nothing of it is selected",
                           (double)(selection->from_ns - start_ns) / 1e9, (double)(end_ns - start_ns) / 1e9);
}

static bool in_ranges(const struct tg_number_range *ranges, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (number >= ranges[i].first && number <= ranges[i].last)
            return true;
    return false;
}

/* A rank's own children, and the shell that started it, belong to it. */
static int64_t claimed_rank(const struct tg_process_entry *entry)
{
    return entry->claim.is_made ? entry->claim.number : -1;
}

/* A range of LIST that no process is in is a mistake: an empty answer would hide it. */
static struct tg_error *check_ranges(const struct tg_number_range *ranges, size_t count, bool is_rank,
                                     const struct tg_process_model *model)
{
    for (size_t i = 0; i < count; i++) {
        bool found = !is_rank && ranges[i].first <= 0 && ranges[i].last >= 0; /* the recorder itself */
        int64_t least = INT64_MAX, greatest = INT64_MIN;
        for (size_t j = 0; j < tg_process_model_count(model); j++) {
            const struct tg_process_entry *entry = tg_process_model_at(model, j);
            int64_t number = is_rank ? claimed_rank(entry) : entry->pid;
            if (number < 0)
                continue;
            found |= in_ranges(&ranges[i], 1, number);
            least = number < least ? number : least;
            greatest = number > greatest ? number : greatest;
        }
        if (found)
            continue;
        const char *option = is_rank ? "--rank" : "--pid", *noun = is_rank ? "rank" : "process id";
        if (greatest < least)
            return tg_error_create(TG_ERROR_USAGE, "%s: no process in the trace has a %s", option, noun);
        return tg_error_create(TG_ERROR_USAGE,
                               "%s: no process in the trace has %s %" PRId64 "; %ss range from %" PRId64
                               " to %" PRId64,
                               option, noun, ranges[i].first, noun, least, greatest);
    }
    return NULL;
}

struct tg_error *tg_selection_choose(struct tg_selection *selection, const struct tg_process_model *model)
{
    struct tg_error *error = check_ranges(selection->ranks, selection->n_ranks, true, model);
    if (error == NULL)
        error = check_ranges(selection->pids, selection->n_pids, false, model);
    if (error != NULL || selection->n_ranks == 0)
        return error;
    size_t count = tg_process_model_count(model);
    bool *chosen = calloc(count + 1, sizeof *chosen);
    if (chosen == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        chosen[i] =
            in_ranges(selection->ranks, selection->n_ranks, claimed_rank(tg_process_model_at(model, i)));
    free(selection->chosen);
    selection->chosen = chosen;
    selection->n_chosen = count;
    return NULL;
}

bool tg_selection_limits_processes(const struct tg_selection *selection)
{
    return selection->n_pids > 0 || selection->n_ranks > 0;
}

bool tg_selection_admits_time(const struct tg_selection *selection, uint64_t time_ns)
{
    return (!selection->has_from || time_ns >= selection->from_ns) &&
           (!selection->has_to || time_ns <= selection->to_ns);
}

bool tg_selection_admits_kind(const struct tg_selection *selection, enum tg_event_kind kind)
{
    if (selection->kinds == NULL)
        return true;
    size_t place = tg_event_kind_place(kind);
    return place != SIZE_MAX && selection->kinds[place];
}

bool tg_selection_admits_process(const struct tg_selection *selection, const struct tg_process_entry *entry)
{
    if (!tg_selection_limits_processes(selection))
        return true;
    if (entry == NULL)
        return false;
    if (in_ranges(selection->pids, selection->n_pids, entry->pid))
        return true;
    if (selection->chosen != NULL)
        return entry->index < selection->n_chosen && selection->chosen[entry->index];
    return in_ranges(selection->ranks, selection->n_ranks, claimed_rank(entry));
}
