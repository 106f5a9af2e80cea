/* A program of somebody else's that reads a trace through the installed library: prints how many events it
 * has. */
#include <format/trace/reader.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct tg_trace_reader *reader;
    struct tg_error *error = argc == 2 ? tg_trace_reader_open(argv[1], &reader) : NULL;
    if (argc != 2 || error != NULL) {
        fprintf(stderr, "%s\n", argc == 2 ? tg_error_message(error) : "usage: count_events TRACE");
        tg_error_destroy(error);
        return 2;
    }
    unsigned long count = 0;
    const struct tg_event *event;
    while ((error = tg_trace_reader_next(reader, &event)) == NULL && event != NULL)
        count++;
    tg_trace_reader_close(reader);
    printf("%lu\n", count);
    tg_error_destroy(error);
    return error != NULL;
}
