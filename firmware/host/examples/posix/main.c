/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs a network on a board at a serial port, or at a pseudo-terminal of `quintet serve`.
 *
 *     cc -std=c99 -O2 -I. -DNETWORK=digits -DNETWORK_HEADER='"digits.h"' -o run main.c quintet.c
 *     ./run /dev/ttyUSB0 3000000 < inputs.f32 > outputs.f32
 *
 * Inputs and outputs are float32, little-endian, without a header: of each run the network's inputs
 * one after the other, in the order and shape that its header names.
 *
 * With a number as a third argument the board takes so many runs in a row, by a list of runs (a
 * build with --run-list). -DQUINTET_OVERLAP lets it copy inputs and outputs beside runs.
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

/* Most inputs, and most outputs, of a network. */
#define MOST_TENSORS 8

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

/* The network's tensors: real values and numbers. */
static float *values[2 * MOST_TENSORS];
static void *numbers[2 * MOST_TENSORS];

static const struct quintet_tensor *tensor(const struct quintet_network *network, uint32_t i)
{
    return i < network->input_count ? &network->inputs[i]
                                    : &network->outputs[i - network->input_count];
}

static void allocate_tensors(const struct quintet_network *network)
{
    for (uint32_t i = 0; i < network->input_count + network->output_count; i++) {
        values[i] = allocate(tensor(network, i));
        numbers[i] = allocate(tensor(network, i));
    }
}

/* Reads the inputs of a run. 1: there they are; 0: there are no more; -1: they end within it. */
static int read_inputs(const struct quintet_network *network)
{
    for (uint32_t i = 0; i < network->input_count; i++) {
        size_t got = fread(values[i], sizeof *values[i], network->inputs[i].elements, stdin);
        if (got != network->inputs[i].elements)
            return got || i ? -1 : 0;
        quintet_quantise(&network->inputs[i], values[i], numbers[i]);
    }
    return 1;
}

static int write_outputs(const struct quintet_network *network)
{
    for (uint32_t i = network->input_count; i < network->input_count + network->output_count; i++) {
        const struct quintet_tensor *output = tensor(network, i);
        quintet_dequantise(output, numbers[i], values[i]);
        if (fwrite(values[i], sizeof *values[i], output->elements, stdout) != output->elements) {
            fprintf(stderr, "cannot write the outputs\n");
            return -1;
        }
    }
    return fflush(stdout);
}

/* Run after run, each started by the host. Returns the exit code. */
static int run_one_by_one(struct quintet *board, const struct quintet_network *network)
{
    struct quintet_core_state state;
    enum quintet_status status;
    for (unsigned long run = 0;; run++) {
        int got = read_inputs(network);
        if (got < 0) {
            fprintf(stderr, "the inputs end within run %lu\n", run);
            return 2;
        }
        if (!got) {
            fprintf(stderr, "%lu runs\n", run);
            return 0;
        }
        status = quintet_infer(board, network, (const void *const *)numbers,
                               numbers + network->input_count, 0);
        if (status || (status = quintet_state(board, &state)))
            return failed(board, network->name, status);
        fprintf(stderr, "run %lu: %llu cycles\n", run, (unsigned long long)state.cycles);
        if (write_outputs(network))
            return 1;
    }
}

/* `runs` runs in a row. If there are fewer inputs at the end, the last list's other runs work on
 * what lies in their places, and nobody reads their outputs. */
static int run_lists(struct quintet *board, const struct quintet_network *network, uint32_t runs)
{
    struct quintet_list list;
    struct quintet_list_state state;
    unsigned long done = 0;
    enum quintet_status status = quintet_list_prepare(board, &list, network, runs, 0);
    while (!status) {
        uint32_t run = 0;
        int got = 1;
        for (; !status && run < runs && (got = read_inputs(network)) > 0; run++)
            status = quintet_list_put(board, &list, run, (const void *const *)numbers);
        if (!status && got < 0) {
            fprintf(stderr, "the inputs end within run %lu\n", done + run);
            return 2;
        }
        if (!status && !run) {
            fprintf(stderr, "%lu runs\n", done);
            return 0;
        }
        if (!status)
            status = quintet_list_start(board, &list, false);
        if (!status)
            status = quintet_list_wait(board, &list, 0);
        if (status == QUINTET_FAULT && !quintet_list_state(board, &state))
            fprintf(stderr, "run %lu met a fault\n", done + state.runs - 1);
        for (uint32_t at = 0; !status && at < run; at++) {
            status = quintet_list_get(board, &list, at, numbers + network->input_count);
            if (!status && write_outputs(network))
                return 1;
        }
        done += run;
    }
    return failed(board, network->name, status);
}

int main(int count, char **arguments)
{
    const struct quintet_network *network = &NETWORK;
    static struct quintet board;
    enum quintet_status status;
    bool resident;
    unsigned long runs = 0;
    int line;

    if (count == 4)
        runs = strtoul(arguments[3], NULL, 10);
    if (count < 3 || count > 4 || (count == 4 && (!runs || runs > 1000000))) {
        fprintf(stderr, "usage: %s PORT BAUD [RUNS] < inputs.f32 > outputs.f32\n", arguments[0]);
        return 2;
    }
    if (network->input_count > MOST_TENSORS || network->output_count > MOST_TENSORS) {
        fprintf(stderr, "%s has more than %d inputs or outputs\n", network->name, MOST_TENSORS);
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
    if ((status = quintet_ensure_loaded(&board, network, &resident)))
        return failed(&board, network->name, status);
    if (resident)
        fprintf(stderr, "the board holds %s\n", network->name);
    allocate_tensors(network);
    return runs ? run_lists(&board, network, (uint32_t)runs) : run_one_by_one(&board, network);
}
