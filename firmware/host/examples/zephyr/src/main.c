/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A Zephyr application that has a quintet board recognise a digit. The board is at the UART that
 * the device tree calls `quintet-uart` (an alias), at the rate that it was built for.
 */
#include <zephyr/device.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <zephyr/sys/ring_buffer.h>

#include "digits.h"
#include "quintet.h"

static const struct device *const uart = DEVICE_DT_GET(DT_ALIAS(quintet_uart));

RING_BUF_DECLARE(received, 1024);
static K_SEM_DEFINE(arrived, 0, 1);

static void on_interrupt(const struct device *device, void *user)
{
    uint8_t bytes[32];

    ARG_UNUSED(user);
    while (uart_irq_update(device) && uart_irq_rx_ready(device)) {
        int got = uart_fifo_read(device, bytes, sizeof bytes);
        if (got <= 0)
            break;
        /* What finds no room is lost; the library asks for it again. */
        ring_buf_put(&received, bytes, (uint32_t)got);
        k_sem_give(&arrived);
    }
}

static int port_write(void *user, const uint8_t *data, size_t size)
{
    ARG_UNUSED(user);
    for (size_t i = 0; i < size; i++)
        uart_poll_out(uart, data[i]);
    return 0;
}

static int port_read(void *user, uint8_t *data, size_t size, uint32_t timeout_ms)
{
    ARG_UNUSED(user);
    uint32_t got = ring_buf_get(&received, data, (uint32_t)size);
    if (!got && k_sem_take(&arrived, K_MSEC(timeout_ms)) == 0)
        got = ring_buf_get(&received, data, (uint32_t)size);
    return (int)got;
}

static uint32_t port_now(void *user)
{
    ARG_UNUSED(user);
    return k_uptime_get_32();
}

int main(void)
{
    static const struct quintet_port port = {port_write, port_read, port_now, NULL};
    static struct quintet board;
    static float pixels[64], scores[10];
    static int32_t numbers[64], results[10]; /* room for numbers of any type */
    const void *inputs[] = {numbers};
    void *outputs[] = {results};
    enum quintet_status status;

    if (!device_is_ready(uart)) {
        printk("the UART is not ready\n");
        return 1;
    }
    uart_irq_callback_user_data_set(uart, on_interrupt, NULL);
    uart_irq_rx_enable(uart);
    quintet_init(&board, &port);
    status = quintet_load(&board, &digits);
    for (int i = 0; i < 64; i++)
        pixels[i] = i % 8 == 3 || i % 8 == 4 ? 16.0f : 0.0f; /* a one */
    quintet_quantise(&digits.inputs[0], pixels, numbers);
    if (!status)
        status = quintet_infer(&board, &digits, inputs, outputs, 1000);
    if (status) {
        printk("%s\n", quintet_status_text(status));
        return 1;
    }
    quintet_dequantise(&digits.outputs[0], results, scores);
    int best = 0;
    for (int i = 1; i < 10; i++)
        if (scores[i] > scores[best])
            best = i;
    printk("this is a %d\n", best);
    return 0;
}
