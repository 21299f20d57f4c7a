// SPDX-License-Identifier: BSD-2-Clause
// Starts the digits' job on the core, waits for its interrupt, and compares the results in main
// memory with the golden model's. The header of the SoC has CORE(register), MAIN, put, clear and
// finished.
#include "soc.h"
#include "job.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { START = 1, BUSY = 1, FAULT = 4 };

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

int main(void)
{
    const volatile int8_t *result = (const volatile int8_t *)(MAIN + RESULT_AT);
    uint32_t equal = 0, right = 0;

    while (CORE(STATUS) & BUSY)
        ;  // it prepares itself after a reset, and ignores writes until then
    for (uint32_t at = 0; at < COUNT(registers); at++)
        REGISTER(registers[at][0]) = registers[at][1];
    clear();
    CORE(IRQ_ENABLE) = 1;
    CORE(CONTROL) = START;
    while (!finished())
        ;
    if (CORE(STATUS) & FAULT) {
        text("the core reports fault ");
        number(CORE(FAULT_CODE));
        text("\n\x04");
        return 1;
    }
    for (uint32_t image = 0; image < COUNT(labels); image++) {
        uint32_t same = 0, best = 0;
        for (uint32_t class = 0; class < COUNT(class_at); class++) {
            uint32_t at = image_at[image] + class_at[class];
            same += result[at] == expected[at];
            if (class < CLASSES && result[at] > result[image_at[image] + class_at[best]])
                best = class;
        }
        equal += same == COUNT(class_at);
        right += best == labels[image];
    }
    number(equal);
    text(" of ");
    number(COUNT(labels));
    text(" digits equal to the golden model, ");
    number(right);
    text(" recognised, ");
    number(CORE(CNT_CYCLES));
    text(" cycles\n\x04");
    return 0;
}
