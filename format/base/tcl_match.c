#include "format/base/tcl_match.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A pattern is a row of elements that consume one character each, cut into segments by runs of `*`. Within a
 * segment there is nothing to choose, so a match is a search: try a segment at every character after the run
 * before it. The usual argument that only the last run reached needs to be kept (whatever an earlier one
 * could still reach, the later one reaches too) has one hole in Tcl's rules: a set with a range that ends in
 * `]`, as in `[xa-]b*c]`, closes at its first `]` for an x and at its second for a character of the range. So
 * there can be runs of `*` that some ways through the pattern pass by. Up to the first "-]" of the pattern
 * every way meets every run, and one run is kept; from there on all that were reached are. */

/* A run of stars that was reached. */
struct star {
    const char *segment; /* the pattern after it */
    const char *from;    /* the first character of the text that the segment may start at */
};

struct search {
    const char *dominating_end; /* runs up to here replace all earlier ones */
    size_t n_stars;
    struct star stars[TG_TCL_MATCH_MAX_STARS];
};

enum outcome { OUTCOME_FAIL, OUTCOME_MATCH, OUTCOME_STAR };

static bool is_trail(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static uint32_t trail_bits(char byte)
{
    return (unsigned char)byte & 0x3f;
}

static bool is_high_surrogate(uint32_t unit)
{
    return (unit & 0xfffffc00) == 0xd800;
}

/* Reads one UTF-16 unit as Tcl 8.6 does and returns the bytes it took. Bytes out of place, overlong forms
 * (except C0 80, Tcl's NUL) and leads that lack trail bytes stand for themselves. The lead of four bytes
 * gives the high surrogate and takes one byte (two trail bytes suffice for that); three trail bytes behind a
 * high surrogate that they continue give the low one. Never reads past the end NUL: it is no trail byte. */
static size_t decode_unit(const char *s, uint32_t previous, uint32_t *unit)
{
    const uint32_t byte = (unsigned char)s[0];
    *unit = byte;
    if (byte < 0x80 || !is_trail(s[1]))
        return 1;
    if (byte >= 0xc0 && byte < 0xe0) {
        uint32_t value = ((byte & 0x1f) << 6) | trail_bits(s[1]);
        if (value != 0 && value < 0x80)
            return 1;
        *unit = value;
        return 2;
    }
    if (!is_trail(s[2]))
        return 1;
    if (byte < 0xc0) {
        uint32_t high_bits = (trail_bits(s[0]) << 2) | (trail_bits(s[1]) >> 4);
        if (!is_high_surrogate(previous) || high_bits != ((previous + 0x40) & 0xff))
            return 1;
        *unit = 0xdc00 | (((uint32_t)(unsigned char)s[1] & 0x0f) << 6) | trail_bits(s[2]);
        return 3;
    }
    if (byte < 0xf0) {
        uint32_t value = ((byte & 0x0f) << 12) | (trail_bits(s[1]) << 6) | trail_bits(s[2]);
        if (value < 0x800)
            return 1;
        *unit = value;
        return 3;
    }
    uint32_t bits = ((byte & 0x07) << 8) | (trail_bits(s[1]) << 2) | (trail_bits(s[2]) >> 4);
    if (byte < 0xf5 && bits >= 0x40 && bits < 0x440)
        *unit = 0xd800 + (bits - 0x40);
    return 1;
}

/* Reads one character, joining surrogates; returns the bytes it took, 1 at the end NUL. */
static size_t decode(const char *s, uint32_t *character)
{
    if ((unsigned char)*s < 0x80) {
        *character = (unsigned char)*s;
        return 1;
    }
    uint32_t unit;
    size_t length = decode_unit(s, 0, &unit);
    *character = unit;
    if (!is_high_surrogate(unit))
        return length;
    uint32_t low;
    size_t low_length = decode_unit(s + length, unit, &low);
    if ((low & 0xfffffc00) != 0xdc00)
        return length;
    *character = 0x10000 + (((unit & 0x3ff) << 10) | (low & 0x3ff));
    return length + low_length;
}

/* Whether CHARACTER is in the set whose elements start at *PATTERN, just behind the `[`; moves *PATTERN
 * behind the set where it is. */
static bool match_set(const char **pattern, uint32_t character)
{
    const char *p = *pattern;
    for (bool found = false; !found;) {
        if (*p == ']' || *p == '\0')
            return false;
        uint32_t first, last;
        p += decode(p, &first);
        last = first;
        if (*p == '-') {
            p++;
            if (*p == '\0')
                return false;
            p += decode(p, &last);
        }
        found = (first <= character && character <= last) || (last <= character && character <= first);
    }
    const char *close = strchr(p, ']');
    *pattern = close != NULL ? close + 1 : p + strlen(p);
    return true;
}

/* Follows PATTERN and TEXT up to the next run of stars, which it tells by STAR. */
static enum outcome match_segment(const char *pattern, const char *text, struct star *star)
{
    for (;;) {
        if (*pattern == '*') {
            pattern += strspn(pattern, "*");
            *star = (struct star){.segment = pattern, .from = text};
            return *pattern == '\0' ? OUTCOME_MATCH : OUTCOME_STAR;
        }
        if (*pattern == '\0')
            return *text == '\0' ? OUTCOME_MATCH : OUTCOME_FAIL;
        if (*text == '\0')
            return OUTCOME_FAIL;
        uint32_t character, wanted;
        text += decode(text, &character);
        if (*pattern == '?') {
            pattern++;
            continue;
        }
        if (*pattern == '[') {
            pattern++;
            if (!match_set(&pattern, character))
                return OUTCOME_FAIL;
            continue;
        }
        if (*pattern == '\\') {
            pattern++;
            if (*pattern == '\0')
                return OUTCOME_FAIL;
        }
        pattern += decode(pattern, &wanted);
        if (wanted != character)
            return OUTCOME_FAIL;
    }
}

/* Notes that STAR was reached. Returns whether it replaced all others. */
static bool search_reach(struct search *search, struct star star)
{
    if (star.segment <= search->dominating_end) {
        search->stars[0] = star;
        search->n_stars = 1;
        return true;
    }
    for (size_t i = 0; i < search->n_stars; i++) {
        if (search->stars[i].segment != star.segment)
            continue;
        if (star.from < search->stars[i].from)
            search->stars[i].from = star.from;
        return false;
    }
    if (search->n_stars < TG_TCL_MATCH_MAX_STARS)
        search->stars[search->n_stars++] = star;
    return false;
}

/* The first place from TEXT on where SEGMENT may match: where that begins with a plain ASCII character, the
 * next one of these, else TEXT. An ASCII byte is a character of its own wherever it is. */
static const char *next_candidate(const char *segment, const char *text)
{
    const char first = *segment;
    if ((unsigned char)first >= 0x80 || first == '?' || first == '[' || first == '\\')
        return text;
    return strchrnul(text, first);
}

/* The first place of a range that ends in `]`, or the pattern's end. Over-careful: it may not be in a set. */
static const char *first_open_range(const char *pattern)
{
    const char *range = strstr(pattern, "-]");
    return range != NULL ? range : pattern + strlen(pattern);
}

bool tg_tcl_match(const char *pattern, const char *text)
{
    struct star star;
    enum outcome outcome = match_segment(pattern, text, &star);
    if (outcome != OUTCOME_STAR)
        return outcome == OUTCOME_MATCH;

    struct search search; /* the array is filled as far as n_stars says */
    search.dominating_end = first_open_range(pattern);
    search.n_stars = 1;
    search.stars[0] = star;
    text = star.from;
    for (;;) {
        if (search.n_stars == 1)
            text = next_candidate(search.stars[0].segment, text);
        bool replaced = false;
        for (size_t i = 0; i < search.n_stars && !replaced; i++) {
            if (search.stars[i].from > text)
                continue;
            outcome = match_segment(search.stars[i].segment, text, &star);
            if (outcome == OUTCOME_MATCH)
                return true;
            if (outcome == OUTCOME_STAR)
                replaced = search_reach(&search, star);
        }
        if (replaced) {
            text = star.from;
            continue;
        }
        if (*text == '\0')
            return false;
        uint32_t skipped;
        text += decode(text, &skipped);
    }
}

bool tg_tcl_match_accepts(const char *pattern)
{
    size_t runs = 0;
    for (const char *p = first_open_range(pattern); *p != '\0'; p++)
        runs += p[0] == '*' && p[1] != '*';
    return runs < TG_TCL_MATCH_MAX_STARS; /* one place is for the run before the range */
}
