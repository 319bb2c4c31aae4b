/* The mailbox, and what compilers expect of every program. */
#include "soc.h"

void soc_send(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t k = 0; k < size; k++)
        SOC_MAILBOX = bytes[k];
}

void soc_receive(void *data, size_t size)
{
    unsigned char *bytes = data;
    for (size_t k = 0; k < size; k++)
        bytes[k] = (unsigned char)SOC_MAILBOX;
}

void *memset(void *to, int value, size_t size)
{
    unsigned char *bytes = to;
    for (size_t k = 0; k < size; k++)
        bytes[k] = (unsigned char)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    unsigned char *bytes = to;
    const unsigned char *given = from;
    for (size_t k = 0; k < size; k++)
        bytes[k] = given[k];
    return to;
}
