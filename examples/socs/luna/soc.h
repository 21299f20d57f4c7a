// SPDX-License-Identifier: BSD-2-Clause
// The SoC of with_luna.py for digits.c. luna-soc generates the addresses in resources.h.
#include "resources.h"

#define REGISTER(offset) (*(volatile uint32_t *)(IDENT_ADDRESS + (offset)))
#define CORE(name) (*(volatile uint32_t *)name##_ADDRESS)
#define MAIN MEMORY_MAIN_ADDRESS

// VexRiscv's own registers of interrupts: which ones count, which of those wait.
#define IRQ_MASK "0xBC0"
#define IRQ_PENDING "0xFC0"

static inline void put(char c)
{
    while (!uart_tx_ready_read())
        ;
    uart_tx_data_write(c);
}

static inline void clear(void)
{
    asm volatile("csrw " IRQ_MASK ", %0" ::"r"(1));  // it is taken back by the next start
}

static inline int finished(void)
{
    uint32_t pending;
    asm volatile("csrr %0, " IRQ_PENDING : "=r"(pending));
    return pending & 1;
}
