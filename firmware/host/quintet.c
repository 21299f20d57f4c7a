/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See quintet.h. The protocol is that of docs/how/link.md; names of fields are those used there.
 */
#include "quintet.h"

#include <string.h>

#define ANSWER 0x80u
#define INFO_BYTES 64u
#define VERSION 2u
/* Below lies main memory, where a write may be made again; above, registers. */
#define MEMORY_END 0x80000000u
/* Most bytes of a run, and of a request that makes the board go over memory by itself. */
#define MAX_RUN 256u
#define MAX_UNSEEN 2048u
/* Bytes a millisecond that the slowest board checks or fills. */
#define UNSEEN_RATE 40u
/* Bytes of a request and its answer besides data. */
#define ROUND 40u

/* Control block. */
#define CONTROL 0x10u
#define STATUS 0x14u
#define PROGRAM_ADDRESS 0x20u
#define PROGRAM_LENGTH 0x24u
#define FAULT_CODE 0x40u
#define COUNTERS 0x80u
#define START 1u
#define ABORT 2u
#define CORE_RESET 4u
#define BUSY 1u
#define DONE 2u
#define FAULT 4u
#define ABORTED 8u
/* Registers of the SoC. */
#define SOC_BOOT 0x14u
#define LIST_START 0x100u
#define LIST_STATUS 0x104u
#define LIST_POSITION 0x10Cu
/* Bits of the status of a start from flash memory, beside BUSY. */
#define READY 2u
#define REFUSED 4u
/* Bits of the status of a list, beside BUSY. */
#define ENDED 2u
#define LIST_FAULT 4u
#define LIST_ERROR 8u
#define STOPPED 16u
/* Commands of a list: what they do, and their mark. */
#define WAIT 0x81u
#define MOVE 0x82u
#define INLINE 0x84u
#define START_CORE 0x88u
#define END_LIST 0x90u
#define STRIDED 0xA0u
/* Most bytes that a command moves at once, whole words. */
#define MAX_MOVE 0xFFFCu
/* Longest start from flash memory. */
#define BOOT_MS 30000u
/* A core ends within so long after an abort or a reset. */
#define SETTLE_MS 2000u

enum operation { IDENTIFY, READ, WRITE, CHECKSUM, FILL, READ_STRIDED, WRITE_STRIDED };
enum answer_status { OK, BUS_ERROR, SEQUENCE, SESSION, BAD_REQUEST };

/* One call: `size` data bytes in requests of `chunk` bytes each, the last one may be shorter. */
struct call {
    enum operation operation;
    uint32_t address;
    uint32_t size;
    uint32_t chunk;
    uint32_t run, stride;  /* of strided operations; `chunk` is a multiple of `run` */
    const uint8_t *out;    /* data of writes, pattern of a fill */
    uint8_t *in;           /* data of reads */
    uint32_t crc;          /* of what a checksum has gone over */
};

/* ---- Little-endian words ---- */

static void put32(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    to[2] = (uint8_t)(value >> 16);
    to[3] = (uint8_t)(value >> 24);
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* ---- CRC-32 ---- */

static const uint32_t crc_table[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
    0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
    0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};

static uint32_t crc_update(uint32_t crc, const uint8_t *data, size_t size)
{
    while (size--) {
        crc ^= *data++;
        crc = crc >> 4 ^ crc_table[crc & 15];
        crc = crc >> 4 ^ crc_table[crc & 15];
    }
    return crc;
}

uint32_t quintet_crc32(const void *data, size_t size)
{
    return ~crc_update(0xFFFFFFFFu, data, size);
}

/* Product of two polynomials modulo that of the CRC, bit 31 being x^0. */
static uint32_t crc_multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 0x80000000u; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? 0xEDB88320u : 0);
    }
    return product;
}

/* CRC of A followed by B, `size` bytes: appending to A multiplies its CRC by x^(8 * size). */
static uint32_t crc_combine(uint32_t first, uint32_t second, uint32_t size)
{
    uint32_t power = 0x80000000u, square = 0x00800000u; /* x^0, x^8 */
    for (; size; size >>= 1) {
        if (size & 1)
            power = crc_multiply(power, square);
        square = crc_multiply(square, square);
    }
    return crc_multiply(power, first) ^ second;
}

/* ---- Sending: CRC, COBS, zero ---- */

/* The contents of a frame, in three parts, and the bytes that wait to be handed to the port. */
struct sender {
    struct quintet *board;
    const uint8_t *part[3];
    size_t end[3];          /* where each part ends in the contents */
    uint8_t waiting[32];
    size_t count;
    int failed;
};

static uint8_t contents_at(const struct sender *s, size_t at)
{
    if (at < s->end[0])
        return s->part[0][at];
    if (at < s->end[1])
        return s->part[1][at - s->end[0]];
    return s->part[2][at - s->end[1]];
}

static void hand_over(struct sender *s)
{
    if (s->count && s->board->port.write(s->board->port.user, s->waiting, s->count) < 0)
        s->failed = 1;
    s->count = 0;
}

static void emit(struct sender *s, uint8_t byte)
{
    if (s->count == sizeof s->waiting)
        hand_over(s);
    s->waiting[s->count++] = byte;
}

static enum quintet_status send_frame(struct quintet *board, const uint8_t *head, size_t head_size,
                                      const uint8_t *data, size_t size)
{
    struct sender s;
    uint8_t check[4];
    uint32_t crc = crc_update(crc_update(0xFFFFFFFFu, head, head_size), data, size);
    size_t at = 0, total = head_size + size + sizeof check;

    put32(check, ~crc);
    s.board = board;
    s.part[0] = head;
    s.part[1] = data;
    s.part[2] = check;
    s.end[0] = head_size;
    s.end[1] = head_size + size;
    s.end[2] = total;
    s.count = 0;
    s.failed = 0;
    if (board->idle)
        emit(&s, 0); /* ends what noise has begun */
    board->idle = false;
    for (;;) {
        size_t length = 0;
        while (length < 254 && at + length < total && contents_at(&s, at + length))
            length++;
        emit(&s, (uint8_t)(length + 1));
        for (size_t i = 0; i < length; i++)
            emit(&s, contents_at(&s, at + i));
        at += length;
        if (at >= total)
            break;
        if (length < 254)
            at++; /* the zero that the block stands for; one at the very end wants a block more */
    }
    emit(&s, 0);
    hand_over(&s);
    return s.failed ? QUINTET_PORT_FAILED : QUINTET_OK;
}

/* ---- Receiving ---- */

/* Takes one byte; true if it completes a good frame, which is then in `frame` without its CRC. */
static bool decode(struct quintet *board, uint8_t byte)
{
    if (byte) {
        if (!board->left) {
            if (board->block && board->block < 255) {
                if (board->length < sizeof board->frame)
                    board->frame[board->length++] = 0;
                else
                    board->broken = true;
            }
            board->block = byte;
            board->left = (uint8_t)(byte - 1);
            return false;
        }
        board->left--;
        if (board->length < sizeof board->frame)
            board->frame[board->length++] = byte;
        else
            board->broken = true;
        return false;
    }
    size_t length = board->length;
    bool good = !board->broken && !board->left && length >= 9;
    board->broken = false;
    board->left = board->block = 0;
    board->length = 0;
    if (!good || (board->frame[0] & 0xF8u) != ANSWER)
        return false;
    if (quintet_crc32(board->frame, length - 4) != get32(board->frame + length - 4))
        return false;
    board->length = length - 4;
    return true;
}

/* Waits until `deadline` for an answer. 1: it is in `frame`; 0: none came; negative: the port
 * failed. */
static int receive(struct quintet *board, uint32_t deadline)
{
    board->length = board->left || board->block ? board->length : 0;
    for (;;) {
        while (board->taken < board->staged)
            if (decode(board, board->staging[board->taken++]))
                return 1;
        int32_t left = (int32_t)(deadline - board->port.now_ms(board->port.user));
        if (left <= 0)
            return 0;
        int got = board->port.read(board->port.user, board->staging, sizeof board->staging,
                                   (uint32_t)left);
        if (got < 0 || (size_t)got > sizeof board->staging)
            return -1;
        board->taken = 0;
        board->staged = (size_t)got;
    }
}

/* ---- Sessions ---- */

static uint32_t now(struct quintet *board)
{
    return board->port.now_ms(board->port.user);
}

static enum quintet_status parse_info(struct quintet *board, const uint8_t *header)
{
    struct quintet_info *info = &board->info;
    if (memcmp(header, "QNTT", 4))
        return QUINTET_NOT_A_BOARD;
    info->version = (uint16_t)(header[4] | header[5] << 8);
    memcpy(info->isa, header + 8, 4);
    info->isa[4] = 0;
    info->params_hash = get32(header + 12);
    info->memory_size = get32(header + 20);
    info->control_base = get32(header + 24);
    info->soc_base = get32(header + 32);
    info->clock_hz = get32(header + 44);
    memcpy(info->board, header + 48, 16);
    info->board[16] = 0;
    return info->version == VERSION ? QUINTET_OK : QUINTET_VERSION;
}

/* Has an identify answered. `renew`: in a new session; else only to see whose session the board is
 * in. Leaves the answer in `frame`. */
static enum quintet_status identify(struct quintet *board, bool renew)
{
    uint8_t head[10] = {IDENTIFY};
    uint32_t began = now(board);
    int stopped = 0;

    head[8] = INFO_BYTES;
    if (renew)
        board->nonce = (uint8_t)(board->nonce % 255 + 1);
    for (bool first = true;; first = false) {
        uint32_t sent = now(board);
        if (!first) {
            board->repeats++;
            if (sent - began >= board->timeout_ms)
                return QUINTET_TIMEOUT;
        }
        board->idle = true;
        head[1] = board->nonce;
        enum quintet_status status = send_frame(board, head, sizeof head, NULL, 0);
        if (status)
            return status;
        int got;
        while ((got = receive(board, sent + board->retry_ms)) > 0) {
            const uint8_t *frame = board->frame;
            if (frame[0] != (ANSWER | IDENTIFY) || frame[1] != board->nonce)
                continue;
            if (!renew)
                return QUINTET_OK;
            uint8_t state = frame[board->length - 1];
            if (state == OK) {
                if (board->length != 5 + INFO_BYTES)
                    return QUINTET_NOT_A_BOARD;
                memcpy(board->session, frame + 1, 2);
                board->sequence = frame[3];
                status = parse_info(board, frame + 4);
                board->open = status == QUINTET_OK;
                return status;
            }
            /* By chance the last host used the same byte, and its session has stopped; or there is
             * no info ROM. */
            if (stopped++) {
                board->error_address = get32(frame + board->length - 5) & ~3u;
                return QUINTET_BUS_ERROR;
            }
            board->nonce = (uint8_t)(board->nonce % 255 + 1);
            break;
        }
        if (got < 0)
            return QUINTET_PORT_FAILED;
    }
}

/* ---- Requests in flight ---- */

static bool is_write(enum operation operation)
{
    return operation == WRITE || operation == WRITE_STRIDED || operation == FILL;
}

static bool is_strided(enum operation operation)
{
    return operation >= FILL;
}

static uint32_t request_size(const struct call *c, uint32_t index)
{
    uint32_t left = c->size - index * c->chunk;
    return left < c->chunk ? left : c->chunk;
}

static uint32_t request_address(const struct call *c, uint32_t index)
{
    uint32_t offset = index * c->chunk;
    return c->address + (is_strided(c->operation) ? offset / c->run * c->stride : offset);
}

static enum quintet_status send_request(struct quintet *board, const struct call *c, uint32_t index,
                                        uint8_t number)
{
    uint8_t head[17];
    size_t at = 0;
    uint32_t size = request_size(c, index);
    bool carries = c->operation == WRITE || c->operation == WRITE_STRIDED;

    head[at++] = (uint8_t)c->operation;
    head[at++] = board->session[0];
    head[at++] = board->session[1];
    head[at++] = number;
    if (c->operation == FILL) {
        memset(head + at, c->out[0], 4);
        at += 4;
    }
    if (is_strided(c->operation)) {
        uint32_t step = c->stride - ((c->run + 3) & ~3u) - 4;
        head[at++] = (uint8_t)c->run;
        head[at++] = (uint8_t)step;
        head[at++] = (uint8_t)(step >> 8);
    }
    put32(head + at, request_address(c, index));
    at += 4;
    if (!carries) {
        head[at++] = (uint8_t)size;
        head[at++] = (uint8_t)(size >> 8);
    }
    return send_frame(board, head, at, carries ? c->out + index * c->chunk : NULL,
                      carries ? size : 0);
}

/* Takes the data of a good answer to request `index`; false if it has not the size it must have. */
static bool take(struct quintet *board, struct call *c, uint32_t index)
{
    const uint8_t *data = board->frame + 4;
    uint32_t size = (uint32_t)board->length - 5, asked = request_size(c, index);
    if (is_write(c->operation))
        return size == 0;
    if (c->operation == CHECKSUM) {
        if (size != 4)
            return false;
        c->crc = crc_combine(c->crc, get32(data), asked);
        return true;
    }
    if (size != asked)
        return false;
    memcpy(c->in + index * c->chunk, data, size);
    return true;
}

/* The state of a call on its way. Requests before `first` are answered, those before `next` sent;
 * `high` is the largest value of `next` since the link was opened. Request 0 has number `base`. */
struct flight {
    uint32_t first, next, high, count;
    uint8_t base;
    uint32_t echoes;        /* answers due that would tell of the same loss once more */
    uint32_t heard, repeated, silences;
    int lost;               /* times that the board had forgotten the link */
};

static void go_back(struct quintet *board, struct flight *f)
{
    board->repeats += f->next - f->first;
    f->next = f->first;
    f->repeated = now(board);
}

/* The board answers that it is in another session. */
static enum quintet_status settle_session(struct quintet *board, const struct call *c,
                                          struct flight *f)
{
    uint8_t session[2] = {board->session[0], board->session[1]};
    enum quintet_status status = identify(board, false);
    if (status)
        return status;
    const uint8_t *frame = board->frame;
    bool ours = frame[1] == session[0] && frame[2] == session[1];
    bool stopped = frame[board->length - 1] != OK;
    if (ours && (stopped || (uint8_t)(frame[3] - f->base - f->first) <= f->high - f->first)) {
        go_back(board, f);
        return QUINTET_OK;
    }
    if (++f->lost > 3 || (is_write(c->operation) && request_address(c, f->first) >= MEMORY_END))
        return QUINTET_UNSURE;
    status = identify(board, true);
    board->open = false;
    f->base = (uint8_t)(board->sequence - f->first);
    f->high = f->first;
    f->echoes = 0;
    go_back(board, f);
    return status;
}

/* Deals with the answer in `frame`. */
static enum quintet_status answered(struct quintet *board, struct call *c, struct flight *f)
{
    const uint8_t *frame = board->frame;
    uint8_t status = frame[board->length - 1];
    bool ours = frame[1] == board->session[0] && frame[2] == board->session[1];
    uint32_t index = f->first + (uint8_t)(frame[3] - f->base - f->first);

    if (frame[0] != (ANSWER | (uint8_t)c->operation) || index >= f->high)
        return QUINTET_OK;
    if (status == SESSION)
        return ours ? QUINTET_OK : settle_session(board, c, f);
    if (!ours)
        return QUINTET_OK;
    if (status != OK && board->length < 10)
        return QUINTET_OK; /* no answer of a board has this form */
    switch (status) {
    case OK:
        /* A write is executed after all before it; of reads one that was overtaken is lost. */
        if (is_write(c->operation) || index == f->first) {
            if (!take(board, c, index))
                return QUINTET_OK;
            f->first = index + 1;
            if (f->next < f->first)
                f->next = f->first;
            f->heard = now(board);
            f->silences = 0;
            f->echoes = 0;
            return QUINTET_OK;
        }
        break;
    case SEQUENCE:
        break;
    case BUS_ERROR:
        board->error_address = get32(frame + board->length - 5) & ~3u;
        return QUINTET_BUS_ERROR;
    default:
        return QUINTET_REFUSED;
    }
    /* Something is lost. The answers behind it say so each. */
    if (f->echoes) {
        f->echoes--;
        return QUINTET_OK;
    }
    f->echoes = f->next > index ? f->next - index - 1 : 0;
    go_back(board, f);
    return QUINTET_OK;
}

static enum quintet_status exchange(struct quintet *board, struct call *c)
{
    struct flight f = {0};
    enum quintet_status status = QUINTET_OK;
    bool unseen = c->operation == FILL || c->operation == CHECKSUM;

    if (c->size && c->address + (c->size - 1) < c->address)
        return QUINTET_ARGUMENT;
    if (!board->open && (status = identify(board, true)))
        return status;
    /* Whatever ends this call early: what is in flight may still be executed, and a new session
     * keeps it apart from what follows. */
    board->open = false;
    board->idle = true;
    f.count = c->size / c->chunk + (c->size % c->chunk != 0);
    f.base = board->sequence;
    f.heard = f.repeated = now(board);
    while (f.first < f.count) {
        while (f.next < f.count && f.next - f.first < QUINTET_WINDOW) {
            status = send_request(board, c, f.next, (uint8_t)(f.base + f.next));
            if (status)
                return status;
            f.next++;
            if (f.high < f.next)
                f.high = f.next;
        }
        uint32_t weight = (f.next - f.first) * (c->chunk + ROUND);
        uint32_t patience = board->retry_ms;
        if (unseen)
            patience += weight / UNSEEN_RATE;
        else if (board->bytes_per_second)
            patience += weight * 1000u / board->bytes_per_second;
        /* Twice as long after each silence: a slow board must not drown in repeats. */
        patience <<= f.silences < 4 ? f.silences : 4;
        uint32_t since = (int32_t)(f.repeated - f.heard) > 0 ? f.repeated : f.heard;
        uint32_t until = since + patience;
        if ((int32_t)(f.heard + board->timeout_ms - until) < 0)
            until = f.heard + board->timeout_ms;
        int got = receive(board, until);
        if (got < 0)
            return QUINTET_PORT_FAILED;
        if (got) {
            status = answered(board, c, &f);
            if (status)
                return status;
            continue;
        }
        if (now(board) - f.heard >= board->timeout_ms)
            return QUINTET_TIMEOUT;
        if (now(board) - since >= patience) {
            f.silences++;
            f.echoes = 0;
            board->idle = true;
            go_back(board, &f);
        }
    }
    board->open = true;
    board->sequence = (uint8_t)(f.base + f.count);
    return QUINTET_OK;
}

static enum quintet_status call(struct quintet *board, enum operation operation, uint32_t address,
                                uint32_t size, uint32_t chunk, const void *out, void *in)
{
    struct call c = {0};
    c.operation = operation;
    c.address = address;
    c.size = size;
    c.chunk = chunk;
    c.run = c.stride = MAX_RUN; /* a fill's */
    c.out = out;
    c.in = in;
    return exchange(board, &c);
}

/* ---- Memory ---- */

void quintet_init(struct quintet *board, const struct quintet_port *port)
{
    memset(board, 0, sizeof *board);
    board->port = *port;
    board->timeout_ms = 2000;
    board->retry_ms = 100;
    board->nonce = (uint8_t)port->now_ms(port->user);
}

enum quintet_status quintet_identify(struct quintet *board)
{
    board->open = false;
    return identify(board, true);
}

enum quintet_status quintet_read(struct quintet *board, uint32_t address, void *data, size_t size)
{
    return call(board, READ, address, (uint32_t)size, QUINTET_CHUNK, NULL, data);
}

enum quintet_status quintet_write(struct quintet *board, uint32_t address, const void *data,
                                  size_t size)
{
    return call(board, WRITE, address, (uint32_t)size, QUINTET_CHUNK, data, NULL);
}

/* Runs by strided requests where a frame can describe them, else each by plain ones. */
static enum quintet_status strided(struct quintet *board, enum operation operation,
                                   uint32_t address, const uint8_t *out, uint8_t *in, uint32_t run,
                                   uint32_t stride, uint32_t count)
{
    bool reads = operation == READ_STRIDED;
    enum operation plain = reads ? READ : WRITE;
    if (!count)
        return QUINTET_OK;
    if (!run || stride < run || (count > 1 && (uint64_t)(count - 1) * stride + run > UINT32_MAX))
        return QUINTET_ARGUMENT;
    if (stride == run || count == 1)
        return call(board, plain, address, run * count, QUINTET_CHUNK, out, in);
    uint32_t step = stride - ((run + 3) & ~3u) - 4;
    if (run <= MAX_RUN && run <= QUINTET_CHUNK && step + 0x8000u < 0x10000u) {
        struct call c = {0};
        c.operation = operation;
        c.address = address;
        c.size = run * count;
        c.chunk = QUINTET_CHUNK / run * run;
        c.run = run;
        c.stride = stride;
        c.out = out;
        c.in = in;
        return exchange(board, &c);
    }
    for (uint32_t i = 0; i < count; i++) {
        enum quintet_status status =
            call(board, plain, address + i * stride, run, QUINTET_CHUNK,
                 reads ? NULL : out + i * run, reads ? in + i * run : NULL);
        if (status)
            return status;
    }
    return QUINTET_OK;
}

enum quintet_status quintet_read_strided(struct quintet *board, uint32_t address, void *data,
                                         uint32_t run, uint32_t stride, uint32_t count)
{
    return strided(board, READ_STRIDED, address, NULL, data, run, stride, count);
}

enum quintet_status quintet_write_strided(struct quintet *board, uint32_t address, const void *data,
                                          uint32_t run, uint32_t stride, uint32_t count)
{
    return strided(board, WRITE_STRIDED, address, data, NULL, run, stride, count);
}

enum quintet_status quintet_fill(struct quintet *board, uint32_t address, size_t size,
                                 uint8_t value)
{
    return call(board, FILL, address, (uint32_t)size, MAX_UNSEEN, &value, NULL);
}

enum quintet_status quintet_checksum(struct quintet *board, uint32_t address, size_t size,
                                     uint32_t *crc)
{
    struct call c = {0};
    c.operation = CHECKSUM;
    c.address = address;
    c.size = (uint32_t)size;
    c.chunk = MAX_UNSEEN;
    enum quintet_status status = exchange(board, &c);
    *crc = c.crc;
    return status;
}

/* ---- The core ---- */

/* Identifies the board unless that has been done, and refuses one without a core. */
static enum quintet_status need_core(struct quintet *board)
{
    enum quintet_status status = board->info.version ? QUINTET_OK : quintet_identify(board);
    return status ? status : board->info.isa[0] ? QUINTET_OK : QUINTET_NO_CORE;
}

static enum quintet_status read_word(struct quintet *board, uint32_t address, uint32_t *value)
{
    uint8_t bytes[4] = {0};
    enum quintet_status status = quintet_read(board, address, bytes, 4);
    *value = get32(bytes);
    return status;
}

static enum quintet_status read_status(struct quintet *board, uint32_t *value)
{
    return read_word(board, board->info.control_base + STATUS, value);
}

static enum quintet_status write_word(struct quintet *board, uint32_t address, uint32_t value)
{
    uint8_t bytes[4];
    put32(bytes, value);
    return quintet_write(board, address, bytes, 4);
}

static enum quintet_status write_register(struct quintet *board, uint32_t offset, uint32_t value)
{
    return write_word(board, board->info.control_base + offset, value);
}

/* Lets time pass: nothing is outstanding, so that nothing of value can be read. */
static enum quintet_status pause(struct quintet *board, uint32_t milliseconds)
{
    return receive(board, now(board) + milliseconds) < 0 ? QUINTET_PORT_FAILED : QUINTET_OK;
}

/* Looks at a status register until its bit 0, busy, is low. The pauses grow with the time waited,
 * so that short runs are seen at once and long ones are not disturbed. Late after `limit_ms` (0:
 * never). */
static enum quintet_status wait_for(struct quintet *board, uint32_t address, uint32_t limit_ms,
                                    enum quintet_status late, uint32_t *seen)
{
    uint32_t began = now(board);
    for (;;) {
        enum quintet_status status = read_word(board, address, seen);
        if (status || !(*seen & BUSY))
            return status;
        uint32_t waited = now(board) - began;
        if (limit_ms && waited >= limit_ms)
            return late;
        if (waited >= 8 && (status = pause(board, waited / 8 < 20 ? waited / 8 : 20)))
            return status;
    }
}

/* Waits until the core is idle. */
static enum quintet_status wait_idle(struct quintet *board, uint32_t limit_ms,
                                     enum quintet_status late, uint32_t *seen)
{
    return wait_for(board, board->info.control_base + STATUS, limit_ms, late, seen);
}

enum quintet_status quintet_reset_core(struct quintet *board)
{
    uint32_t seen;
    enum quintet_status status = need_core(board);
    board->loaded = NULL;
    if (!status)
        status = write_register(board, CONTROL, CORE_RESET);
    return status ? status : wait_idle(board, SETTLE_MS, QUINTET_BUSY, &seen);
}

enum quintet_status quintet_state(struct quintet *board, struct quintet_core_state *state)
{
    uint8_t bytes[24];
    uint32_t seen;
    enum quintet_status status = need_core(board);
    if (!status)
        status = read_status(board, &seen);
    if (status)
        return status;
    state->busy = seen & BUSY;
    state->done = seen & DONE;
    state->fault = seen & FAULT;
    state->aborted = seen & ABORTED;
    status = quintet_read(board, board->info.control_base + FAULT_CODE, bytes, 12);
    if (status)
        return status;
    state->fault_code = get32(bytes);
    state->fault_pc = get32(bytes + 4);
    state->fault_detail = get32(bytes + 8);
    status = quintet_read(board, board->info.control_base + COUNTERS, bytes, sizeof bytes);
    if (status)
        return status;
    state->cycles = get32(bytes) | (uint64_t)get32(bytes + 4) << 32;
    state->instructions = get32(bytes + 8) | (uint64_t)get32(bytes + 12) << 32;
    state->operations = get32(bytes + 16) | (uint64_t)get32(bytes + 20) << 32;
    return QUINTET_OK;
}

/* Writes registers, neighbours in one request, which writes them word by word. */
static enum quintet_status write_registers(struct quintet *board,
                                           const struct quintet_register *registers, uint32_t count)
{
    uint8_t bytes[32];
    for (uint32_t at = 0; at < count;) {
        uint32_t size = 0, offset = registers[at].offset;
        while (at < count && size < sizeof bytes && registers[at].offset == offset + size) {
            put32(bytes + size, registers[at++].value);
            size += 4;
        }
        enum quintet_status status =
            quintet_write(board, board->info.control_base + offset, bytes, size);
        if (status)
            return status;
    }
    return QUINTET_OK;
}

/* Ends the core's run. */
static enum quintet_status abort_run(struct quintet *board)
{
    uint32_t seen;
    enum quintet_status status = write_register(board, CONTROL, ABORT);
    return status ? status : wait_idle(board, SETTLE_MS, QUINTET_BUSY, &seen);
}

/* Starts a run with the registers as they are, and waits for its end. */
static enum quintet_status start_and_wait(struct quintet *board, uint32_t limit_ms)
{
    uint32_t seen;
    enum quintet_status status = write_register(board, CONTROL, START);
    if (status)
        return status;
    status = wait_idle(board, limit_ms, QUINTET_ABORTED, &seen);
    if (status == QUINTET_ABORTED) {
        status = abort_run(board);
        return status ? status : QUINTET_ABORTED;
    }
    if (status)
        return status;
    return seen & FAULT ? QUINTET_FAULT : seen & ABORTED ? QUINTET_ABORTED : QUINTET_OK;
}

enum quintet_status quintet_run(struct quintet *board, const struct quintet_register *registers,
                                uint32_t count, uint32_t limit_ms)
{
    uint32_t seen;
    enum quintet_status status = need_core(board);
    board->loaded = NULL; /* another program comes between */
    if (!status)
        status = read_status(board, &seen);
    if (!status && seen & BUSY)
        status = QUINTET_BUSY;
    if (!status)
        status = write_registers(board, registers, count);
    return status ? status : start_and_wait(board, limit_ms);
}

/* ---- Networks ---- */

static enum quintet_status check_segments(struct quintet *board, const struct quintet_segment *s,
                                          uint32_t count)
{
    for (; count--; s++) {
        uint32_t found;
        enum quintet_status status = quintet_checksum(board, s->address, s->size, &found);
        if (!status && found != s->crc) {
            board->error_address = s->address;
            status = QUINTET_CHECKSUM;
        }
        if (status)
            return status;
    }
    return QUINTET_OK;
}

static enum quintet_status write_segments(struct quintet *board, const struct quintet_segment *s,
                                          uint32_t count)
{
    enum quintet_status status = QUINTET_OK;
    for (; !status && count--; s++)
        status = s->data ? quintet_write(board, s->address, s->data, s->size) : QUINTET_ARGUMENT;
    return status;
}

static enum quintet_status clear(struct quintet *board, const struct quintet_segment *s,
                                 uint32_t count)
{
    enum quintet_status status = QUINTET_OK;
    for (; !status && count--; s++)
        status = quintet_fill(board, s->address, s->size, 0);
    return status;
}

static enum quintet_status check_build(struct quintet *board, const struct quintet_network *network)
{
    enum quintet_status status = need_core(board);
    if (status)
        return status;
    if (strcmp(board->info.isa, network->isa))
        return QUINTET_NO_CORE;
    if (board->info.params_hash != network->params_hash)
        return QUINTET_OTHER_BUILD;
    if (board->info.memory_size < network->memory_size)
        return QUINTET_MEMORY;
    /* A board that starts from flash memory writes main memory by itself until then. */
    uint32_t seen;
    return wait_for(board, board->info.soc_base + SOC_BOOT, BOOT_MS, QUINTET_BUSY, &seen);
}

/* The registers of the network with another program, for a setup program. */
static enum quintet_status run_setup(struct quintet *board, const struct quintet_network *network,
                                     const struct quintet_segment *program)
{
    enum quintet_status status =
        write_registers(board, network->registers, network->register_count);
    if (!status)
        status = write_register(board, PROGRAM_ADDRESS, program->address);
    if (!status)
        status = write_register(board, PROGRAM_LENGTH, program->size);
    return status ? status : start_and_wait(board, 0);
}

enum quintet_status quintet_reset_states(struct quintet *board,
                                         const struct quintet_network *network)
{
    return write_segments(board, network->states, network->state_count);
}

/* Makes a network ready: `writes` its bytes, or checks that the board holds them. */
static enum quintet_status make_ready(struct quintet *board, const struct quintet_network *network,
                                      bool writes)
{
    enum quintet_status status = check_build(board, network);
    board->loaded = NULL;
    if (!status)
        status = clear(board, network->zeros, network->zero_count);
    if (!status && writes)
        status = write_segments(board, network->segments, network->segment_count);
    if (!status && writes)
        status = write_segments(board, network->setup, network->setup_count);
    if (!status)
        status = quintet_reset_core(board);
    if (!status)
        status = check_segments(board, network->segments, network->segment_count);
    if (!status)
        status = check_segments(board, network->setup, network->setup_count);
    for (uint32_t i = 0; !status && i < network->setup_count; i++)
        status = run_setup(board, network, &network->setup[i]);
    if (!status)
        status = quintet_reset_states(board, network);
    if (!status) {
        board->loaded = network;
        board->ran = false;
    }
    return status;
}

enum quintet_status quintet_assume_loaded(struct quintet *board,
                                          const struct quintet_network *network)
{
    return make_ready(board, network, false);
}

enum quintet_status quintet_load(struct quintet *board, const struct quintet_network *network)
{
    return make_ready(board, network, true);
}

enum quintet_status quintet_ensure_loaded(struct quintet *board,
                                          const struct quintet_network *network, bool *resident)
{
    enum quintet_status status = make_ready(board, network, false);
    bool found = status != QUINTET_CHECKSUM;
    if (!found && network->segments->data)
        status = make_ready(board, network, true);
    if (resident)
        *resident = found;
    return status;
}

enum quintet_status quintet_boot(struct quintet *board, struct quintet_boot_state *state)
{
    uint32_t seen = 0;
    enum quintet_status status = need_core(board);
    if (!status)
        status = read_word(board, board->info.soc_base + SOC_BOOT, &seen);
    state->busy = seen & BUSY;
    state->ready = seen & READY;
    state->refused = seen & REFUSED;
    state->reason = seen >> 4 & 7;
    return status;
}

static uint16_t plane(const struct quintet_tensor *tensor, const void *numbers,
                      const struct quintet_planes *planes, uint32_t bit)
{
    uint16_t word = 0;
    for (uint32_t i = 0; i < planes->count; i++) {
        uint32_t at = planes->first + i;
        int32_t number = tensor->type == QUINTET_INT8    ? ((const int8_t *)numbers)[at]
                         : tensor->type == QUINTET_INT16 ? ((const int16_t *)numbers)[at]
                                                         : ((const int32_t *)numbers)[at];
        word |= (uint16_t)(((uint32_t)number >> bit & 1) << i);
    }
    return word;
}

/* Bytes of the words that a run takes. */
static uint32_t whole(uint32_t size)
{
    return (size + 3) & ~3u;
}

/* Moves the strips of a tensor at `base`, from `out` or to `in`. `packed`: they lie one behind the
 * other, each run at a word. */
static enum quintet_status strips(struct quintet *board, const struct quintet_tensor *tensor,
                                  uint32_t base, bool packed, const uint8_t *out, uint8_t *in)
{
    for (uint32_t i = 0; i < tensor->strip_count; i++) {
        const struct quintet_strip *s = &tensor->strips[i];
        uint32_t stride = packed ? whole(s->run) : s->stride, size = s->run * s->count;
        enum quintet_status status =
            strided(board, out ? WRITE_STRIDED : READ_STRIDED, packed ? base : base + s->offset,
                    out, in, s->run, stride, s->count);
        if (status)
            return status;
        base += packed ? stride * s->count : 0;
        out = out ? out + size : NULL;
        in = in ? in + size : NULL;
    }
    return QUINTET_OK;
}

static enum quintet_status put(struct quintet *board, const struct quintet_tensor *tensor,
                               uint32_t base, bool packed, const void *numbers)
{
    for (uint32_t i = 0; i < tensor->plane_count; i++) {
        const struct quintet_planes *p = &tensor->planes[i];
        uint8_t bytes[64];
        for (uint32_t bit = 0; bit < tensor->bits; bit++) {
            uint16_t word = plane(tensor, numbers, p, bit);
            bytes[2 * bit] = (uint8_t)word;
            bytes[2 * bit + 1] = (uint8_t)(word >> 8);
        }
        enum quintet_status status =
            quintet_write_strided(board, base + 4 * p->word, bytes, 2, 4, tensor->bits);
        if (status)
            return status;
    }
    return strips(board, tensor, base, packed, numbers, NULL);
}

enum quintet_status quintet_infer(struct quintet *board, const struct quintet_network *network,
                                  const void *const *inputs, void *const *outputs,
                                  uint32_t limit_ms)
{
    enum quintet_status status = QUINTET_OK;
    if (board->loaded != network)
        return QUINTET_NOT_LOADED;
    for (uint32_t i = 0; !status && i < network->input_count; i++)
        status = put(board, &network->inputs[i], network->inputs[i].address, false, inputs[i]);
    /* Registers keep what they were given. What a run has left in the core serves the next one. */
    if (!status && !board->ran)
        status = write_registers(board, network->registers, network->register_count);
    else if (!status)
        status = write_registers(board, network->again, network->again_count);
    if (!status) {
        board->loaded = NULL; /* until the run has ended well */
        status = start_and_wait(board, limit_ms);
    }
    if (status)
        return status;
    board->loaded = network;
    board->ran = true;
    for (uint32_t i = 0; !status && i < network->output_count; i++)
        status = strips(board, &network->outputs[i], network->outputs[i].address, false, NULL,
                        outputs[i]);
    return status;
}

/* ---- Lists of runs ---- */

/* Writes the words of a list, or counts them only. */
struct writer {
    struct quintet *board;  /* NULL: counts */
    uint32_t address;       /* behind the words so far */
    enum quintet_status status;
    uint32_t count;
    uint8_t bytes[64];
};

static void flush(struct writer *w)
{
    if (w->board && !w->status)
        w->status = quintet_write(w->board, w->address - w->count, w->bytes, w->count);
    w->count = 0;
}

static void add(struct writer *w, uint32_t word)
{
    put32(w->bytes + w->count, word);
    w->count += 4;
    w->address += 4;
    if (w->count == sizeof w->bytes)
        flush(w);
}

/* Adds commands that copy `count` runs of `run` bytes between memory at `home`, where they are
 * `stride` apart, and words one behind the other at `slot`. */
static void add_copy(struct writer *w, bool out, uint32_t home, uint32_t slot, uint32_t run,
                     uint32_t stride, uint32_t count)
{
    bool is_strided = count > 1;
    for (uint32_t size; run; run -= size, home += size, slot += size) {
        size = !is_strided && run > MAX_MOVE ? MAX_MOVE : run;
        add(w, size << 8 | MOVE | (is_strided ? STRIDED : 0));
        add(w, out ? slot : home);
        add(w, out ? home : slot);
        if (is_strided)
            add(w, (out ? 1u << 31 : 0) | ((stride - whole(run)) / 4 + 1) << 16 | (count - 1));
    }
}

/* What is copied: inputs from where they wait; outputs to where they wait for the host; and, once
 * for each run, what lies between the elements of inputs that are copied with it. */
enum copies { INPUTS, OUTPUTS, GAPS };

/* Adds the copies of run `run`; `copy`: of the double-buffered copy of the program. */
static void add_copies(struct writer *w, const struct quintet_list *list, uint32_t run, bool copy,
                       enum copies what)
{
    const struct quintet_network *n = list->network;
    uint32_t slot = list->first + run * n->slot;
    for (uint32_t i = 0; i < n->input_count + n->output_count; i++) {
        bool out = i >= n->input_count;
        const struct quintet_tensor *t = out ? &n->outputs[i - n->input_count] : &n->inputs[i];
        uint32_t home = copy ? n->copy->addresses[i] : t->address;
        bool wanted = out == (what == OUTPUTS);
        if (t->span_size && wanted)
            add_copy(w, what != INPUTS, home + t->span_offset, slot, t->span_size, 0, 1);
        uint32_t at = slot;
        for (uint32_t k = 0; !t->span_size && wanted && what != GAPS && k < t->strip_count; k++) {
            const struct quintet_strip *s = &t->strips[k];
            add_copy(w, out, home + s->offset, at, s->run, s->stride, s->count);
            at += whole(s->run) * s->count;
        }
        slot += t->slot;
    }
}

/* Adds the start of a run with register writes before it; `waits`: for the end of the run before. */
static void add_run(struct writer *w, uint32_t control, const struct quintet_register *registers,
                    uint32_t count, bool waits)
{
    uint32_t flags = waits ? WAIT : 0;
    if (!count)
        add(w, flags | START_CORE);
    while (count) {
        uint32_t size = 1;
        while (size < count && registers[size].offset == registers->offset + 4 * size)
            size++;
        count -= size;
        add(w, 4 * size << 8 | flags | MOVE | INLINE | (count ? 0 : START_CORE));
        add(w, control + registers->offset);
        for (; size; size--)
            add(w, (registers++)->value);
        flags = 0;
    }
}

static void add_list(struct writer *w, const struct quintet_list *list, uint32_t control)
{
    const struct quintet_network *n = list->network;
    bool twice = list->overlapped;
    add_copies(w, list, 0, false, INPUTS);
    for (uint32_t run = 0; run < list->runs; run++) {
        bool copy = twice && run & 1;
        if (!run)
            add_run(w, control, n->registers, n->register_count, false);
        else if (!twice)
            add_run(w, control, n->again, n->again_count, false);
        else if (copy)
            add_run(w, control, n->copy->enter, n->copy->enter_count, true);
        else
            add_run(w, control, n->copy->leave, n->copy->leave_count, true);
        if (!twice) {
            add(w, WAIT);
            add_copies(w, list, run, false, OUTPUTS);
        } else if (run) {
            add_copies(w, list, run - 1, !copy, OUTPUTS);
        }
        if (run + 1 < list->runs)
            add_copies(w, list, run + 1, twice && !copy, INPUTS);
    }
    if (twice) {
        add(w, WAIT);
        add_copies(w, list, list->runs - 1, !(list->runs & 1), OUTPUTS);
    }
    add(w, END_LIST);
    flush(w);
}

/* Writes what double-buffering needs besides, if the board and the header have it. */
static enum quintet_status load_copy(struct quintet *board, const struct quintet_copy *copy)
{
    enum quintet_status status = clear(board, copy->zeros, copy->zero_count);
    if (!status)
        status = check_segments(board, copy->segments, copy->segment_count);
    if (status == QUINTET_CHECKSUM) {
        status = write_segments(board, copy->segments, copy->segment_count);
        if (!status)
            status = check_segments(board, copy->segments, copy->segment_count);
    }
    return status;
}

enum quintet_status quintet_list_prepare(struct quintet *board, struct quintet_list *list,
                                         const struct quintet_network *network, uint32_t runs,
                                         uint32_t address)
{
    const struct quintet_copy *copy = network->copy;
    struct writer w = {0};
    uint32_t seen, memory = network->memory_size;
    if (board->loaded != network)
        return QUINTET_NOT_LOADED;
    if (!runs || address & 3)
        return QUINTET_ARGUMENT;
    enum quintet_status status = read_word(board, board->info.soc_base + LIST_STATUS, &seen);
    if (status == QUINTET_BUS_ERROR || !network->lists)
        return QUINTET_NO_LISTS;
    if (!status && seen & BUSY)
        status = QUINTET_BUSY;
    if (status)
        return status;

    list->network = network;
    list->runs = runs;
    list->overlapped = runs > 1 && copy && copy->memory_size <= board->info.memory_size;
    if (list->overlapped) {
        status = load_copy(board, copy);
        if (status == QUINTET_ARGUMENT) /* the header has no bytes, and the board has others */
            list->overlapped = false;
        else if (status)
            return status;
        else
            memory = copy->memory_size;
    }
    /* The length of a list does not depend on its addresses. */
    list->address = address ? address : whole(memory);
    list->first = 0;
    w.address = list->address;
    add_list(&w, list, 0);
    list->first = w.address;
    uint64_t end = (uint64_t)list->first + (uint64_t)runs * network->slot;
    if (end > board->info.memory_size)
        return QUINTET_MEMORY;
    list->end = (uint32_t)end;

    /* A list of its own copies what lies between elements; then comes the list itself. */
    w.board = board;
    w.address = list->address;
    for (uint32_t run = 0; run < runs; run++)
        add_copies(&w, list, run, false, GAPS);
    if (w.address != list->address) {
        add(&w, END_LIST);
        flush(&w);
        status = w.status;
        if (!status)
            status = quintet_list_start(board, list, false);
        if (!status)
            status = quintet_list_wait(board, list, SETTLE_MS);
        if (status)
            return status;
    }
    w.address = list->address;
    add_list(&w, list, board->info.control_base);
    return w.status;
}

/* Writes the inputs of a run, or reads its outputs. */
static enum quintet_status list_tensors(struct quintet *board, const struct quintet_list *list,
                                        uint32_t run, const void *const *inputs,
                                        void *const *outputs)
{
    const struct quintet_network *n = list->network;
    uint32_t slot = list->first + run * n->slot;
    enum quintet_status status = run < list->runs ? QUINTET_OK : QUINTET_ARGUMENT;
    for (uint32_t i = 0; !status && i < n->input_count + n->output_count; i++) {
        bool out = i >= n->input_count;
        const struct quintet_tensor *t = out ? &n->outputs[i - n->input_count] : &n->inputs[i];
        bool packed = !t->span_size;
        if (!out && inputs)
            status = put(board, t, slot - t->span_offset, packed, inputs[i]);
        if (out && outputs)
            status = strips(board, t, slot - t->span_offset, packed, NULL,
                            outputs[i - n->input_count]);
        slot += t->slot;
    }
    return status;
}

enum quintet_status quintet_list_put(struct quintet *board, const struct quintet_list *list,
                                     uint32_t run, const void *const *inputs)
{
    return list_tensors(board, list, run, inputs, NULL);
}

enum quintet_status quintet_list_get(struct quintet *board, const struct quintet_list *list,
                                     uint32_t run, void *const *outputs)
{
    return list_tensors(board, list, run, NULL, outputs);
}

enum quintet_status quintet_list_start(struct quintet *board, const struct quintet_list *list,
                                       bool interrupt)
{
    uint32_t seen;
    if (board->loaded != list->network)
        return QUINTET_NOT_LOADED;
    enum quintet_status status = read_word(board, board->info.soc_base + LIST_STATUS, &seen);
    if (!status && seen & BUSY)
        status = QUINTET_BUSY;
    if (status)
        return status;
    board->loaded = NULL; /* until the list has ended well */
    return write_word(board, board->info.soc_base + LIST_START, list->address | interrupt);
}

enum quintet_status quintet_list_state(struct quintet *board, struct quintet_list_state *state)
{
    uint8_t bytes[12];
    enum quintet_status status = need_core(board);
    if (!status)
        status = quintet_read(board, board->info.soc_base + LIST_STATUS, bytes, sizeof bytes);
    if (status)
        return status == QUINTET_BUS_ERROR ? QUINTET_NO_LISTS : status;
    state->busy = bytes[0] & BUSY;
    state->ended = bytes[0] & ENDED;
    state->fault = bytes[0] & LIST_FAULT;
    state->error = bytes[0] & LIST_ERROR;
    state->stopped = bytes[0] & STOPPED;
    state->runs = (uint16_t)get32(bytes + 4);
    state->position = get32(bytes + 8);
    return QUINTET_OK;
}

enum quintet_status quintet_list_stop(struct quintet *board)
{
    uint32_t seen, status_register = board->info.soc_base + LIST_STATUS;
    enum quintet_status status = write_word(board, status_register, 0);
    if (!status)
        status = wait_for(board, status_register, SETTLE_MS, QUINTET_BUSY, &seen);
    return status ? status : abort_run(board);
}

enum quintet_status quintet_list_wait(struct quintet *board, const struct quintet_list *list,
                                      uint32_t limit_ms)
{
    uint32_t seen;
    enum quintet_status status = wait_for(board, board->info.soc_base + LIST_STATUS, limit_ms,
                                          QUINTET_ABORTED, &seen);
    if (status == QUINTET_ABORTED) {
        status = quintet_list_stop(board);
        return status ? status : QUINTET_ABORTED;
    }
    if (status)
        return status;
    if (seen & LIST_ERROR) {
        status = read_word(board, board->info.soc_base + LIST_POSITION, &board->error_address);
        return status ? status : QUINTET_LIST;
    }
    if (seen & LIST_FAULT) {
        status = read_status(board, &seen);
        return status ? status : seen & FAULT ? QUINTET_FAULT : QUINTET_ABORTED;
    }
    if (seen & STOPPED)
        return QUINTET_ABORTED;
    board->loaded = list->network;
    board->ran = false; /* the registers may be those of the double-buffered copy */
    return QUINTET_OK;
}

/* ---- Numbers ---- */

/* Nearest whole number, ties to even, of a value far below 2^51. */
static double nearest(double value)
{
    volatile double sum = value + 6755399441055744.0; /* 1.5 * 2^52: no fraction has room */
    return sum - 6755399441055744.0;
}

static double offset_of(const struct quintet_tensor *tensor, uint32_t element)
{
    return tensor->offset_count ? tensor->offset[element % tensor->offset_count] : 0.0;
}

static double factor_of(const struct quintet_tensor *tensor, uint32_t element)
{
    return tensor->factor_count ? tensor->factor[element % tensor->factor_count] : 1.0;
}

void quintet_quantise(const struct quintet_tensor *tensor, const float *values, void *numbers)
{
    double high = (double)((1u << (tensor->bits - 1)) - 1u), low = -high - 1;
    for (uint32_t i = 0; i < tensor->elements; i++) {
        double value = (double)values[i] - offset_of(tensor, i);
        if (tensor->type == QUINTET_FLOAT) {
            ((float *)numbers)[i] = (float)value;
            continue;
        }
        value /= tensor->step;
        /* NaN fails both comparisons and becomes the lowest number. */
        value = value >= high ? high : value >= low ? nearest(value) : low;
        if (tensor->type == QUINTET_INT8)
            ((int8_t *)numbers)[i] = (int8_t)value;
        else if (tensor->type == QUINTET_INT16)
            ((int16_t *)numbers)[i] = (int16_t)value;
        else
            ((int32_t *)numbers)[i] = (int32_t)value;
    }
}

void quintet_dequantise(const struct quintet_tensor *tensor, const void *numbers, float *values)
{
    for (uint32_t i = 0; i < tensor->elements; i++) {
        double value;
        if (tensor->type == QUINTET_FLOAT) {
            value = (double)((const float *)numbers)[i];
        } else {
            value = tensor->type == QUINTET_INT8    ? ((const int8_t *)numbers)[i]
                    : tensor->type == QUINTET_INT16 ? ((const int16_t *)numbers)[i]
                                                    : ((const int32_t *)numbers)[i];
            value *= tensor->step;
        }
        values[i] = (float)(value * factor_of(tensor, i) + offset_of(tensor, i));
    }
}

const char *quintet_status_text(enum quintet_status status)
{
    static const char *const text[] = {
        "ok",
        "no answer from the board: is it configured, are port and rate right?",
        "the port failed",
        "what answers is not a quintet board",
        "the board speaks another version of the link protocol",
        "bus error: no memory or register at this address",
        "the board does not know the request",
        "the board was reset or another host came: a register may have been written",
        "an argument makes no sense",
        "the board has no core, or another one than the network was compiled for",
        "the core was built with other parameters than the network was compiled for",
        "the board's main memory is too small for the network",
        "memory does not hold what was written",
        "the core is busy",
        "the run ended with a fault of the core",
        "the run was aborted",
        "the network is not loaded",
        "the build walks no lists of runs, or the network has none",
        "the list of runs met a bus error or a word that is no command",
    };
    size_t count = sizeof text / sizeof text[0];
    return (size_t)status < count ? text[status] : "unknown status";
}
