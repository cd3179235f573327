/* As much of gRPC over HTTP/2 (RFC 9113) as one call after another takes on a connection of its own: requests of some bytes, and answers
 * of which the message counts. Headers go without compression, those of answers are not read: an answer without a message is an error. */
#ifndef PEER_GRPC_H
#define PEER_GRPC_H

#include <stdint.h>
#include <string.h>

#include "ports.h"

/* Types of frames and their flags (RFC 9113, section 6). */
enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { FRAME_HEADER_BYTES = 9, GRPC_PREFIX_BYTES = 5, MOST_FRAME_BYTES = 16384, MOST_REQUEST_BYTES = 1024 };

struct grpc {
    int socket;
    uint32_t stream;
    size_t from, to; /* what of `received` is not read yet */
    unsigned char received[2 * MOST_FRAME_BYTES];
    unsigned char answer[MOST_FRAME_BYTES];
    size_t answer_bytes;
};

struct grpc_frame {
    size_t bytes;
    int type;
    int flags;
    uint32_t stream;
    const unsigned char *body;
};

__attribute__((noreturn)) static inline void fail_grpc(const char *what)
{
    fprintf(stderr, "%s: unexpected answer\n", what);
    exit(EXIT_BROKEN);
}

static inline void put_number(unsigned char *to, uint32_t number, int bytes)
{
    for (int at = 0; at < bytes; at++)
        to[at] = (unsigned char)(number >> 8 * (bytes - 1 - at));
}

/* Appends a frame; returns where it ends. */
static inline unsigned char *put_frame(unsigned char *to, int type, int flags, uint32_t stream, const void *body, size_t bytes)
{
    put_number(to, (uint32_t)bytes, 3);
    to[3] = (unsigned char)type;
    to[4] = (unsigned char)flags;
    put_number(to + 5, stream, 4);
    if (bytes > 0)
        memcpy(to + FRAME_HEADER_BYTES, body, bytes);
    return to + FRAME_HEADER_BYTES + bytes;
}

static inline void send_all(int socket, const unsigned char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0)
            fail_system("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* The preface, settings as they are by default, and a window that lasts for the whole run. */
static inline void greet(const struct grpc *call)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    unsigned char bytes[128], window[4];
    memcpy(bytes, preface, sizeof preface - 1);
    unsigned char *end = put_frame(bytes + sizeof preface - 1, SETTINGS, 0, 0, NULL, 0);
    put_number(window, 0x7fff0000 - 65535, 4);
    end = put_frame(end, WINDOW_UPDATE, 0, 0, window, sizeof window);
    send_all(call->socket, bytes, (size_t)(end - bytes));
}

/* Whether somebody listens at the port, whom the call may ask then. */
static inline bool begin_grpc(struct grpc *call, int port)
{
    *call = (struct grpc){.socket = connect_to_port(port), .stream = 1};
    if (call->socket < 0)
        return false;
    greet(call);
    return true;
}

static inline void receive_at_least(struct grpc *call, size_t bytes)
{
    if (call->from > 0) {
        memmove(call->received, call->received + call->from, call->to - call->from);
        call->to -= call->from;
        call->from = 0;
    }
    while (call->to < bytes) {
        ssize_t count = recv(call->socket, call->received + call->to, sizeof call->received - call->to, 0);
        if (count <= 0)
            fail_grpc("the connection has ended");
        call->to += (size_t)count;
    }
}

static inline struct grpc_frame next_frame(struct grpc *call)
{
    if (call->to - call->from < FRAME_HEADER_BYTES)
        receive_at_least(call, FRAME_HEADER_BYTES);
    const unsigned char *header = call->received + call->from;
    size_t bytes = (size_t)header[0] << 16 | (size_t)header[1] << 8 | header[2];
    if (bytes > MOST_FRAME_BYTES)
        fail_grpc("a frame is too long");
    if (call->to - call->from < FRAME_HEADER_BYTES + bytes)
        receive_at_least(call, FRAME_HEADER_BYTES + bytes);
    header = call->received + call->from;
    call->from += FRAME_HEADER_BYTES + bytes;
    uint32_t stream = (uint32_t)(header[5] & 0x7f) << 24 | (uint32_t)header[6] << 16 | (uint32_t)header[7] << 8 | header[8];
    return (struct grpc_frame){bytes, header[3], header[4], stream, header + FRAME_HEADER_BYTES};
}

/* What a peer wants acknowledged is, at once. */
static inline void acknowledge(const struct grpc *call, const struct grpc_frame *frame)
{
    unsigned char bytes[FRAME_HEADER_BYTES + 8];
    if ((frame->flags & ACK) != 0 || (frame->type == PING && frame->bytes != 8))
        return;
    size_t echoed = frame->type == PING ? frame->bytes : 0;
    unsigned char *end = put_frame(bytes, frame->type, ACK, 0, frame->body, echoed);
    send_all(call->socket, bytes, (size_t)(end - bytes));
}

/* Literal headers that are not indexed (RFC 7541, section 6.2.2). */
static inline unsigned char *put_text(unsigned char *to, const char *text)
{
    size_t length = strlen(text);
    *to++ = (unsigned char)length;
    memcpy(to, text, length);
    return to + length;
}

static inline size_t put_headers(unsigned char *to, const char *path)
{
    unsigned char *end = to;
    *end++ = 0x83; /* :method POST */
    *end++ = 0x86; /* :scheme http */
    *end++ = 0x04; /* :path */
    end = put_text(end, path);
    *end++ = 0x01; /* :authority */
    end = put_text(end, LOOPBACK);
    *end++ = 0x0f, *end++ = 0x10; /* content-type */
    end = put_text(end, "application/grpc");
    *end++ = 0x00;
    end = put_text(end, "te");
    end = put_text(end, "trailers");
    return (size_t)(end - to);
}

/* Flags: END_STREAM, unless the answer to this message is not the last. */
static inline void send_call(struct grpc *call, const char *path, const void *message, size_t bytes, int flags)
{
    unsigned char headers[256], data[GRPC_PREFIX_BYTES + MOST_REQUEST_BYTES] = {0};
    unsigned char frames[2 * FRAME_HEADER_BYTES + sizeof headers + sizeof data];
    put_number(data + 1, (uint32_t)bytes, 4);
    memcpy(data + GRPC_PREFIX_BYTES, message, bytes);
    unsigned char *end = put_frame(frames, HEADERS, END_HEADERS, call->stream, headers, put_headers(headers, path));
    end = put_frame(end, DATA, flags, call->stream, data, GRPC_PREFIX_BYTES + bytes);
    send_all(call->socket, frames, (size_t)(end - frames));
}

/* A call; its answer's message is in `answer` then. */
static inline void ask_grpc(struct grpc *call, const char *path, const void *message, size_t bytes)
{
    send_call(call, path, message, bytes, END_STREAM);
    call->answer_bytes = 0;
    for (;;) {
        struct grpc_frame frame = next_frame(call);
        if (frame.type == SETTINGS || frame.type == PING)
            acknowledge(call, &frame);
        if (frame.type == GOAWAY || frame.type == RST_STREAM)
            fail_grpc(path);
        if (frame.stream != call->stream || (frame.type != DATA && frame.type != HEADERS))
            continue;
        if (frame.type == DATA && call->answer_bytes + frame.bytes <= sizeof call->answer) {
            memcpy(call->answer + call->answer_bytes, frame.body, frame.bytes);
            call->answer_bytes += frame.bytes;
        }
        if ((frame.flags & END_STREAM) != 0)
            break;
    }
    call->stream += 2;
    if (call->answer_bytes < GRPC_PREFIX_BYTES)
        fail_grpc(path);
}

#endif
