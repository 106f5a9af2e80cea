#include "recorder/record/command.h"

#include "format/base/printable.h"
#include "recorder/process/pidfd.h"
#include "recorder/process/wait_status.h"
#include "recorder/record/attached_ranks.h"
#include "recorder/record/calibrate.h"
#include "recorder/record/front.h"
#include "recorder/record/options.h"
#include "recorder/record/recording.h"
#include "recorder/record/relay.h"
#include "recorder/record/summary_words.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- signals to the recorder */

/* State that the signal handler needs, the one mutable global. */
static struct {
    struct tg_recording *volatile attached; /* end this recording by detaching */
    struct tg_recording *volatile launched; /* the other kind; NULL none */
    struct tg_relay *volatile relay;        /* of a command, NULL: none */
    volatile int command;                   /* a pidfd of the command, -1: none */
} target = {.command = -1};

static bool asks_to_end(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/* Nobody is left to pass a signal on to: what COMMAND left behind would be waited for without end. */
static bool has_command_ended(void)
{
    return target.command >= 0 && tg_pidfd_send_signal(target.command, 0) != 0 && errno == ESRCH;
}

static void on_end_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (target.attached != NULL)
        tg_recording_request_stop(target.attached);
    else if (target.relay != NULL)
        tg_relay_take(target.relay, signal, info);
    if (target.launched != NULL && asks_to_end(signal)) {
        tg_recording_asked_to_end(target.launched);
        if (has_command_ended())
            tg_recording_request_stop(target.launched);
    }
    errno = saved;
}

static void on_signal_of_our_own(int signal)
{
    (void)
        signal; /* a reader of our messages has gone, or a file may not grow: writes fail, and that is all */
}

/* Handlers, not SIG_IGN: exec turns handlers back, so that nothing of this reaches the command. What was
 * ignored when the recorder was started (nohup) stays ignored, for both. */
static void install(int signal, struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(signal, action, NULL);
}

static void install_handlers(struct tg_recording *recording, bool attached)
{
    /* all that are sent, and would end this process */
    static const int signals[] = {SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGXCPU, SIGVTALRM, SIGPROF, SIGALRM, SIGIO,   SIGPWR};
    struct sigaction end = {.sa_sigaction = on_end_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction own = {.sa_handler = on_signal_of_our_own, .sa_flags = SA_RESTART};
    sigfillset(&end.sa_mask); /* in the order in which they came */
    target.attached = attached ? recording : NULL;
    target.launched = attached ? NULL : recording;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        install(signals[i], &end);
    install(SIGPIPE, &own);
    install(SIGXFSZ, &own);
}

/* A signal that the command gets from the recorder is somebody else's. */
static void note_passed(void *context, const struct tg_relayed *relayed)
{
    tg_recording_passes_on(context, relayed->signal, relayed->sender, relayed->name);
}

/* ---- summary */

static void print_size(uint64_t bytes)
{
    if (bytes < 10240)
        fprintf(stderr, "%" PRIu64 " bytes", bytes);
    else if (bytes < UINT64_C(10) << 20)
        fprintf(stderr, "%.1f KiB", (double)bytes / 1024);
    else
        fprintf(stderr, "%.1f MiB", (double)bytes / 1048576);
}

static void print_summary(const struct tg_record_options *options, const struct tg_recording_summary *summary)
{
    fputs("tollgate: ", stderr);
    tg_printable_write(stderr, options->trace);
    if (!summary->complete)
        fputs(".incomplete", stderr);
    fprintf(stderr, ": %" PRIu64 " events from %" PRIu64 " process%s, ", summary->events, summary->processes,
            summary->processes == 1 ? "" : "es");
    print_size(summary->written_bytes);
    tg_summary_words_losses(stderr, summary);
    fputc('\n', stderr);
}

/* ---- the command */

/* An sattach that was launched for its table alone ends with the recording; its step does not. */
static void end_sattach(const struct tg_record_options *options, int pidfd)
{
    if (options->sattach[0] != NULL && pidfd >= 0)
        tg_pidfd_send_signal(pidfd, SIGTERM);
    if (pidfd >= 0)
        close(pidfd);
}

/* The process in front was killed. */
static void end_recording(void *context)
{
    tg_recording_request_stop(context);
}

/* Whether the price of stops belongs into the trace: the loader stops the job. Where nothing does, `filter` measures it
 * when it is asked for it, and the job need not wait some ten milliseconds for its start. */
static bool wants_price_of_stops(const struct tg_record_options *options)
{
    enum tg_loader_watch watch = options->command != NULL ? options->launched : options->attached;
    return !options->no_ptrace && (watch == TG_LOADER_STOPS || tg_loader_watch_is_by_filter(watch));
}

/* FRONT is NULL where nothing is attached. */
static struct tg_error *record(const struct tg_record_options *options, struct tg_front *front,
                               struct tg_relay **relay, struct tg_recording **recording, int *status,
                               struct tg_recording_summary *summary)
{
    struct tg_stop_cost cost = {0};
    /* tracing fails where calibration does, and says more about why */
    if (wants_price_of_stops(options))
        tg_error_destroy(tg_calibrate_stop_cost(&cost));
    bool has_job = options->command != NULL && options->sattach[0] == NULL;
    /* first of all: the witness is made beside what follows, as a copy of a process that is still small */
    struct tg_error *error = has_job ? tg_relay_create(relay) : NULL;
    if (error == NULL)
        error = tg_recording_create(options, &cost, NULL, recording);
    if (error != NULL)
        return error;
    if (has_job)
        tg_relay_await(*relay, note_passed, *recording);
    target.relay = *relay;
    install_handlers(*recording, !has_job);
    pid_t pid;
    if (front != NULL)
        error = tg_front_watch(front, end_recording, *recording);
    if (error == NULL)
        error = tg_recording_start(*recording, &pid);
    if (error != NULL)
        return error;
    int pidfd = pid == 0 ? -1 : tg_pidfd_open(pid);
    target.command = has_job ? pidfd : -1;
    if (*relay != NULL)
        tg_relay_set_command(*relay, pid);
    error = tg_recording_run(*recording, status);
    target.relay = NULL;
    target.command = -1;
    tg_relay_end(*relay);
    end_sattach(options, pidfd);
    tg_recording_finish(*recording, summary);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    struct tg_record_options options;
    struct tg_recording *recording = NULL;
    struct tg_recording_summary summary = {0};
    int status = 0;
    TG_AUTO_ERROR struct tg_error *error =
        tg_record_options_parse(argc, argv, NULL, tg_printable_message, &options);
    if (error != NULL) {
        tg_printable_error(error);
        return tg_error_exit_status(error);
    }
    struct tg_front *front = NULL;
    struct tg_relay *relay = NULL;
    error = tg_attached_ranks_add(&options, services);
    if (error == NULL && options.n_pids > 0)
        error = tg_front_create(&front);
    if (error == NULL)
        error = record(&options, front, &relay, &recording, &status, &summary);
    if (error != NULL)
        tg_printable_error(error);
    if (summary.finished && !options.quiet) {
        print_summary(&options, &summary);
        tg_summary_words_next(stderr, options.trace, &summary);
    }
    target.attached = NULL;
    target.launched = NULL;
    target.relay = NULL;
    tg_relay_destroy(relay);
    tg_front_destroy(front);
    tg_recording_destroy(recording);
    tg_record_options_deinit(&options);
    return error != NULL ? tg_error_exit_status(error) : tg_wait_status_end_as(status);
}

const struct tg_command tg_record_command = {
    .name = "record",
    .summary = "run a command, or attach to processes, and write a trace",
    .run = run,
    .has_no_columns = true,
};
