/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A port of the host library for boards with link spi: bytes of frames in SPI transfers
 * (docs/how/link.md, "SPI"). The program around it supplies one exchange of bytes and a clock:
 *
 *     static struct quintet_spi wires = {exchange, now_ms, NULL};
 *     static const struct quintet_port port = {
 *         quintet_spi_write, quintet_spi_read, quintet_spi_now, &wires};
 *     quintet_init(&board, &port);
 */
#ifndef QUINTET_SPI_H
#define QUINTET_SPI_H

#include <stddef.h>
#include <stdint.h>

/* Bytes from the board that wait to be read, 258 or more. What finds no place is lost, and the
 * library asks for it again. */
#ifndef QUINTET_SPI_BUFFER
#define QUINTET_SPI_BUFFER 512
#endif

struct quintet_spi {
    /* Selects the board, exchanges `size` bytes in place (at most 258; mode 0, highest bit first, at
     * most 20 MHz) and deselects it. Returns 0, or a negative number if that failed. */
    int (*exchange)(void *user, uint8_t *data, size_t size);
    /* Milliseconds since some moment, modulo 2^32. */
    uint32_t (*now_ms)(void *user);
    void *user;
    /* The port's own; zero at first. */
    uint16_t space, first, last;
    uint8_t came[QUINTET_SPI_BUFFER];
};

/* Functions of a struct quintet_port whose `user` is a struct quintet_spi. Writing fails if no board
 * is on the wires, or if it takes nothing for a second. */
int quintet_spi_write(void *spi, const uint8_t *data, size_t size);
int quintet_spi_read(void *spi, uint8_t *data, size_t size, uint32_t timeout_ms);
uint32_t quintet_spi_now(void *spi);

#endif
