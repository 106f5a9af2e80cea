/* Calls by a jump: the callee returns to whom its caller would have returned to. */
#ifndef TG_LIVE_INSPECT_VALUE_TAIL_CALL_H
#define TG_LIVE_INSPECT_VALUE_TAIL_CALL_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Whether CALLED, what a call site names, is for certain FUNCTION, one with code, and was entered by that call alone: not again
 * by a jump from itself, or from one that it has jumped to. False also where debug information does not tell all such jumps. */
bool tg_tail_call_is_only_entry(Dwarf_Die *called, Dwarf_Die *function);

#endif
