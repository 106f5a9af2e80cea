/* A rank that says who it is: "rank 2 of 4: pid 1234 on node1". Built with a compiler of MPI (-DWITH_MPI) it
 * asks MPI, else the variables of srun.
 *
 * usage: launched_rank [FILE|- [STATUS]]     waits until there is FILE in the current directory; rank 0's
 * exit status */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

/* Returns when there is a file NAME in the current directory. */
static void wait_for_file(const char *name)
{
    char event[4096];
    int inotify = inotify_init1(IN_CLOEXEC);
    if (inotify < 0 || inotify_add_watch(inotify, ".", IN_CREATE | IN_MOVED_TO) < 0)
        exit(3);
    while (access(name, F_OK) != 0)
        if (read(inotify, event, sizeof event) < 0)
            exit(3);
    close(inotify);
}

int main(int argc, char **argv)
{
    char host[256] = "";
    int rank, size;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#else
    const char *rank_text = getenv("SLURM_PROCID"), *size_text = getenv("SLURM_NTASKS");
    rank = rank_text == NULL ? -1 : atoi(rank_text);
    size = size_text == NULL ? -1 : atoi(size_text);
#endif
    gethostname(host, sizeof host - 1);
    printf("rank %d of %d: pid %d on %s\n", rank, size, (int)getpid(), host);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "-") != 0)
        wait_for_file(argv[1]);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return rank == 0 && argc > 2 ? atoi(argv[2]) : 0;
}
