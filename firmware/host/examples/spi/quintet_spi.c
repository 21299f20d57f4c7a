/* SPDX-License-Identifier: BSD-2-Clause */
#include "quintet_spi.h"

#include <string.h>

/* First byte of each transfer from a board; bytes of the header, and most behind it each way. */
#define MARK 0x51u
#define HEADER 3u
#define MOST 255u
/* Bytes of an answer that a transfer has place for if the host knows of none that wait. */
#define GUESS 16u
/* Milliseconds in which a board must take something. */
#define PATIENCE 1000u

/* One transfer: `size` bytes for the board, and place for `place` of its own. */
static int transfer(struct quintet_spi *spi, const uint8_t *data, size_t size, size_t place)
{
    uint8_t line[HEADER + MOST];
    size_t length = size > place ? size : place, here, free;

    memset(line, 0, sizeof line);
    line[2] = (uint8_t)size;
    if (size)
        memcpy(line + HEADER, data, size);
    if (spi->exchange(spi->user, line, HEADER + length) < 0 || line[0] != MARK)
        return -1;
    /* It was counted before this transfer's own bytes. */
    spi->space = (uint16_t)(2u * line[1] - size);
    here = line[2] < length ? line[2] : length;
    if (spi->first == spi->last)
        spi->first = spi->last = 0;
    if (spi->last + here > QUINTET_SPI_BUFFER) {
        memmove(spi->came, spi->came + spi->first, (size_t)(spi->last - spi->first));
        spi->last = (uint16_t)(spi->last - spi->first);
        spi->first = 0;
    }
    free = QUINTET_SPI_BUFFER - spi->last;
    if (here > free)
        here = free;
    memcpy(spi->came + spi->last, line + HEADER, here);
    spi->last = (uint16_t)(spi->last + here);
    return line[2];
}

int quintet_spi_write(void *user, const uint8_t *data, size_t size)
{
    struct quintet_spi *spi = user;
    uint32_t since = spi->now_ms(spi->user);

    while (size) {
        size_t part = size < MOST ? size : MOST;

        if (part > spi->space)
            part = spi->space;
        if (transfer(spi, data, part, 0) < 0)
            return -1;
        if (part)
            since = spi->now_ms(spi->user);
        else if (spi->now_ms(spi->user) - since > PATIENCE)
            return -1;
        data += part;
        size -= part;
    }
    return 0;
}

int quintet_spi_read(void *user, uint8_t *data, size_t size, uint32_t timeout_ms)
{
    struct quintet_spi *spi = user;
    uint32_t began = spi->now_ms(spi->user);
    size_t place = GUESS, got;

    while (spi->first == spi->last) {
        int waiting = transfer(spi, NULL, 0, place);

        if (waiting < 0)
            return -1;
        /* With a wire to `ready` the processor may sleep here. */
        if (spi->first == spi->last && spi->now_ms(spi->user) - began >= timeout_ms)
            return 0;
        place = waiting > (int)GUESS ? (size_t)waiting : GUESS;
    }
    got = (size_t)(spi->last - spi->first);
    if (got > size)
        got = size;
    memcpy(data, spi->came + spi->first, got);
    spi->first = (uint16_t)(spi->first + got);
    return (int)got;
}

uint32_t quintet_spi_now(void *user)
{
    struct quintet_spi *spi = user;

    return spi->now_ms(spi->user);
}
