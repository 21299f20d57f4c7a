// SPDX-License-Identifier: BSD-2-Clause
// The LiteX SoC for digits.c. LiteX generates the addresses of registers and memory.
#include <stdint.h>

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>

#define REGISTER(offset) (*(volatile uint32_t *)(QUINTET_BASE + (offset)))
#define CORE(name) REGISTER(QUINTET_##name##_OFFSET)
#define MAIN MAIN_RAM_BASE

static inline void put(char c)
{
    while (uart_txfull_read())
        ;
    uart_rxtx_write(c);
}

static inline void clear(void)
{
    quintet_ev_pending_write(1);
}

static inline int finished(void)
{
    return quintet_ev_pending_read();
}
