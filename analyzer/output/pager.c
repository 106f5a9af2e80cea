#include "analyzer/output/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 }; /* exit statuses of a shell */

struct tg_pager {
    char *command;
    pid_t pid;
    struct sigaction interrupt, quit; /* as they were */
};

static bool is_in_path(const char *name)
{
    char path[4096];
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        int length = (int)strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", length, at, name);
        if (access(path, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* The command for a shell, NULL: no pager. */
static const char *find_command(void)
{
    const char *command = getenv("TOLLGATE_PAGER"), *terminal = getenv("TERM");
    if (command == NULL)
        command = getenv("PAGER");
    if (command == NULL && (terminal == NULL || strcmp(terminal, "dumb") == 0 || !is_in_path("less")))
        return NULL;
    if (command == NULL)
        command = "less";
    return *command == '\0' || strcmp(command, "cat") == 0 ? NULL : command;
}

/* In the child: only async-signal-safe calls would be needed beside threads, and there are none here. */
static void become_pager(const char *command, int input)
{
    dup2(input, STDIN_FILENO);
    signal(SIGPIPE, SIG_DFL);
    setenv("LESS", "FRX", 0);
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(NOT_FOUND);
}

struct tg_error *tg_pager_open(int *fd, struct tg_pager **pager)
{
    const char *command = find_command();
    int ends[2];
    *pager = NULL;
    if (command == NULL)
        return NULL;
    struct tg_pager *created = calloc(1, sizeof *created);
    if (created == NULL || (created->command = strdup(command)) == NULL) {
        free(created);
        return tg_error_no_memory();
    }
    struct tg_error *error = NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error = tg_error_create_errno(errno, "cannot start the pager '%s'", command);
    } else {
        created->pid = fork();
        if (created->pid == 0)
            become_pager(command, ends[0]);
        if (created->pid < 0)
            error = tg_error_create_errno(errno, "cannot start the pager '%s'", command);
        close(ends[0]);
    }
    if (error != NULL) {
        if (created->pid < 0)
            close(ends[1]);
        free(created->command);
        free(created);
        return error;
    }
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_IGN}, &created->interrupt);
    sigaction(SIGQUIT, &(struct sigaction){.sa_handler = SIG_IGN}, &created->quit);
    *fd = ends[1];
    *pager = created;
    return NULL;
}

struct tg_error *tg_pager_close(struct tg_pager *pager)
{
    if (pager == NULL)
        return NULL;
    int status = 0;
    while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &pager->interrupt, NULL);
    sigaction(SIGQUIT, &pager->quit, NULL);
    struct tg_error *error = NULL;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == NOT_FOUND || WEXITSTATUS(status) == NOT_EXECUTABLE))
        error =
            tg_error_create(TG_ERROR_TARGET,
                            "cannot run the pager '%s': set TOLLGATE_PAGER to another one, or use --no-pager",
                            pager->command);
    free(pager->command);
    free(pager);
    return error;
}
