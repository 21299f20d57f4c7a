/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a network on a board at a serial port, or at a pseudo-terminal of `quintet serve`.
 *
 *     cc -std=c99 -O2 -I. -DNETWORK=digits -DNETWORK_HEADER='"digits.h"' -o run main.c quintet.c
 *     ./run /dev/ttyUSB0 3000000 < inputs.f32 > outputs.f32
 *
 * Inputs and outputs are float32, little-endian, without a header: of each run the network's inputs
 * one after the other, in the order and shape that its header names.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "quintet.h"
#include NETWORK_HEADER

/* ---- The port ---- */

static int port_write(void *user, const uint8_t *data, size_t size)
{
    int line = *(int *)user;
    while (size) {
        ssize_t done = write(line, data, size);
        if (done < 0 && errno != EINTR)
            return -1;
        if (done > 0) {
            data += done;
            size -= (size_t)done;
        }
    }
    return 0;
}

static int port_read(void *user, uint8_t *data, size_t size, uint32_t timeout_ms)
{
    struct pollfd line = {.fd = *(int *)user, .events = POLLIN};
    int ready = poll(&line, 1, (int)timeout_ms);
    if (ready <= 0)
        return ready < 0 && errno != EINTR ? -1 : 0;
    ssize_t got = read(line.fd, data, size);
    return got > 0 ? (int)got : -1; /* ready and nothing there: the device is gone */
}

static uint32_t port_now(void *user)
{
    struct timespec time;
    (void)user;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint32_t)((uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000);
}

/* The termios constant of a rate, or B0 if this system has none. */
static speed_t rate_constant(unsigned long baud)
{
    static const struct { unsigned long baud; speed_t constant; } rates[] = {
        {9600, B9600},       {115200, B115200},   {230400, B230400},
#ifdef B3000000
        {460800, B460800},   {921600, B921600},   {1000000, B1000000}, {1500000, B1500000},
        {2000000, B2000000}, {3000000, B3000000}, {4000000, B4000000},
#endif
    };
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (rates[i].baud == baud)
            return rates[i].constant;
    return B0;
}

static int open_port(const char *name, unsigned long baud)
{
    struct termios settings;
    speed_t rate = rate_constant(baud);
    if (rate == B0) {
        fprintf(stderr, "%lu: not a rate that this system has a name for\n", baud);
        return -1;
    }
    int line = open(name, O_RDWR | O_NOCTTY);
    if (line < 0 || tcgetattr(line, &settings) < 0) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        return -1;
    }
    cfmakeraw(&settings);
    settings.c_cflag |= CLOCAL | CREAD;
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    if (cfsetspeed(&settings, rate) < 0 || tcsetattr(line, TCSANOW, &settings) < 0) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        return -1;
    }
    return line;
}

/* ---- The program ---- */

static int failed(const struct quintet *board, const char *what, enum quintet_status status)
{
    fprintf(stderr, "%s: %s", what, quintet_status_text(status));
    if (status == QUINTET_BUS_ERROR || status == QUINTET_CHECKSUM)
        fprintf(stderr, " (%#lx)", (unsigned long)board->error_address);
    fprintf(stderr, "\n");
    return 1;
}

/* Room for a tensor's numbers, of any type. */
static void *allocate(const struct quintet_tensor *tensor)
{
    void *numbers = calloc(tensor->elements, 4);
    if (!numbers) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return numbers;
}

int main(int count, char **arguments)
{
    const struct quintet_network *network = &NETWORK;
    static struct quintet board;
    struct quintet_core_state state;
    enum quintet_status status;
    void *inputs[8], *outputs[8];
    int line;

    if (count != 3) {
        fprintf(stderr, "usage: %s PORT BAUD < inputs.f32 > outputs.f32\n", arguments[0]);
        return 2;
    }
    if (network->input_count > 8 || network->output_count > 8) {
        fprintf(stderr, "%s has more than 8 inputs or outputs\n", network->name);
        return 2;
    }
    line = open_port(arguments[1], strtoul(arguments[2], NULL, 10));
    if (line < 0)
        return 3;

    struct quintet_port port = {port_write, port_read, port_now, &line};
    quintet_init(&board, &port);
    board.bytes_per_second = (uint32_t)strtoul(arguments[2], NULL, 10) / 10;
    /* A virtual board that is served runs some hundred times slower than a physical one. */
    board.retry_ms = 1000;
    board.timeout_ms = 30000;
    if ((status = quintet_identify(&board)))
        return failed(&board, arguments[1], status);
    fprintf(stderr, "%s with %s, %lu MHz\n", board.info.board, board.info.isa,
            (unsigned long)(board.info.clock_hz / 1000000));
    if ((status = quintet_load(&board, network)))
        return failed(&board, network->name, status);

    for (uint32_t i = 0; i < network->input_count; i++)
        inputs[i] = allocate(&network->inputs[i]);
    for (uint32_t i = 0; i < network->output_count; i++)
        outputs[i] = allocate(&network->outputs[i]);
    for (unsigned long run = 0;; run++) {
        for (uint32_t i = 0; i < network->input_count; i++) {
            const struct quintet_tensor *tensor = &network->inputs[i];
            float *values = allocate(tensor);
            size_t got = fread(values, sizeof *values, tensor->elements, stdin);
            if (got != tensor->elements) {
                free(values);
                if (got || i) {
                    fprintf(stderr, "the inputs end within run %lu\n", run);
                    return 2;
                }
                fprintf(stderr, "%lu runs\n", run);
                return 0;
            }
            quintet_quantise(tensor, values, inputs[i]);
            free(values);
        }
        status = quintet_infer(&board, network, (const void *const *)inputs, outputs, 0);
        if (status || (status = quintet_state(&board, &state)))
            return failed(&board, network->name, status);
        fprintf(stderr, "run %lu: %llu cycles\n", run, (unsigned long long)state.cycles);
        for (uint32_t i = 0; i < network->output_count; i++) {
            const struct quintet_tensor *tensor = &network->outputs[i];
            float *values = allocate(tensor);
            quintet_dequantise(tensor, outputs[i], values);
            if (fwrite(values, sizeof *values, tensor->elements, stdout) != tensor->elements) {
                fprintf(stderr, "cannot write the outputs\n");
                return 1;
            }
            free(values);
        }
        fflush(stdout);
    }
}
