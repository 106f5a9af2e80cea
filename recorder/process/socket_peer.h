/* The other end of a socket, where it is on this machine. */
#ifndef TG_RECORDER_PROCESS_SOCKET_PEER_H
#define TG_RECORDER_PROCESS_SOCKET_PEER_H

#include <stdint.h>
#include <sys/types.h>

/* The inode of the socket that the connected one with INODE, of process PID, has at its other end: a Unix socket, or TCP
 * within the machine. 0: not known. */
uint64_t tg_socket_peer(pid_t pid, uint64_t inode);

#endif
