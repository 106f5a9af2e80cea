/* What is said of a recording that has ended. */
#ifndef TG_RECORDER_RECORD_SUMMARY_WORDS_H
#define TG_RECORDER_RECORD_SUMMARY_WORDS_H

#include "recorder/record/recording.h"

#include <stdio.h>

/* Prints "; 12 events LOST; 1 loss noted (see tollgate report)", nothing where nothing was lost. */
void tg_summary_words_losses(FILE *stream, const struct tg_recording_summary *summary);
/* Prints the line with the command to type next; TRACE as it was asked for, the path of a complete one. */
void tg_summary_words_next(FILE *stream, const char *trace, const struct tg_recording_summary *summary);

#endif
