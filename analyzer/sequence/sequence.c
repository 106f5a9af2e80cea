#include "analyzer/sequence/sequence.h"

#include <stdlib.h>

void tg_sequence_destroy(struct tg_sequence *sequence)
{
    if (sequence == NULL)
        return;
    tg_sequence_list_deinit(&sequence->list);
    tg_string_pool_deinit(&sequence->names);
    free(sequence->lanes);
    free(sequence);
}
