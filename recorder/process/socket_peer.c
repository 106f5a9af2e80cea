#include "recorder/process/socket_peer.h"

#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Unix sockets: the kernel's own list says who is connected to whom */

static bool ask_for_unix(int fd, uint32_t inode)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } question = {
        .header = {.nlmsg_len = sizeof question,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_ino = inode,
                    .udiag_show = UDIAG_SHOW_PEER,
                    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    return send(fd, &question, sizeof question, 0) == (ssize_t)sizeof question;
}

static uint64_t peer_in(const struct nlmsghdr *header, size_t size, uint32_t inode)
{
    const struct unix_diag_msg *answer = NLMSG_DATA(header);
    uint32_t peer = 0;
    if (!NLMSG_OK(header, size) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        header->nlmsg_len < NLMSG_LENGTH(sizeof *answer) || answer->udiag_ino != inode)
        return 0;
    const struct rtattr *attribute = (const struct rtattr *)(answer + 1);
    size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof *answer);
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(attribute) == sizeof peer)
            memcpy(&peer, RTA_DATA(attribute), sizeof peer);
    return peer;
}

static uint64_t unix_peer(uint64_t inode)
{
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    uint64_t peer = 0;
    if (inode > UINT32_MAX)
        return 0;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return 0;
    if (ask_for_unix(fd, (uint32_t)inode)) {
        ssize_t size = recv(fd, &answer, sizeof answer, 0);
        if (size > (ssize_t)sizeof answer.header)
            peer = peer_in(&answer.header, (size_t)size, (uint32_t)inode);
    }
    close(fd);
    return peer;
}

/* ---- TCP: the list of the process's network, where both ends of what stays in the machine are */

struct connection {
    char local[48], remote[48]; /* as the list has them */
    uint64_t inode;
};

static bool read_connection(FILE *list, struct connection *connection)
{
    char line[512];
    while (fgets(line, sizeof line, list) != NULL)
        if (sscanf(line, " %*u: %47s %47s %*x %*s %*s %*s %*u %*u %" SCNu64, connection->local,
                   connection->remote, &connection->inode) == 3)
            return true;
    return false;
}

static uint64_t tcp_peer(pid_t pid, const char *name, uint64_t inode)
{
    struct connection own = {.inode = 0}, other;
    char path[48];
    uint64_t peer = 0;
    snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, name);
    FILE *list = fopen(path, "re");
    if (list == NULL)
        return 0;
    while (own.inode != inode && read_connection(list, &own))
        continue;
    rewind(list);
    while (own.inode == inode && peer == 0 && read_connection(list, &other))
        if (strcmp(other.local, own.remote) == 0 && strcmp(other.remote, own.local) == 0)
            peer = other.inode;
    fclose(list);
    return peer;
}

uint64_t tg_socket_peer(pid_t pid, uint64_t inode)
{
    uint64_t peer = inode == 0 ? 0 : unix_peer(inode);
    if (peer == 0 && inode != 0)
        peer = tcp_peer(pid, "tcp", inode);
    return peer == 0 && inode != 0 ? tcp_peer(pid, "tcp6", inode) : peer;
}
