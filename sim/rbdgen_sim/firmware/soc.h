/* What soft_core.v has beside memory: the accelerator, a mailbox of bytes, and a counter of cycles. */
#ifndef SOC_H
#define SOC_H

#include <stddef.h>
#include <stdint.h>

#define SOC_ACCELERATOR ((volatile uint32_t *)0x90000000u)
#define SOC_MAILBOX (*(volatile uint32_t *)0xa0000000u)
#define SOC_CYCLES (*(volatile uint32_t *)0xa0000004u)

/* Send bytes to the host, or wait for as many of its. */
void soc_send(const void *data, size_t size);
void soc_receive(void *data, size_t size);

#endif
