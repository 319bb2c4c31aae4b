/* Ways to a device under POSIX: a serial port, a TCP connection such as to a serial server, and UDP to a board with
 * Ethernet. */
#ifndef RBDGEN_TRANSPORT_POSIX_H
#define RBDGEN_TRANSPORT_POSIX_H

#include "rbdgen_device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RBD_BAUD 3000000ul /* of most boards' shells; see the table of boards */
#define RBD_CONNECT_MS 5000u
#define RBD_UDP_PORT "21058" /* of boards with Ethernet */
#define RBD_NAME_BYTES 160

/* An open port or connection. It must stay where it is until the device is closed. */
typedef struct {
    int descriptor, is_socket;
    char name[RBD_NAME_BYTES];
    char message[RBD_TEXT_BYTES]; /* why it could not be opened */
} rbd_port;

/* Open a serial port such as /dev/ttyUSB0 at so many bits per second, for nobody else as long as it is open, and fill
 * in the transport for rbd_open. RBD_OK, or an error with `port->message`. */
int rbd_open_serial(rbd_port *port, rbd_transport *transport, const char *path, unsigned long baud);

/* Connect to a host's TCP port, within RBD_CONNECT_MS for each of its addresses (looking up a name takes what the
 * system's resolver takes). */
int rbd_open_tcp(rbd_port *port, rbd_transport *transport, const char *host, const char *service);

/* A socket for datagrams to a host's UDP port, such as RBD_UDP_PORT. Whether a device is there rbd_open finds out. */
int rbd_open_udp(rbd_port *port, rbd_transport *transport, const char *host, const char *service);

#ifdef __cplusplus
}
#endif

#endif
