#include "recorder/mpir/hosts.h"

#include "format/base/array.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>

enum { MAX_NAMES = 1024, MAX_LINES = 65536 };

struct tg_mpir_hosts {
    char **names; /* host names, and addresses as inet_ntop writes them */
    size_t count;
};

static bool has(const struct tg_mpir_hosts *hosts, const char *name)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (strcasecmp(hosts->names[i], name) == 0)
            return true;
    return false;
}

bool tg_mpir_hosts_add(struct tg_mpir_hosts *hosts, const char *name)
{
    if (name[0] == '\0' || hosts->count == MAX_NAMES || has(hosts, name))
        return true;
    char *copy = strdup(name);
    if (copy != NULL && TG_ARRAY_APPEND_EXACT(hosts->names, hosts->count, copy) == NULL)
        return true;
    free(copy);
    return false;
}

static bool write_address(const struct sockaddr *address, char text[INET6_ADDRSTRLEN])
{
    if (address == NULL)
        return false;
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->sa_family == AF_INET)
        return inet_ntop(AF_INET, &four->sin_addr, text, INET6_ADDRSTRLEN) != NULL;
    return address->sa_family == AF_INET6 &&
           inet_ntop(AF_INET6, &six->sin6_addr, text, INET6_ADDRSTRLEN) != NULL;
}

/* The functions from here on return false without memory. */
static bool add_addresses(struct tg_mpir_hosts *hosts)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return true; /* names will have to do */
    bool ok = true;
    char text[INET6_ADDRSTRLEN];
    for (const struct ifaddrs *at = all; ok && at != NULL; at = at->ifa_next)
        if (write_address(at->ifa_addr, text))
            ok = tg_mpir_hosts_add(hosts, text);
    freeifaddrs(all);
    return ok;
}

static bool is_loopback(const char *text)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, text, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool tg_mpir_hosts_add_line(struct tg_mpir_hosts *hosts, char *line)
{
    char *rest = line, *word;
    bool ok = true;
    line[strcspn(line, "#\n")] = '\0';
    const char *address = strtok_r(rest, " \t", &rest);
    if (address == NULL || (!is_loopback(address) && !has(hosts, address)))
        return true;
    while (ok && (word = strtok_r(NULL, " \t", &rest)) != NULL)
        ok = tg_mpir_hosts_add(hosts, word);
    return ok;
}

static bool add_aliases(struct tg_mpir_hosts *hosts)
{
    FILE *file = fopen("/etc/hosts", "re");
    bool ok = true;
    char *line = NULL;
    size_t size = 0;
    if (file == NULL)
        return true;
    for (int i = 0; i < MAX_LINES && ok && getline(&line, &size, file) > 0; i++)
        ok = tg_mpir_hosts_add_line(hosts, line);
    free(line);
    fclose(file);
    return ok;
}

struct tg_mpir_hosts *tg_mpir_hosts_create(void)
{
    struct utsname name;
    struct tg_mpir_hosts *made = calloc(1, sizeof *made);
    if (made != NULL && tg_mpir_hosts_add(made, "localhost") &&
        (uname(&name) != 0 || tg_mpir_hosts_add(made, name.nodename)) && add_addresses(made) &&
        add_aliases(made))
        return made;
    tg_mpir_hosts_destroy(made);
    return NULL;
}

void tg_mpir_hosts_destroy(struct tg_mpir_hosts *hosts)
{
    if (hosts == NULL)
        return;
    for (size_t i = 0; i < hosts->count; i++)
        free(hosts->names[i]);
    free(hosts->names);
    free(hosts);
}

static bool is_address(const char *text)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* "node1" and "node1.example.org" are one, "node1.a" and "node1.b" are two. */
static bool is_short_of(const char *a, const char *b)
{
    size_t length = strcspn(a, ".");
    return length == strcspn(b, ".") && strncasecmp(a, b, length) == 0 &&
           (a[length] == '\0' || b[length] == '\0');
}

bool tg_mpir_hosts_is_local(const struct tg_mpir_hosts *hosts, const char *name)
{
    if (name[0] == '\0')
        return false;
    if (has(hosts, name) || is_loopback(name))
        return true;
    for (size_t i = 0; i < hosts->count && !is_address(name); i++)
        if (!is_address(hosts->names[i]) && is_short_of(hosts->names[i], name))
            return true;
    return false;
}
