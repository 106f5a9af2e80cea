/* Words about the ends of processes. */
#ifndef TG_ANALYZER_FINDING_END_WORDS_H
#define TG_ANALYZER_FINDING_END_WORDS_H

#include "analyzer/finding/draft.h"

/* The worker that thread TID of PROCESS is or was; NULL none. */
const struct tg_openmp_worker *tg_end_words_worker(const struct tg_verdict_input *input, size_t process,
                                                   int32_t tid);
/* " It had been in a loop since ...", of thread TID of PROCESS or its WORKER (may be NULL): nothing where that is not
 * known. */
void tg_end_words_state(struct tg_verdict_draft *draft, size_t process, int32_t tid,
                        const struct tg_openmp_worker *worker);
/* " from rank 1", " from kill (pid 77)": PROGRAM may be "" */
void tg_end_words_sender(FILE *stream, const struct tg_verdict_input *input, int64_t pid,
                         const char *program);

#endif
