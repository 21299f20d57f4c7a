// SPDX-License-Identifier: BSD-2-Clause
// Simulates the SoC: what its serial line says goes to standard output, until it says an end of
// transmission (4).
#include <cstdio>

#include "Vsoc.h"
#include "verilated.h"

static const long LIMIT = 10000000;   // cycles
static const int RESET = 16;          // cycles of the reset
static const int BITS = 10;           // of a frame: start, eight data bits, stop

int main()
{
    Vsoc soc;
    int count = 0;   // cycles since the start bit began; 0: the line is idle
    unsigned char byte = 0;
    for (long cycle = 0; cycle < LIMIT; cycle++) {
        soc.rst = cycle < RESET;
        soc.clk = 0;
        soc.eval();
        soc.clk = 1;
        soc.eval();
        if (soc.rst || (!count && soc.tx))
            continue;
        int bit = count / DIVISOR;
        if (count++ % DIVISOR == DIVISOR / 2 && bit > 0 && bit < BITS - 1)
            byte = byte >> 1 | soc.tx << 7;
        if (count == (BITS - 1) * DIVISOR + DIVISOR / 2) {
            if (byte == 4)
                return 0;
            putchar(byte);
            count = 0;
        }
    }
    fprintf(stderr, "no end after %ld cycles\n", LIMIT);
    return 1;
}
