/* Ways to a device under POSIX. Every wait has an end: readings, writings and connections by poll(). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* baud rates beyond POSIX, and flock */
#endif
#ifndef _DARWIN_C_SOURCE
#define _DARWIN_C_SOURCE
#endif

#include "rbdgen_transport_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/serial.h>
#include <sys/ioctl.h>
#endif

#ifdef MSG_NOSIGNAL
#define SEND_FLAGS MSG_NOSIGNAL
#else
#define SEND_FLAGS 0
#endif

static uint64_t milliseconds(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

static uint32_t random_bits(void *context)
{
    struct timespec now;
    uint32_t bits = 0;
    const int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (source >= 0) {
        const ssize_t got = read(source, &bits, sizeof bits);
        close(source);
        if (got == (ssize_t)sizeof bits)
            return bits;
    }
    (void)context;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 12 ^ (uint32_t)getpid() << 20;
}

/* Waits until a descriptor is ready for `events`: 1, 0 after so long, -1 if it cannot be. */
static int ready(int descriptor, short events, uint32_t wait)
{
    const uint64_t until = milliseconds(NULL) + wait;
    for (;;) {
        struct pollfd polled = {descriptor, events, 0};
        const uint64_t now = milliseconds(NULL);
        const uint64_t left = now < until ? until - now : 0;
        const int found = poll(&polled, 1, left < 1000000u ? (int)left : 1000000);
        if (found > 0)
            return polled.revents & POLLNVAL ? -1 : 1;
        if (found == 0 && milliseconds(NULL) >= until)
            return 0;
        if (found < 0 && errno != EINTR)
            return -1;
    }
}

static int is_later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static ptrdiff_t read_port(void *context, void *data, size_t size, uint32_t wait)
{
    const rbd_port *port = context;
    const int found = ready(port->descriptor, POLLIN, wait);
    if (found <= 0)
        return found;
    const ssize_t got = read(port->descriptor, data, size);
    if (got > 0)
        return got;
    /* an end of file, or an error: the other end is gone */
    return got < 0 && is_later(errno) ? 0 : -1;
}

static int write_port(void *context, const void *data, size_t size, uint32_t wait)
{
    const rbd_port *port = context;
    const char *left = data;
    while (size) {
        const int found = ready(port->descriptor, POLLOUT, wait);
        if (found <= 0)
            return found == 0 ? RBD_ERROR_STUCK : RBD_ERROR_GONE;
        const ssize_t taken = port->is_socket ? send(port->descriptor, left, size, SEND_FLAGS)
                                              : write(port->descriptor, left, size);
        if (taken < 0 && !is_later(errno))
            return RBD_ERROR_GONE;
        if (taken > 0) {
            left += taken;
            size -= (size_t)taken;
        }
    }
    return RBD_OK;
}

static void close_port(void *context)
{
    rbd_port *port = context;
    if (port->descriptor < 0)
        return;
    /* what nobody takes must not be waited for */
    if (!port->is_socket)
        tcflush(port->descriptor, TCOFLUSH);
    close(port->descriptor);
    port->descriptor = -1;
}

static int fail(rbd_port *port, const char *what, const char *remedy)
{
    if (port->descriptor >= 0)
        close(port->descriptor);
    port->descriptor = -1;
    snprintf(port->message, sizeof port->message, "%s: %s; %s", port->name, what, remedy);
    return RBD_ERROR_PORT;
}

static int begin(rbd_port *port, rbd_transport *transport, const char *kind, const char *name, const char *service)
{
    if (!port)
        return RBD_ERROR_ARGUMENT;
    memset(port, 0, sizeof *port);
    port->descriptor = -1;
    if (!transport || !name || !service) {
        snprintf(port->message, sizeof port->message, "%s: a NULL was given; give a transport to fill in and its name",
                 kind);
        return RBD_ERROR_ARGUMENT;
    }
    snprintf(port->name, sizeof port->name, "%s %.80s%s%.20s", kind, name, *service ? ":" : "", service);
    return RBD_OK;
}

static void fill_in(rbd_port *port, rbd_transport *transport)
{
    const rbd_transport made = {port, port->name, read_port, write_port, close_port, milliseconds, random_bits, 0};
    *transport = made;
}

/* ---- Serial ports ---- */

/* The system's code of a baud rate; B0 if it has none. */
static speed_t speed_of(unsigned long baud)
{
    static const struct {
        unsigned long baud;
        speed_t speed;
    } KNOWN[] = {{9600, B9600},     {19200, B19200},     {38400, B38400},
#ifdef B57600
                 {57600, B57600},
#endif
#ifdef B115200
                 {115200, B115200},
#endif
#ifdef B230400
                 {230400, B230400},
#endif
#ifdef B460800
                 {460800, B460800},
#endif
#ifdef B921600
                 {921600, B921600},
#endif
#ifdef B1000000
                 {1000000, B1000000},
#endif
#ifdef B1500000
                 {1500000, B1500000},
#endif
#ifdef B2000000
                 {2000000, B2000000},
#endif
#ifdef B3000000
                 {3000000, B3000000},
#endif
#ifdef B4000000
                 {4000000, B4000000},
#endif
    };
    for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++)
        if (KNOWN[k].baud == baud)
            return KNOWN[k].speed;
    return B0;
}

static int unopened(rbd_port *port, int error)
{
    if (error == ENOENT || error == ENXIO || error == ENODEV)
        return fail(port, "there is no such port", "plug the board in, or name its port");
    if (error == EACCES || error == EPERM)
        return fail(port, "may not be opened", "be in the group that owns it, such as dialout");
    if (error == EBUSY || error == EWOULDBLOCK)
        return fail(port, "is in use", "close the program that has it open, or name another port");
    return fail(port, "cannot be opened", "plug the board in, or name its port");
}

/* Eight bits, no parity, one stop bit, nothing translated, no flow control. */
static int set_line(int descriptor, speed_t speed)
{
    struct termios line;
    if (tcgetattr(descriptor, &line) != 0)
        return -1;
    line.c_iflag = 0;
    line.c_oflag = 0;
    line.c_lflag = 0;
    line.c_cflag = CS8 | CREAD | CLOCAL;
    line.c_cc[VMIN] = 1;
    line.c_cc[VTIME] = 0;
    if (cfsetispeed(&line, speed) != 0 || cfsetospeed(&line, speed) != 0)
        return -1;
    if (tcsetattr(descriptor, TCSANOW, &line) != 0)
        return -1;
    return tcflush(descriptor, TCIOFLUSH);
}

/* Asks an adapter's driver to pass bytes on at once: some wait 16 ms for more. What has no such driver is as fast. */
static void do_not_wait(int descriptor)
{
#ifdef __linux__
    struct serial_struct settings;
    if (ioctl(descriptor, TIOCGSERIAL, &settings) != 0)
        return;
    settings.flags = (int)((unsigned)settings.flags | ASYNC_LOW_LATENCY);
    ioctl(descriptor, TIOCSSERIAL, &settings);
#else
    (void)descriptor;
#endif
}

int rbd_open_serial(rbd_port *port, rbd_transport *transport, const char *path, unsigned long baud)
{
    const int status = begin(port, transport, "port", path, "");
    if (status != RBD_OK)
        return status;
    const speed_t speed = speed_of(baud);
    if (speed == B0)
        return fail(port, "this system has no such baud rate",
                    "give one of 9600 to 4000000 that it has, such as the board's own");
    port->descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (port->descriptor < 0)
        return unopened(port, errno);
    if (!isatty(port->descriptor))
        return fail(port, "is no serial port", "name the board's port");
    if (flock(port->descriptor, LOCK_EX | LOCK_NB) != 0)
        return unopened(port, errno);
    if (set_line(port->descriptor, speed) != 0)
        return fail(port, "cannot be set to that baud rate", "give another that the port has");
    do_not_wait(port->descriptor);
    fill_in(port, transport);
    return RBD_OK;
}

/* ---- TCP and UDP ---- */

/* Connects within a while: the descriptor, or -1. */
static int connected(const struct addrinfo *address)
{
    int error = 0;
    socklen_t size = sizeof error;
    const int one = 1;
    const int descriptor = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (descriptor < 0)
        return -1;
    const int flags = fcntl(descriptor, F_GETFL);
    int good = flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
               fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
    if (good && connect(descriptor, address->ai_addr, address->ai_addrlen) != 0)
        good = errno == EINPROGRESS && ready(descriptor, POLLOUT, RBD_CONNECT_MS) > 0 &&
               getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
    if (!good) {
        close(descriptor);
        return -1;
    }
    /* short frames must not wait for each other */
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
#ifdef SO_NOSIGPIPE
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
#endif
    return descriptor;
}

/* What is said where a socket cannot be had: of a name that is not known, and of an address that does not answer. */
struct complaints {
    const char *name_remedy, *what, *remedy;
};

/* Connects to the first of a host's addresses that can be: RBD_OK, or what was told of the port. */
static int open_socket(rbd_port *port, const char *host, const char *service, int family, int type,
                       const struct complaints *say)
{
    struct addrinfo hints, *found = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_family = family;
    hints.ai_socktype = type;
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return fail(port, "there is no such host or service", say->name_remedy);
    for (const struct addrinfo *address = found; address && port->descriptor < 0; address = address->ai_next)
        port->descriptor = connected(address);
    freeaddrinfo(found);
    if (port->descriptor < 0)
        return fail(port, say->what, say->remedy);
    port->is_socket = 1;
    return RBD_OK;
}

int rbd_open_tcp(rbd_port *port, rbd_transport *transport, const char *host, const char *service)
{
    static const struct complaints say = {"give a name or address, and a port's number", "cannot be connected to",
                                          "check that the server runs there"};
    int status = begin(port, transport, "tcp", host, service);
    if (status == RBD_OK)
        status = open_socket(port, host, service, AF_UNSPEC, SOCK_STREAM, &say);
    if (status == RBD_OK)
        fill_in(port, transport);
    return status;
}

int rbd_open_udp(rbd_port *port, rbd_transport *transport, const char *host, const char *service)
{
    static const struct complaints say = {
        "give the board's IP address, and a port's number", "cannot be reached",
        "check the cable, its address, and that this computer's is in the same network"};
    const int buffer = 1 << 20;
    int status = begin(port, transport, "udp", host, service);
    if (status == RBD_OK)
        status = open_socket(port, host, service, AF_INET, SOCK_DGRAM, &say);
    if (status != RBD_OK)
        return status;
    setsockopt(port->descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    fill_in(port, transport);
    transport->datagrams = 1;
    return RBD_OK;
}
