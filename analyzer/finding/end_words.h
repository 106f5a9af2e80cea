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
/* The sentence in place of findings: ABNORMAL processes, at least 1, ended badly or have no end in the trace, RUNNING of them
 * the latter. That alone is no fault of theirs: the recorder may have been killed, or its disk full. */
void tg_end_words_unexplained(uint64_t abnormal, uint64_t running, char *text, size_t size);

#endif
