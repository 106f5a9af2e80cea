#include "format/trace/kind_set.h"

#include "format/event/event.h"

enum { WORD_BITS = 64, PLACES = TG_KIND_SET_WORDS * WORD_BITS };

void tg_kind_set_add(struct tg_kind_set *set, unsigned kind)
{
    size_t place = tg_event_kind_place(kind);
    if (place < PLACES)
        set->kinds[place / WORD_BITS] |= UINT64_C(1) << place % WORD_BITS;
    else
        set->is_known = false;
}

bool tg_kind_set_has(const struct tg_kind_set *set, unsigned kind)
{
    size_t place = tg_event_kind_place(kind);
    return place < PLACES && (set->kinds[place / WORD_BITS] >> place % WORD_BITS & 1) != 0;
}

unsigned tg_kind_set_count(const struct tg_kind_set *set)
{
    unsigned count = 0;
    for (size_t i = 0; i < TG_KIND_SET_WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->kinds[i]);
    return count;
}

void tg_kind_set_join(struct tg_kind_set *set, const struct tg_kind_set *part)
{
    for (size_t i = 0; i < TG_KIND_SET_WORDS; i++)
        set->kinds[i] |= part->kinds[i];
    set->is_known = set->is_known && part->is_known;
    set->any_stop = set->any_stop || part->any_stop;
}

bool tg_kind_set_covers(const struct tg_kind_set *set, const struct tg_kind_set *part)
{
    if (!set->is_known)
        return true;
    uint64_t others = 0;
    for (size_t i = 0; i < TG_KIND_SET_WORDS; i++)
        others |= part->kinds[i] & ~set->kinds[i];
    return part->is_known && others == 0 && (set->any_stop || !part->any_stop);
}

bool tg_kind_set_is_wanted(const struct tg_kind_set *set, const struct tg_wanted_kinds *wanted)
{
    if (!set->is_known || set->any_stop || wanted->wants == NULL)
        return true;
    for (size_t i = 0; i < TG_KIND_SET_WORDS; i++)
        for (uint64_t left = set->kinds[i]; left != 0; left &= left - 1) {
            size_t place = i * WORD_BITS + (size_t)__builtin_ctzll(left);
            if (wanted->wants(wanted->context, tg_event_kind_at(place)))
                return true;
        }
    return false;
}
