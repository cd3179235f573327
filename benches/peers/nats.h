/* As much of the NATS client protocol as one request after another takes, and what is delivered between:
 * https://docs.nats.io/reference/reference-protocols/nats-protocol. Answers come to a subject of the connection's own. */
#ifndef PEER_NATS_H
#define PEER_NATS_H

#include "ports.h"

enum { LINE_BYTES = 512, RECEIVED_BYTES = 1 << 16, ANSWER_BYTES = 4096 };

/* The subscription to answers; a program may have others. */
enum { ANSWERS = 1 };

struct nats {
    int socket;
    char inbox[32];  /* the subject of answers */
    size_t from, to; /* what of `received` is not read yet */
    char received[RECEIVED_BYTES];
    char reply[LINE_BYTES];        /* where the last message may be answered, if that is anywhere */
    char answer[ANSWER_BYTES + 1]; /* the last one */
};

/* A message of the server. */
struct nats_message {
    int subscription;
    size_t bytes;
    const char *payload; /* until the next one is read */
};

__attribute__((noreturn)) static inline void fail_nats(const char *what)
{
    fprintf(stderr, "nats-server: %s\n", what);
    exit(EXIT_BROKEN);
}

static inline void send_all(const struct nats *nats, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(nats->socket, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0)
            fail_system("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* Whether somebody listens at the port, who is told where answers go then, and whether messages may have headers. */
static inline bool begin_nats(struct nats *nats, int port, const char *inbox, bool has_headers)
{
    char line[LINE_BYTES];
    nats->from = nats->to = 0;
    nats->socket = connect_to_port(port);
    if (nats->socket < 0)
        return false;
    snprintf(nats->inbox, sizeof nats->inbox, "%s", inbox);
    int length = snprintf(line, sizeof line,
                          "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\",\"protocol\":1%s}\r\n"
                          "SUB %s %d\r\n",
                          has_headers ? ",\"headers\":true" : "", inbox, ANSWERS);
    send_all(nats, line, (size_t)length);
    return true;
}

/* Whether more has come: not if the connection has ended, or nothing came within the socket's time. */
static inline bool receive_more(struct nats *nats)
{
    memmove(nats->received, nats->received + nats->from, nats->to - nats->from);
    nats->to -= nats->from;
    nats->from = 0;
    if (nats->to == sizeof nats->received)
        fail_nats("a message is too long");
    ssize_t count = recv(nats->socket, nats->received + nats->to, sizeof nats->received - nats->to, 0);
    if (count <= 0)
        return false;
    nats->to += (size_t)count;
    return true;
}

/* The next line, which it ends with a zero in place of the line's end, or NULL. */
static inline char *next_line(struct nats *nats)
{
    for (;;) {
        char *line = nats->received + nats->from;
        char *end = memmem(line, nats->to - nats->from, "\r\n", 2);
        if (end != NULL) {
            *end = '\0';
            nats->from += (size_t)(end - line) + 2;
            return line;
        }
        if (!receive_more(nats))
            return NULL;
    }
}

/* The last word of the line but one: where a message may be answered, else its subscription. */
static inline void keep_reply(struct nats *nats, const char *line, const char *last)
{
    const char *before = memrchr(line, ' ', (size_t)(last - line));
    size_t length = before != NULL ? (size_t)(last - before) - 1 : 0;
    if (length >= sizeof nats->reply)
        fail_nats(line);
    if (length > 0)
        memcpy(nats->reply, before + 1, length);
    nats->reply[length] = '\0';
}

/* Of a line `MSG subject subscription [reply] bytes`; false if the connection ends before the payload does. */
static inline bool read_message(struct nats *nats, const char *line, struct nats_message *message)
{
    const char *last = strrchr(line, ' ');
    if (sscanf(line, "MSG %*s %d", &message->subscription) != 1 || sscanf(last, "%zu", &message->bytes) != 1 ||
        message->bytes > RECEIVED_BYTES / 2)
        fail_nats(line);
    keep_reply(nats, line, last);
    while (nats->to - nats->from < message->bytes + 2)
        if (!receive_more(nats))
            return false;
    message->payload = nats->received + nats->from;
    nats->from += message->bytes + 2;
    return true;
}

/* One with headers is not expected: their first line says what is wrong. */
__attribute__((noreturn)) static inline void fail_headers(struct nats *nats)
{
    const char *line = next_line(nats);
    fail_nats(line != NULL ? line : "the connection has ended within headers");
}

/* Whether a message came before the connection ended, or the socket's time was over. */
static inline bool find_message(struct nats *nats, struct nats_message *message)
{
    static const char pong[] = "PONG\r\n";
    for (;;) {
        const char *line = next_line(nats);
        if (line == NULL)
            return false;
        if (strncmp(line, "MSG ", 4) == 0)
            return read_message(nats, line, message);
        if (strcmp(line, "PING") == 0)
            send_all(nats, pong, sizeof pong - 1);
        else if (strncmp(line, "HMSG ", 5) == 0)
            fail_headers(nats);
        else if (strncmp(line, "INFO ", 5) != 0)
            fail_nats(line);
    }
}

static inline struct nats_message next_message(struct nats *nats)
{
    struct nats_message message = {0};
    if (!find_message(nats, &message))
        fail_nats("the connection has ended, or no message came in time");
    return message;
}

static inline void keep_answer(struct nats *nats, const struct nats_message *message)
{
    size_t bytes = message->bytes < ANSWER_BYTES ? message->bytes : ANSWER_BYTES;
    memcpy(nats->answer, message->payload, bytes);
    nats->answer[bytes] = '\0';
}

/* Whether an answer of JetStream's interface has this text. */
static inline bool answers(struct nats *nats, const struct nats_message *message, const char *text)
{
    keep_answer(nats, message);
    return strstr(nats->answer, text) != NULL;
}

static inline void require_success(struct nats *nats, const struct nats_message *message)
{
    if (answers(nats, message, "\"error\""))
        fail_nats(nats->answer);
}

static inline void publish(const struct nats *nats, const char *subject, const void *payload, size_t bytes)
{
    char line[LINE_BYTES + ANSWER_BYTES];
    int length = snprintf(line, LINE_BYTES, "PUB %s %s %zu\r\n", subject, nats->inbox, bytes);
    memcpy(line + length, payload, bytes);
    memcpy(line + length + bytes, "\r\n", 2);
    send_all(nats, line, (size_t)length + bytes + 2);
}

static inline struct nats_message answer_to(struct nats *nats, const char *subject, const char *request)
{
    publish(nats, subject, request, strlen(request));
    struct nats_message message = next_message(nats);
    if (message.subscription != ANSWERS)
        fail_nats("a delivery in place of an answer");
    return message;
}

/* A request of JetStream's interface. */
static inline void ask(struct nats *nats, const char *subject, const char *request)
{
    struct nats_message message = answer_to(nats, subject, request);
    require_success(nats, &message);
}

#endif
