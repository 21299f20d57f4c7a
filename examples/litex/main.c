// SPDX-License-Identifier: BSD-2-Clause
// Starts the digits' job on the core, waits for its interrupt, and compares the results in main
// memory with the golden model's. LiteX generates the addresses of registers and memory.
#include <stdint.h>

#include <generated/csr.h>
#include <generated/digits.h>
#include <generated/mem.h>
#include <generated/soc.h>

#define CORE(offset) (*(volatile uint32_t *)(QUINTET_BASE + (offset)))
#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { ROWS = 8, HALVES = 2, TILE = 180, CLASSES = 10, START = 1, BUSY = 1, FAULT = 4 };

static void put(char c)
{
    while (uart_txfull_read())
        ;
    uart_rxtx_write(c);
}

static void text(const char *s)
{
    while (*s)
        put(*s++);
}

static void number(uint32_t value)
{
    char digits[10];
    int count = 0;
    do {
        digits[count++] = '0' + value % 10;
        value /= 10;
    } while (value);
    while (count)
        put(digits[--count]);
}

// Bytes of an image's results: of classes 0 to 7, then of 8 to 15, in two tiles of rows.
static uint32_t place(uint32_t image, uint32_t class)
{
    uint32_t row = (image / TILE * HALVES + class / ROWS) * TILE + image % TILE;
    return row * ROWS + class % ROWS;
}

int main(void)
{
    const volatile int8_t *result = (const volatile int8_t *)(MAIN_RAM_BASE + RESULT_AT);
    uint32_t equal = 0, right = 0;

    while (CORE(QUINTET_STATUS_OFFSET) & BUSY)
        ;  // it prepares itself after a reset, and ignores writes until then
    for (uint32_t at = 0; at < COUNT(registers); at++)
        CORE(registers[at][0]) = registers[at][1];
    quintet_ev_pending_write(1);
    CORE(QUINTET_IRQ_ENABLE_OFFSET) = 1;
    CORE(QUINTET_CONTROL_OFFSET) = START;
    while (!quintet_ev_pending_read())
        ;
    if (CORE(QUINTET_STATUS_OFFSET) & FAULT) {
        text("the core reports fault ");
        number(CORE(QUINTET_FAULT_CODE_OFFSET));
        text("\n\x04");
        return 1;
    }
    for (uint32_t image = 0; image < COUNT(labels); image++) {
        uint32_t same = 0, best = 0;
        for (uint32_t class = 0; class < ROWS * HALVES; class++) {
            uint32_t at = place(image, class);
            same += result[at] == expected[at];
            if (class < CLASSES && result[at] > result[place(image, best)])
                best = class;
        }
        equal += same == ROWS * HALVES;
        right += best == labels[image];
    }
    number(equal);
    text(" of ");
    number(COUNT(labels));
    text(" digits equal to the golden model, ");
    number(right);
    text(" recognised, ");
    number(CORE(QUINTET_CNT_CYCLES_OFFSET));
    text(" cycles\n\x04");
    return 0;
}
