/* The names that this host goes by. A launcher's table has host names as its own configuration spells them.
 * Nobody is asked over the network: the tracer must not wait. */
#ifndef TG_RECORDER_MPIR_HOSTS_H
#define TG_RECORDER_MPIR_HOSTS_H

#include <stdbool.h>

struct tg_mpir_hosts;

/* Reads the host's name, the addresses of its interfaces, and what /etc/hosts calls those. NULL without
 * memory. */
struct tg_mpir_hosts *tg_mpir_hosts_create(void);
void tg_mpir_hosts_destroy(struct tg_mpir_hosts *hosts); /* NULL is accepted */

/* Whether NAME is this host: one of its names (whatever the case), its short name where either of the two has
 * no domain, "localhost", or one of its addresses. "" is not. */
bool tg_mpir_hosts_is_local(const struct tg_mpir_hosts *hosts, const char *name);

/* For tests: takes NAME for one of this host's, and ADDRESS for an interface's; LINE is of /etc/hosts. False
 * without memory. */
bool tg_mpir_hosts_add(struct tg_mpir_hosts *hosts, const char *name);
bool tg_mpir_hosts_add_line(struct tg_mpir_hosts *hosts, char *line);

#endif
