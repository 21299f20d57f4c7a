// SPDX-License-Identifier: BSD-2-Clause
// Simulates the SoC. Without an argument, what its serial line says goes to standard output, until
// it says an end of transmission (4). With a port, a TCP connection to 127.0.0.1 is the line.
#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Vsoc.h"
#include "verilated.h"

static const long LIMIT = 10000000;   // cycles of a run by the CPU
static const int RESET = 16;          // cycles of the reset
static const int LOOK = 64;           // cycles between two looks at the connection

static int listen_on(int port)
{
    int server = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    if (bind(server, (sockaddr *)&address, size) || listen(server, 1) ||
        getsockname(server, (sockaddr *)&address, &size)) {
        perror("cannot listen");
        exit(3);
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    int connection = accept(server, nullptr, nullptr);
    close(server);
    fcntl(connection, F_SETFL, O_NONBLOCK);
    return connection;
}

int main(int argc, char **argv)
{
    int connection = argc > 1 ? listen_on(atoi(argv[1])) : -1;
    Vsoc soc;
    soc.sys_rst = 1;
    soc.serial_source_ready = 1;
    soc.serial_sink_valid = 0;
    for (long cycle = 0; connection >= 0 || cycle < LIMIT; cycle++) {
        soc.sys_rst = cycle < RESET;
        soc.sys_clk = 0;
        soc.eval();
        if (soc.serial_source_valid) {
            unsigned char byte = soc.serial_source_data;
            if (connection < 0) {
                if (byte == 4)
                    return 0;
                putchar(byte);
            } else if (send(connection, &byte, 1, MSG_NOSIGNAL) != 1) {
                return 0;
            }
        }
        bool taken = soc.serial_sink_valid && soc.serial_sink_ready;
        soc.sys_clk = 1;
        soc.eval();
        if (taken)
            soc.serial_sink_valid = 0;
        if (connection >= 0 && !soc.serial_sink_valid && cycle > RESET && cycle % LOOK == 0) {
            unsigned char byte;
            ssize_t count = recv(connection, &byte, 1, 0);
            if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
                return 0;
            if (count == 1) {
                soc.serial_sink_data = byte;
                soc.serial_sink_valid = 1;
            }
        }
    }
    fprintf(stderr, "no end after %ld cycles\n", LIMIT);
    return 1;
}
