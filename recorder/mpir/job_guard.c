#include "recorder/mpir/job_guard.h"

#include "recorder/process/environment.h"
#include "recorder/process/guard_process.h"
#include "recorder/process/pidfd.h"
#include "recorder/process/proc_status.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    JOB_BYTES = 64, /* size of a packet */
    LOOKS = 20,     /* looks at all processes: a launch may be under way */
    LOOK_NS = 100000000,
};

struct tg_mpir_job_guard {
    int told; /* our end of the socket */
    char job[JOB_BYTES];
};

/* ---- in the guard's process */

/* JOB is as is_job has it. */
static bool is_of_job(pid_t pid, const char *job)
{
    struct tg_environment environment = {0};
    if (!tg_environment_read(pid, &environment))
        return false;
    const char *of_job = tg_environment_get(&environment, "SLURM_JOB_ID");
    const char *of_step = tg_environment_get(&environment, "SLURM_STEP_ID");
    size_t length = of_job == NULL ? 0 : strlen(of_job);
    bool is = length > 0 && of_step != NULL && strncmp(job, of_job, length) == 0 && job[length] == '.' &&
              strcmp(job + length + 1, of_step) == 0;
    tg_environment_deinit(&environment);
    return is;
}

static void end_if_stopped(pid_t pid, const char *job)
{
    struct tg_proc_status status;
    int fd = tg_pidfd_open(pid); /* before looking: what is signalled is what was looked at */
    if (fd < 0)
        return;
    if (tg_proc_status_read(pid, &status) && status.state == 'T' && status.tracer == 0 && is_of_job(pid, job))
        tg_pidfd_send_signal(fd, SIGKILL);
    close(fd);
}

static void end_stopped(const char *job)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            end_if_stopped(atoi(entry->d_name), job);
    if (folder != NULL)
        closedir(folder);
}

/* Ends the rest of JOB after the recorder. */
static void clean_up(int line, const char *scancel, char *job)
{
    sigset_t none;
    for (int i = 0; i < LOOKS; i++) {
        end_stopped(job);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(line);
    execl(scancel, "scancel", "--quiet", job, (char *)NULL);
}

static void keep_guard(int line, void *scancel)
{
    char job[JOB_BYTES] = "", next[JOB_BYTES];
    ssize_t n;
    while ((n = read(line, next, sizeof next)) != 0) {
        if (n == (ssize_t)sizeof next)
            memcpy(job, next, sizeof job);
        else if (n > 0 || errno != EINTR)
            return;
    }
    if (job[0] != '\0')
        clean_up(line, scancel, job);
}

/* ---- in the recorder */

static bool is_job(const char *job)
{
    size_t of_job = strspn(job, "0123456789");
    size_t of_step = job[of_job] == '.' ? strspn(job + of_job + 1, "0123456789") : 0;
    return of_job > 0 && of_step > 0 && job[of_job + 1 + of_step] == '\0' && strlen(job) < JOB_BYTES;
}

static void find_scancel(pid_t starter, char path[PATH_MAX])
{
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)starter);
    ssize_t length = readlink(link, path, PATH_MAX - sizeof "scancel");
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    strcpy(slash == NULL ? path : slash + 1, "scancel");
}

struct tg_error *tg_mpir_job_guard_create(pid_t starter, struct tg_mpir_job_guard **guard)
{
    char scancel[PATH_MAX];
    struct tg_mpir_job_guard *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    find_scancel(starter, scancel);
    struct tg_error *error = tg_guard_process_start(keep_guard, scancel, &made->told);
    if (error != NULL) {
        free(made);
        return error;
    }
    *guard = made;
    return NULL;
}

static void say(struct tg_mpir_job_guard *guard, const char *job)
{
    snprintf(guard->job, sizeof guard->job, "%s", job);
    char packet[JOB_BYTES] = "";
    memcpy(packet, guard->job, strlen(guard->job));
    /* an error means that the guard was killed: there is nobody to tell */
    ssize_t sent = send(guard->told, packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
}

void tg_mpir_job_guard_tell(struct tg_mpir_job_guard *guard, const char *job)
{
    if (is_job(job) && strcmp(guard->job, job) != 0)
        say(guard, job);
}

void tg_mpir_job_guard_destroy(struct tg_mpir_job_guard *guard)
{
    if (guard == NULL)
        return;
    say(guard, "");
    close(guard->told);
    free(guard);
}
