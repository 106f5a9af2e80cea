/* Leagues of teams on the host, and calls for devices: zones around the runtime's calls, nothing of what
 * happens on a device. Where a device's code runs on the host, its constructs are seen as any other. */
#include "recorder/agent/gomp/gomp.h"

#define ZONE(name, zone, parameters, arguments)                                                              \
    void name parameters                                                                                     \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (!tg_gomp_records(gomp)) {                                                                        \
            gomp->name arguments;                                                                            \
            return;                                                                                          \
        }                                                                                                    \
        const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                   \
        tg_openmp_zone_begin(0, code, TG_OMP_WRAPPED, TG_OMP_ZONE_##zone, TG_OMP_SCHEDULE_NONE, 0);          \
        gomp->name arguments;                                                                                \
        tg_openmp_zone_end(0, code, TG_OMP_WRAPPED, TG_OMP_ZONE_##zone);                                     \
    }

ZONE(GOMP_teams_reg, TEAMS,
     (tg_gomp_body * body, void *data, unsigned n_teams, unsigned thread_limit, unsigned flags),
     (body, data, n_teams, thread_limit, flags))
ZONE(GOMP_target, TARGET,
     (int device, tg_gomp_body *body, const void *unused, size_t n_maps, void **addresses, size_t *sizes,
      unsigned char *kinds),
     (device, body, unused, n_maps, addresses, sizes, kinds))
ZONE(GOMP_target_ext, TARGET,
     (int device, tg_gomp_body *body, size_t n_maps, void **addresses, size_t *sizes, unsigned short *kinds,
      unsigned flags, void **depends, void **arguments),
     (device, body, n_maps, addresses, sizes, kinds, flags, depends, arguments))
ZONE(GOMP_target_data, TARGET,
     (int device, const void *unused, size_t n_maps, void **addresses, size_t *sizes, unsigned char *kinds),
     (device, unused, n_maps, addresses, sizes, kinds))
ZONE(GOMP_target_data_ext, TARGET,
     (int device, size_t n_maps, void **addresses, size_t *sizes, unsigned short *kinds),
     (device, n_maps, addresses, sizes, kinds))
ZONE(GOMP_target_end_data, TARGET, (void), ())
ZONE(GOMP_target_update, TARGET,
     (int device, const void *unused, size_t n_maps, void **addresses, size_t *sizes, unsigned char *kinds),
     (device, unused, n_maps, addresses, sizes, kinds))
ZONE(GOMP_target_update_ext, TARGET,
     (int device, size_t n_maps, void **addresses, size_t *sizes, unsigned short *kinds, unsigned flags,
      void **depends),
     (device, n_maps, addresses, sizes, kinds, flags, depends))
ZONE(GOMP_target_enter_exit_data, TARGET,
     (int device, size_t n_maps, void **addresses, size_t *sizes, unsigned short *kinds, unsigned flags,
      void **depends),
     (device, n_maps, addresses, sizes, kinds, flags, depends))
