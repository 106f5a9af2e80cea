/* Mutual exclusion: the order in which threads entered. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 30 };

static long counts[8];
static long double wide;

int main(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long team = log_new();
    tell("parallel @%ld 3", team);
#pragma omp parallel num_threads(3)
    {
        tell_begin(team, 0);
        for (int i = 0; i < ROUNDS; i++) {
            tell_wait("critical", 0);
#pragma omp critical
            {
                tell_enter("critical", 0);
                counts[0]++;
                tell_leave("critical", 0);
            }
            tell_wait("critical_named", 1);
#pragma omp critical(one)
            {
                tell_enter("critical_named", 1);
                counts[1]++;
                tell_wait("critical_named", 2);
#pragma omp critical(two)
                {
                    tell_enter("critical_named", 2);
                    counts[2]++;
                    tell_leave("critical_named", 2);
                }
                tell_leave("critical_named", 1);
            }
            tell_wait("lock", 3);
            omp_set_lock(&lock);
            tell_enter("lock", 3);
            counts[3]++;
            tell_leave("lock", 3);
            omp_unset_lock(&lock);
            if (omp_test_lock(&lock)) {
                tell_enter("lock", 3);
                counts[3]++;
                tell_leave("lock", 3);
                omp_unset_lock(&lock);
            } else {
#pragma omp atomic
                counts[4]++;
            }
            tell_wait("nest_lock", 4);
            omp_set_nest_lock(&nest);
            tell_enter("nest_lock", 4);
            if (omp_test_nest_lock(&nest) != 2)
                counts[7]++;
            tell_enter("nest_lock", 4);
            counts[5]++;
            tell_leave("nest_lock", 4);
            omp_unset_nest_lock(&nest);
            tell_leave("nest_lock", 4);
            omp_unset_nest_lock(&nest);
            tell_wait("atomic", 0);
            tell("enter atomic &0");
            tell("exit atomic &0");
#pragma omp atomic
            wide += 1;
        }
        tell("end");
    }
    tell("end parallel @%ld", team);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("%ld %ld %ld %ld %ld %ld %d\n", counts[0], counts[1], counts[2], counts[3] + counts[4], counts[5],
           counts[7], (int)wide);
    return 0;
}
