#include "recorder/record/command.h"

#include "format/base/printable.h"
#include "format/base/shell_quote.h"
#include "recorder/process/wait_status.h"
#include "recorder/record/calibrate.h"
#include "recorder/record/front.h"
#include "recorder/record/options.h"
#include "recorder/record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

/* ---- signals to the recorder */

/* State that the signal handler needs, the one mutable global. A signal that comes before there is a
 * process to pass it on to is kept in EARLY. */
static struct {
    struct tg_recording *volatile attached; /* end this recording by detaching */
    volatile sig_atomic_t pid;              /* id of the command, 0 not there yet */
    volatile sig_atomic_t early;
} target;

/* A signal from the terminal goes to the whole foreground group: the command has it already, and the recorder
 * only waits for what the command makes of it. One sent to the recorder alone is passed on. */
static void on_end_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (target.attached != NULL)
        tg_recording_request_stop(target.attached);
    else if (info->si_code <= 0 && target.pid != 0)
        kill((pid_t)target.pid, signal);
    else if (info->si_code <= 0)
        target.early = signal;
    errno = saved;
}

static void on_pipe_signal(int signal)
{
    (void)signal; /* a reader of our messages has gone: writes fail with EPIPE, and that is all */
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
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static const int others[] = {SIGUSR1, SIGUSR2, SIGXCPU,
                                 SIGALRM}; /* signals that would end this process */
    struct sigaction end = {.sa_sigaction = on_end_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction pipe = {.sa_handler = on_pipe_signal, .sa_flags = SA_RESTART};
    target.attached = attached ? recording : NULL;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        install(signals[i], &end);
    for (size_t i = 0; attached && i < sizeof others / sizeof others[0]; i++)
        install(others[i], &end);
    install(SIGPIPE, &pipe);
}

static void set_command(pid_t pid)
{
    target.pid = (sig_atomic_t)pid;
    if (target.early != 0)
        kill(pid, target.early);
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
    if (summary->lost_events > 0)
        fprintf(stderr, "; %" PRIu64 " events LOST", summary->lost_events);
    if (summary->losses > 0)
        fprintf(stderr, "; %" PRIu64 " loss%s noted (see tollgate report)", summary->losses,
                summary->losses == 1 ? "" : "es");
    fputc('\n', stderr);
}

/* The command to type next. */
static void print_next(const struct tg_record_options *options, const struct tg_recording_summary *summary)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s", options->trace, summary->complete ? "" : ".incomplete") < 0)
        return;
    fprintf(stderr, "tollgate: next: tollgate %s ", summary->complete ? "report" : "recover");
    tg_shell_quote_write_path(stderr, path);
    fputc('\n', stderr);
    free(path);
}

/* ---- the command */

/* An sattach that was launched for its table alone ends with the recording; its step does not. */
static void end_sattach(const struct tg_record_options *options, int pidfd)
{
    if (options->sattach[0] != NULL && pidfd >= 0)
        pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
}

/* The process in front was killed. */
static void end_recording(void *context)
{
    tg_recording_request_stop(context);
}

/* FRONT is NULL where nothing is attached. */
static struct tg_error *record(const struct tg_record_options *options, struct tg_front *front,
                               struct tg_recording **recording, int *status,
                               struct tg_recording_summary *summary)
{
    struct tg_stop_cost cost = {0};
    /* tracing fails where calibration does, and says more about why */
    if (!options->no_ptrace)
        tg_error_destroy(tg_calibrate_stop_cost(&cost));
    struct tg_error *error = tg_recording_create(options, &cost, NULL, recording);
    if (error != NULL)
        return error;
    bool has_job = options->command != NULL && options->sattach[0] == NULL;
    install_handlers(*recording, !has_job);
    pid_t pid;
    if (front != NULL)
        error = tg_front_watch(front, end_recording, *recording);
    if (error == NULL)
        error = tg_recording_start(*recording, &pid);
    if (error != NULL)
        return error;
    int pidfd = has_job || pid == 0 ? -1 : pidfd_open(pid, 0);
    if (pid != 0)
        set_command(pid);
    error = tg_recording_run(*recording, status);
    end_sattach(options, pidfd);
    tg_recording_finish(*recording, summary);
    return error;
}

static int run(int argc, char **argv, const struct tg_command_services *services)
{
    (void)services;
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
    if (options.n_pids > 0)
        error = tg_front_create(&front);
    if (error == NULL)
        error = record(&options, front, &recording, &status, &summary);
    if (error != NULL)
        tg_printable_error(error);
    if (summary.finished && !options.quiet) {
        print_summary(&options, &summary);
        print_next(&options, &summary);
    }
    target.attached = NULL;
    target.pid = 0;
    tg_front_destroy(front);
    tg_recording_destroy(recording);
    tg_record_options_deinit(&options);
    return error != NULL ? tg_error_exit_status(error) : tg_wait_status_end_as(status);
}

const struct tg_command tg_record_command = {
    .name = "record",
    .summary = "run a command, or attach to processes, and write a trace",
    .run = run,
};
