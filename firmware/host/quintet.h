/* SPDX-License-Identifier: BSD-2-Clause
 *
 * quintet.h: a host for quintet boards in C99, without allocation and without an operating system.
 *
 * The library speaks the link protocol of docs/how/link.md over any pipe of bytes. The program
 * around it supplies three functions (struct quintet_port): write bytes, read bytes with a timeout,
 * and a clock in milliseconds. One struct quintet belongs to one board and holds everything the
 * library remembers; functions are not reentrant for the same struct.
 *
 * A network comes from `quintet export --c PLAN`, which writes a header with a struct
 * quintet_network. Typical use:
 *
 *     static struct quintet board;
 *     quintet_init(&board, &port);
 *     if (quintet_identify(&board) == QUINTET_OK && quintet_load(&board, &digits) == QUINTET_OK) {
 *         quintet_quantise(&digits.inputs[0], pixels, numbers);
 *         quintet_infer(&board, &digits, inputs, outputs);
 *     }
 */
#ifndef QUINTET_H
#define QUINTET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Data bytes of one request, 64 to 512. The struct quintet holds one answer, so a smaller number
 * saves memory and costs throughput: each request adds some 17 bytes on the line. */
#ifndef QUINTET_CHUNK
#define QUINTET_CHUNK 256
#endif

/* Requests in flight, 1 to 100. One is enough for a wire without delay; behind a USB bridge that
 * keeps answers back, more of them fill the line. */
#ifndef QUINTET_WINDOW
#define QUINTET_WINDOW 8
#endif

#if QUINTET_CHUNK < 64 || QUINTET_CHUNK > 512
#error "QUINTET_CHUNK: expected 64 to 512"
#endif
#if QUINTET_WINDOW < 1 || QUINTET_WINDOW > 100
#error "QUINTET_WINDOW: expected 1 to 100"
#endif

/* Results of every function. */
enum quintet_status {
    QUINTET_OK = 0,
    QUINTET_TIMEOUT,      /* no answer from the board in `timeout_ms` */
    QUINTET_PORT_FAILED,  /* a function of the port reported a failure */
    QUINTET_NOT_A_BOARD,  /* something else answers there */
    QUINTET_VERSION,      /* the board's protocol is older or newer than this library */
    QUINTET_BUS_ERROR,    /* no memory or register at `error_address` */
    QUINTET_REFUSED,      /* the board does not know the request */
    QUINTET_UNSURE,       /* the board was reset or another host came: a register may or may not
                             have been written */
    QUINTET_ARGUMENT,     /* an argument that makes no sense, such as a run of 0 bytes */
    QUINTET_NO_CORE,      /* the board has no core, or another one than the network's */
    QUINTET_OTHER_BUILD,  /* the core was built with other parameters than the network's plan */
    QUINTET_MEMORY,       /* main memory is smaller than the network needs */
    QUINTET_CHECKSUM,     /* memory does not hold what was written, from `error_address` on */
    QUINTET_BUSY,         /* the core runs, or did not come out of its reset */
    QUINTET_FAULT,        /* the run ended with a fault: quintet_state() says which */
    QUINTET_ABORTED,      /* the run was aborted, or exceeded its time limit */
    QUINTET_NOT_LOADED,   /* no quintet_load() or quintet_assume_loaded() of the network before */
    QUINTET_NO_LISTS,     /* the build walks no lists of runs, or the network has none */
    QUINTET_LIST          /* the list of runs met a failed bus cycle, or a word that is no command,
                             before `error_address` */
};

/* What the program around the library supplies. `user` is passed through. */
struct quintet_port {
    /* Sends all `size` bytes. Returns 0, or a negative number if the line failed. */
    int (*write)(void *user, const uint8_t *data, size_t size);
    /* Receives 1 to `size` bytes; waits for the first one for at most `timeout_ms`. Returns their
     * number, 0 after the timeout, or a negative number if the line failed. */
    int (*read)(void *user, uint8_t *data, size_t size, uint32_t timeout_ms);
    /* Milliseconds since some moment, modulo 2^32. */
    uint32_t (*now_ms)(void *user);
    void *user;
};

/* A board, from its info header. */
struct quintet_info {
    uint16_t version;       /* of the link protocol */
    char isa[5];            /* tag of the core, empty without one */
    char board[17];         /* name */
    uint32_t params_hash;   /* of the core's build parameters */
    uint32_t memory_size;   /* bytes of main memory, from address 0 */
    uint32_t control_base;  /* address of the control block */
    uint32_t soc_base;      /* address of the SoC's registers */
    uint32_t clock_hz;      /* main clock */
};

/* The core, from its control block (docs/how/control-block.md). */
struct quintet_core_state {
    bool busy, done, fault, aborted;
    uint32_t fault_code, fault_pc, fault_detail;
    uint64_t cycles;        /* of the last run; unspecified while busy */
    uint64_t instructions;
    uint64_t operations;
};

/* A register of the control block and its value. */
struct quintet_register {
    uint16_t offset;
    uint32_t value;
};

/* A start from flash memory (docs/how/standalone.md); all zero on a board without. */
struct quintet_boot_state {
    bool busy, ready, refused;
    uint8_t reason;         /* why the image was refused: 1 none, 2 another version, 3 damaged, 4 of
                               another build, 5 it writes where there is nothing */
};

/* The list of runs that a board walks, or has walked last (docs/how/standalone.md). */
struct quintet_list_state {
    bool busy, ended;
    bool fault;             /* a run ended with a fault, or was aborted */
    bool error;             /* a bus cycle failed, or a word was no command */
    bool stopped;
    uint16_t runs;          /* that were started, modulo 2^16; the last one is that of a fault */
    uint32_t position;      /* address behind the last word of the list that was taken */
};

/* Bytes of a program, or of constants, and where they go. */
struct quintet_segment {
    uint32_t address;
    uint32_t size;
    const uint8_t *data;
    uint32_t crc;           /* CRC-32 of the bytes, there even if `data` is NULL */
};

/* `count` runs of `run` bytes, `stride` apart, the first one `offset` bytes behind the tensor's
 * address. The strips of a tensor list its elements in order. */
struct quintet_strip {
    uint32_t offset;
    uint32_t run;
    uint32_t stride;
    uint32_t count;
};

/* Elements `first` to `first + count - 1` (at most 16) of a vector as bit planes: bit b of all of
 * them in the low half of the word `word + b` behind the tensor's address. */
struct quintet_planes {
    uint32_t first;
    uint32_t word;
    uint16_t count;
};

enum quintet_type { QUINTET_INT8, QUINTET_INT16, QUINTET_INT32, QUINTET_FLOAT };

/* A tensor in main memory. Its elements are in C order of `shape`, the first axis of which counts
 * the inputs of a run. A number n stands for n * step, in an output with factors times the factor of
 * its place on the last axis, and where there are offsets plus the offset of that place; a
 * QUINTET_FLOAT tensor holds float. */
struct quintet_tensor {
    const char *name;
    uint32_t address;
    uint32_t elements;
    const uint32_t *shape;
    uint8_t rank;
    uint8_t bits;           /* the numbers' width, at most that of the type */
    enum quintet_type type;
    double step;
    const double *offset;   /* one for each place on the last axis, where offset_count > 0 */
    uint32_t offset_count;
    const double *factor;   /* the same, where factor_count > 0 */
    uint32_t factor_count;
    const struct quintet_strip *strips;
    uint32_t strip_count;
    const struct quintet_planes *planes; /* instead of strips, where plane_count > 0 */
    uint32_t plane_count;
    /* What a list of runs copies: the strips one by one, or, if `span_size` > 0, so many bytes from
     * `span_offset` behind the address on. */
    uint32_t span_offset;
    uint32_t span_size;
    uint32_t slot;          /* bytes that it takes where it waits for a run of a list */
};

/* The double-buffered copy of a network's program: lists of runs use it in turn with the program,
 * and copy the tensors of the next run and of the one before beside each run. */
struct quintet_copy {
    uint32_t memory_size;   /* bytes of main memory that both use */
    const struct quintet_register *enter; /* written before its runs, behind one of the program */
    uint32_t enter_count;
    const struct quintet_register *leave; /* before the program's runs, behind one of the copy */
    uint32_t leave_count;
    const struct quintet_segment *segments;
    uint32_t segment_count;
    const struct quintet_segment *zeros;
    uint32_t zero_count;
    const uint32_t *addresses; /* of the inputs, then of the outputs */
};

/* A network compiled for one build of one core; `quintet export --c` writes it. */
struct quintet_network {
    const char *name;
    const char *isa;        /* tag of the core */
    uint32_t params_hash;
    uint32_t memory_size;   /* bytes of main memory, from address 0, that it uses */
    uint32_t images;        /* inputs that one run works on */
    uint32_t cycles;        /* estimate for one run */
    const struct quintet_register *registers; /* in ascending order of offset */
    uint32_t register_count;
    const struct quintet_register *again;     /* written before the second run and later ones */
    uint32_t again_count;
    const struct quintet_segment *segments;   /* program and constants; `data` may be NULL */
    uint32_t segment_count;
    const struct quintet_segment *zeros;      /* must be zero before the first run; no data */
    uint32_t zero_count;
    const struct quintet_segment *setup;      /* programs that run once, after loading */
    uint32_t setup_count;
    const struct quintet_tensor *inputs;
    uint32_t input_count;
    const struct quintet_tensor *outputs;
    uint32_t output_count;
    const struct quintet_segment *states;     /* what each run leaves for the next one, in the
                                                 board's memory: place and initial bytes */
    uint32_t state_count;
    bool lists;             /* lists of runs can copy its tensors */
    uint32_t slot;          /* bytes of the tensors of one run of a list, each `slot` of its own */
    const struct quintet_copy *copy; /* NULL: none */
};

/* A list of runs in main memory, and the places behind it at which the inputs of its runs wait, and
 * their outputs afterwards. */
struct quintet_list {
    const struct quintet_network *network;
    uint32_t runs;
    uint32_t address;       /* of the list */
    uint32_t end;           /* behind everything: a second list may begin here */
    bool overlapped;        /* the network's double-buffered copy is used */

    /* Private from here on. */
    uint32_t first;
};

/* A board and its link. Set `timeout_ms`, `retry_ms` and `bytes_per_second` after quintet_init() if
 * the defaults do not suit; read `info`, `error_address` and `repeats`; leave the rest alone. */
struct quintet {
    struct quintet_port port;
    uint32_t timeout_ms;       /* a call ends after so long without an answer; 2000 */
    uint32_t retry_ms;         /* silence after which requests are repeated; 100 */
    uint32_t bytes_per_second; /* of the line, to allow for its time; 0: not known */
    struct quintet_info info;
    uint32_t error_address;    /* with QUINTET_BUS_ERROR and QUINTET_CHECKSUM */
    uint32_t repeats;          /* requests that were sent again so far */

    /* Private from here on. */
    const struct quintet_network *loaded;
    bool ran, open, idle;
    uint8_t session[2], nonce, sequence;
    uint8_t staging[32];
    size_t staged, taken;
    uint8_t block, left;
    bool broken;
    size_t length;
    uint8_t frame[QUINTET_CHUNK + 16];
};

/* Prepares `board`; nothing is sent. */
void quintet_init(struct quintet *board, const struct quintet_port *port);

/* Opens a session and reads the board's info header into `board->info`. Every other function does
 * so by itself where it must. */
enum quintet_status quintet_identify(struct quintet *board);

/* Main memory and registers, any address, any size. A register is written whole only if its four
 * bytes are inside one call. */
enum quintet_status quintet_read(struct quintet *board, uint32_t address, void *data, size_t size);
enum quintet_status quintet_write(struct quintet *board, uint32_t address, const void *data,
                                  size_t size);

/* `count` runs of `run` bytes, each `stride` bytes (at least `run`) behind the one before; `data`
 * holds the runs without gaps. No byte between runs is touched. */
enum quintet_status quintet_read_strided(struct quintet *board, uint32_t address, void *data,
                                         uint32_t run, uint32_t stride, uint32_t count);
enum quintet_status quintet_write_strided(struct quintet *board, uint32_t address, const void *data,
                                          uint32_t run, uint32_t stride, uint32_t count);

/* Writes `value` into every byte. */
enum quintet_status quintet_fill(struct quintet *board, uint32_t address, size_t size,
                                 uint8_t value);

/* CRC-32 (that of zlib), computed on the board. */
enum quintet_status quintet_checksum(struct quintet *board, uint32_t address, size_t size,
                                     uint32_t *crc);

/* The same CRC-32 of bytes here. */
uint32_t quintet_crc32(const void *data, size_t size);

/* Resets the core and waits until it is ready. */
enum quintet_status quintet_reset_core(struct quintet *board);

/* Status, fault and counters of the core. */
enum quintet_status quintet_state(struct quintet *board, struct quintet_core_state *state);

/* Writes registers (ascending offsets), starts a run and waits for its end. After `limit_ms` (0:
 * never) the run is aborted. A call that fails while the core runs leaves it running: reset it. */
enum quintet_status quintet_run(struct quintet *board, const struct quintet_register *registers,
                                uint32_t count, uint32_t limit_ms);

/* Checks that the board is the one the network was compiled for, resets the core, writes program
 * and constants, and compares their checksums. */
enum quintet_status quintet_load(struct quintet *board, const struct quintet_network *network);

/* As quintet_load(), but the board already holds program and constants (another host or its flash
 * wrote them): their checksums are compared, and only what must be zero is written. Waits for the
 * end of a start from flash memory. QUINTET_CHECKSUM: it holds something else. */
enum quintet_status quintet_assume_loaded(struct quintet *board,
                                          const struct quintet_network *network);

/* Gives the states of a loaded network their initial values: the next input is the first of a
 * sequence. quintet_load() and quintet_assume_loaded() do so as well. After a run that failed the
 * states are invalid. To save them, read the places in `network->states`; to restore, write them. */
enum quintet_status quintet_reset_states(struct quintet *board,
                                         const struct quintet_network *network);

/* quintet_assume_loaded() if the board holds the network, else quintet_load(). `resident`, unless
 * it is NULL, says which of both it was. */
enum quintet_status quintet_ensure_loaded(struct quintet *board,
                                          const struct quintet_network *network, bool *resident);

/* How the board's start from flash memory went. */
enum quintet_status quintet_boot(struct quintet *board, struct quintet_boot_state *state);

/* One run of a loaded network: `inputs[i]` and `outputs[i]` point to numbers of the network's i-th
 * input and output (int8_t, int16_t, int32_t or float, little-endian). `limit_ms` as above. */
enum quintet_status quintet_infer(struct quintet *board, const struct quintet_network *network,
                                  const void *const *inputs, void *const *outputs,
                                  uint32_t limit_ms);

/* ---- Lists of runs, on boards whose build has them (quintet build --run-list) ----
 *
 * The board takes the inputs of a list one after the other, without the host:
 *
 *     quintet_list_prepare(&board, &list, &digits, 10, 0);
 *     for (i = 0; i < 10; i++)
 *         quintet_list_put(&board, &list, i, inputs[i]);
 *     quintet_list_start(&board, &list, false);
 *     quintet_list_wait(&board, &list, 0);
 *     for (i = 0; i < 10; i++)
 *         quintet_list_get(&board, &list, i, outputs[i]);
 *
 * A list may be started again and again with new inputs. */

/* Writes a list of `runs` runs of a loaded network to main memory, from `address` on (0: behind the
 * network), and fills in `list`. QUINTET_MEMORY: so many do not fit. */
enum quintet_status quintet_list_prepare(struct quintet *board, struct quintet_list *list,
                                         const struct quintet_network *network, uint32_t runs,
                                         uint32_t address);

/* Writes the inputs of run `run`, and reads its outputs. Both may be done while another list, in
 * other memory, is walked. */
enum quintet_status quintet_list_put(struct quintet *board, const struct quintet_list *list,
                                     uint32_t run, const void *const *inputs);
enum quintet_status quintet_list_get(struct quintet *board, const struct quintet_list *list,
                                     uint32_t run, void *const *outputs);

/* Starts a list by one register write. `interrupt`: the board raises its interrupt at the end. */
enum quintet_status quintet_list_start(struct quintet *board, const struct quintet_list *list,
                                       bool interrupt);

/* Progress, and how the list ended. */
enum quintet_status quintet_list_state(struct quintet *board, struct quintet_list_state *state);

/* Waits for the end of a list that was started; after `limit_ms` (0: never) it is stopped, and its
 * run aborted. After a fault quintet_list_state() says in which run. */
enum quintet_status quintet_list_wait(struct quintet *board, const struct quintet_list *list,
                                      uint32_t limit_ms);

/* Stops the list that is walked, and aborts its run. */
enum quintet_status quintet_list_stop(struct quintet *board);

/* ---- Numbers ---- */

/* Real values to a tensor's numbers (nearest, ties to even, saturated), and back. */
void quintet_quantise(const struct quintet_tensor *tensor, const float *values, void *numbers);
void quintet_dequantise(const struct quintet_tensor *tensor, const void *numbers, float *values);

/* A sentence for people. */
const char *quintet_status_text(enum quintet_status status);

#ifdef __cplusplus
}
#endif

#endif
