/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
struct ring_buf { uint32_t size; };
#define RING_BUF_DECLARE(name, bytes) static struct ring_buf name = {bytes}
uint32_t ring_buf_put(struct ring_buf *buffer, const uint8_t *data, uint32_t size);
uint32_t ring_buf_get(struct ring_buf *buffer, uint8_t *data, uint32_t size);
