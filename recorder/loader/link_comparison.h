/* The whole list of a namespace, compared with what is known of it. */
#ifndef TG_RECORDER_LOADER_LINK_COMPARISON_H
#define TG_RECORDER_LOADER_LINK_COMPARISON_H

#include "recorder/loader/link_node.h"
#include "recorder/loader/link_space.h"

/* A namespace's list in a process, and where what is found goes. */
struct tg_link_list {
    pid_t pid;
    size_t word;  /* 8 or 4 */
    bool is_base; /* the list's first object is the program */
    const struct tg_link_window *ahead;
    struct tg_link_space *space;
    struct tg_link_change *change;
};

/* Compares the list that begins at ADDRESS with LIST's space, which becomes that list; notes what was added and removed. Where
 * it cannot be followed to its end nothing is concluded. */
void tg_link_list_compare(const struct tg_link_list *list, uint64_t address, struct tg_link_delta *delta);

#endif
