#include "recorder/agent/heap/release.h"

#include "recorder/agent/heap/guards.h"
#include "recorder/agent/heap/linked_in.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/objects.h"

static bool allows_mismatch;

void tg_heap_release_allow_mismatch(void)
{
    allows_mismatch = true;
}

bool tg_heap_release_allows_mismatch(void)
{
    return allows_mismatch;
}

const char *tg_heap_release_name(enum tg_heap_release how)
{
    static const char names[][20] = {
        [TG_HEAP_FREE] = "free",
        [TG_HEAP_FREED_BY_REALLOC] = "realloc",
        [TG_HEAP_DELETE] = "operator delete",
        [TG_HEAP_DELETE_ARRAY] = "operator delete[]",
        [TG_HEAP_CFREE] = "cfree",
        [TG_HEAP_FREED_BY_REALLOCARRAY] = "reallocarray",
    };
    return (size_t)how < sizeof names / sizeof names[0] ? names[how] : "";
}

bool tg_heap_release_is_realloc(enum tg_heap_release how)
{
    return how == TG_HEAP_FREED_BY_REALLOC || how == TG_HEAP_FREED_BY_REALLOCARRAY;
}

unsigned char tg_heap_release_alignment_class(size_t alignment)
{
    return (unsigned char)(alignment == 0 ? 0 : 1 + __builtin_ctzl(alignment));
}

/* CALL released ENTRY's block. TOLD_SIZE: it was told that this is the size; 0: nothing is wrong with that. (With a frame of its
 * own: handlers may have small stacks.) */
static __attribute__((noinline)) void tell(const struct tg_heap_block_entry *entry, const char *call,
                                           size_t told_size, const void *frame)
{
    struct tg_heap_mistake mistake =
        tg_heap_guards_mistake(TG_HEAP_MISMATCHED_DEALLOC, entry->block, entry, call);
    mistake.wrong_bytes = told_size;
    tg_heap_note_mistake(&mistake, frame);
}

/* Returns what to call the operator delete, one for blocks of HOW, that released ENTRY's block and was TOLD another alignment
 * than the block's new had; NULL: it was the same. */
static const char *name_of_other_alignment(const struct tg_heap_block_entry *entry, enum tg_heap_release how,
                                           const struct tg_heap_told *told)
{
    static const char names[][2][48] = {
        {"operator delete without an alignment", "operator delete[] without an alignment"},
        {"operator delete with an alignment", "operator delete[] with an alignment"},
        {"operator delete with another alignment", "operator delete[] with another alignment"},
    };
    unsigned char wanted = entry->alignment, given = tg_heap_release_alignment_class(told->alignment);
    if (entry->state != TG_HEAP_BLOCK_LIVE || wanted == given)
        return NULL;
    return names[given == 0 ? 0 : wanted == 0 ? 1 : 2][how == TG_HEAP_DELETE_ARRAY];
}

bool tg_heap_release_is_mismatched(const struct tg_heap_block_entry *entry, enum tg_heap_release how)
{
    bool is_new = entry->call == TG_HEAP_NEW, is_array = entry->call == TG_HEAP_NEW_ARRAY;
    if (allows_mismatch || entry->state == TG_HEAP_BLOCK_UNGUARDED)
        return false;
    return is_new != (how == TG_HEAP_DELETE) || is_array != (how == TG_HEAP_DELETE_ARRAY);
}

/* A block of no bytes may have one. */
static bool is_of_other_size(const struct tg_heap_block_entry *entry, size_t told_size)
{
    return entry->state == TG_HEAP_BLOCK_LIVE && told_size != entry->size &&
           !(told_size <= 1 && entry->size <= 1);
}

/* A library with operators of its own, as one that a C++ library was linked into, may call those where others call the ones that
 * are seen: which of its calls of malloc and free are operators' nobody knows. ENTRY's block is freed HOW, by FRAME's caller. */
static __attribute__((noinline)) bool may_be_operators(const struct tg_heap_block_entry *entry,
                                                       enum tg_heap_release how, const void *frame)
{
    bool is_new = entry->call == TG_HEAP_NEW || entry->call == TG_HEAP_NEW_ARRAY;
    bool is_delete = how == TG_HEAP_DELETE || how == TG_HEAP_DELETE_ARRAY;
    uintptr_t caller = is_new ? ((const uintptr_t *)frame)[1] : entry->caller;
    return is_new != is_delete && !tg_heap_release_is_realloc(how) &&
           tg_heap_object_has_operators((const void *)caller); // NOLINT: an address
}

enum tg_heap_release tg_heap_release_of(enum tg_heap_release how, const struct tg_heap_block_entry *entry,
                                        const void *frame, enum tg_heap_linked_in_form *form)
{
    *form = TG_HEAP_LINKED_IN_NONE;
    if (TG_AGENT_LIKELY(!tg_heap_linked_in) || how != TG_HEAP_FREE)
        return how;
    *form = tg_heap_linked_in_delete(frame);
    switch (*form) {
    case TG_HEAP_LINKED_IN_ONE:
        return TG_HEAP_DELETE;
    case TG_HEAP_LINKED_IN_ARRAY:
        return TG_HEAP_DELETE_ARRAY;
    case TG_HEAP_LINKED_IN_EITHER:
        return entry->call == TG_HEAP_NEW_ARRAY ? TG_HEAP_DELETE_ARRAY : TG_HEAP_DELETE;
    case TG_HEAP_LINKED_IN_UNKNOWN:
        return entry->call == TG_HEAP_NEW         ? TG_HEAP_DELETE
               : entry->call == TG_HEAP_NEW_ARRAY ? TG_HEAP_DELETE_ARRAY
                                                  : TG_HEAP_FREE;
    case TG_HEAP_LINKED_IN_NONE:
        break;
    }
    return how;
}

/* Operators are linked into the program, and one of them has to do with ENTRY's block, or may have: FORM is which one has freed
 * it HOW. Nothing is known of sizes and alignments. Blocks of others may be those of operators that nobody knows. */
static void judge_linked_in(const struct tg_heap_block_entry *entry, enum tg_heap_release how,
                            enum tg_heap_linked_in_form form, const void *frame)
{
    bool is_new = entry->call == TG_HEAP_NEW || entry->call == TG_HEAP_NEW_ARRAY;
    bool is_delete = how == TG_HEAP_DELETE || how == TG_HEAP_DELETE_ARRAY;
    bool is_form_known = form != TG_HEAP_LINKED_IN_EITHER && form != TG_HEAP_LINKED_IN_UNKNOWN &&
                         entry->linked_in != TG_HEAP_LINKED_IN_EITHER;
    bool is_array = entry->call == TG_HEAP_NEW_ARRAY, is_array_delete = how == TG_HEAP_DELETE_ARRAY;
    if (entry->state != TG_HEAP_BLOCK_LIVE || form == TG_HEAP_LINKED_IN_UNKNOWN)
        return;
    if (is_new != is_delete ? !tg_heap_linked_in_is_near(entry->caller) ||
                                  !tg_heap_linked_in_is_near(((const uintptr_t *)frame)[1])
                            : !is_new || !is_form_known || is_array == is_array_delete)
        return;
    tell(entry, tg_heap_release_name(how), 0, frame);
}

void tg_heap_release_judge(const struct tg_heap_block_entry *entry, enum tg_heap_release how,
                           enum tg_heap_linked_in_form form, const struct tg_heap_told *told,
                           const void *frame)
{
    if (TG_AGENT_UNLIKELY(tg_heap_linked_in) &&
        (form != TG_HEAP_LINKED_IN_NONE || entry->linked_in != TG_HEAP_LINKED_IN_NONE ||
         how == TG_HEAP_FREE)) {
        judge_linked_in(entry, how, form, frame);
        return;
    }
    if (allows_mismatch)
        return;
    bool is_operator = how == TG_HEAP_DELETE || how == TG_HEAP_DELETE_ARRAY;
    const char *other = is_operator ? name_of_other_alignment(entry, how, told) : NULL;
    bool is_mismatch = tg_heap_release_is_mismatched(entry, how);
    if (is_mismatch && may_be_operators(entry, how, frame))
        return;
    if (is_mismatch)
        tell(entry, tg_heap_release_name(how), 0, frame);
    else if (other != NULL)
        tell(entry, other, 0, frame);
    else if (told->size != (size_t)TG_HEAP_NOT_TOLD && is_of_other_size(entry, told->size))
        tell(entry, tg_heap_release_name(how), told->size, frame);
}
