/* Peer: a key of etcd that each member writes and watches, in the order of its revisions.
 *
 * One member of etcd, whose files are in memory: nothing is replicated, and a sync costs nothing. Each member of the group has one connection to
 * it, with a stream for each put that is under way and one for the watch (etcdserverpb.PutRequest, WatchRequest, WatchResponse). etcd does puts that
 * are under way at the same time in any order, but all see the same one. */
#define _GNU_SOURCE
#include "etcd_cluster.h"
#include "multicast.h"
#include "own_mounts.h"

#define PEER "etcd"

enum { WATCHED_BYTES = 8 << 20, REQUEST_BYTES = 128, WATCH_STREAM = 1 };

/* Of WatchResponse, Event and KeyValue. */
enum { RESPONSE_CREATED = 3, RESPONSE_CANCELED = 4, RESPONSE_EVENT = 11, EVENT_PAIR = 2, PAIR_VALUE = 5 };

static struct etcd_cluster cluster = {.count = 1};
static int port;

struct etcd_member {
    struct grpc call;
    char key[32];
    long answered, ended; /* puts of which the answer, and the end of the stream, has come */
    size_t from, to;      /* what of `watched` is not read yet */
    const unsigned char *event, *events_end; /* of the response that is read */
    unsigned char watched[WATCHED_BYTES];
};

/* Of the watch, whose bytes are kept, or of a put. */
static void take_data(struct etcd_member *member, const struct grpc_frame *frame)
{
    if (frame->stream != WATCH_STREAM) {
        member->answered++;
        return;
    }
    if (member->to + frame->bytes > WATCHED_BYTES) {
        memmove(member->watched, member->watched + member->from, member->to - member->from);
        member->to -= member->from;
        member->from = 0;
    }
    if (member->to + frame->bytes > WATCHED_BYTES)
        fail_grpc("a response to the watch is too long");
    memcpy(member->watched + member->to, frame->body, frame->bytes);
    member->to += frame->bytes;
}

static void take_frame(struct etcd_member *member)
{
    struct grpc_frame frame = next_frame(&member->call);
    if (frame.type == SETTINGS || frame.type == PING)
        acknowledge(&member->call, &frame);
    if (frame.type == GOAWAY || frame.type == RST_STREAM)
        fail_grpc("etcd");
    if (frame.type == DATA)
        take_data(member, &frame);
    if ((frame.type != DATA && frame.type != HEADERS) || (frame.flags & END_STREAM) == 0)
        return;
    member->ended++;
    /* An answer without a message is an error. */
    if (frame.stream == WATCH_STREAM || member->ended > member->answered)
        fail_grpc(frame.stream == WATCH_STREAM ? "the watch" : "Put");
}

/* Waits for the next response to the watch, a message behind its prefix: whether it is compressed, and how long it is. */
static void read_response(struct etcd_member *member)
{
    size_t bytes = SIZE_MAX;
    for (;;) {
        const unsigned char *prefix = member->watched + member->from;
        size_t there = member->to - member->from;
        if (there >= GRPC_PREFIX_BYTES)
            bytes = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 | prefix[4];
        if (there >= GRPC_PREFIX_BYTES && there - GRPC_PREFIX_BYTES >= bytes)
            break;
        take_frame(member);
    }
    member->event = member->watched + member->from + GRPC_PREFIX_BYTES;
    member->events_end = member->event + bytes;
    member->from += GRPC_PREFIX_BYTES + bytes;
    if (find_field(member->event, member->events_end, RESPONSE_CANCELED, NULL) != 0)
        fail_grpc("the watch was cancelled");
}

static struct multicast read_value(const unsigned char *event, const unsigned char *end)
{
    struct multicast delivered;
    const unsigned char *pair = end, *value = end;
    uint64_t pair_bytes = find_field(event, end, EVENT_PAIR, &pair);
    if (pair_bytes > (uint64_t)(end - pair))
        fail_grpc("an event of the watch");
    uint64_t bytes = find_field(pair, pair + pair_bytes, PAIR_VALUE, &value);
    if (bytes != sizeof delivered || bytes > (uint64_t)(end - value))
        fail_grpc("a value of another size");
    memcpy(&delivered, value, sizeof delivered);
    return delivered;
}

static struct multicast receive_multicast(void *joined)
{
    struct etcd_member *member = joined;
    for (;;) {
        while (member->event < member->events_end) {
            uint64_t key = read_varint(&member->event, member->events_end);
            uint64_t number = read_varint(&member->event, member->events_end);
            if ((key & 7) != 2)
                continue;
            const unsigned char *bytes = member->event;
            if (number > (uint64_t)(member->events_end - bytes))
                fail_grpc("a response to the watch");
            member->event += number;
            if (key >> 3 == RESPONSE_EVENT)
                return read_value(bytes, member->event);
        }
        read_response(member);
    }
}

/* Room for all that the watch will say. */
static void widen_window(const struct grpc *call)
{
    unsigned char window[4], frame[FRAME_HEADER_BYTES + sizeof window];
    put_number(window, 0x7fff0000 - 65535, 4);
    put_frame(frame, WINDOW_UPDATE, 0, WATCH_STREAM, window, sizeof window);
    send_all(call->socket, frame, sizeof frame);
}

/* Watches the group's key. */
static void *join(const struct part *part)
{
    static struct etcd_member member;
    unsigned char request[REQUEST_BYTES];
    if (!begin_grpc(&member.call, port))
        fail_system("connect to etcd");
    int length = snprintf(member.key, sizeof member.key, "order/%u", part->group);
    int bytes = snprintf((char *)request, sizeof request, "\x0a%c\x0a%c%s", length + 2, length, member.key);
    send_call(&member.call, "/etcdserverpb.Watch/Watch", request, (size_t)bytes, 0);
    widen_window(&member.call);
    member.call.stream += 2;
    read_response(&member);
    if (find_field(member.event, member.events_end, RESPONSE_CREATED, NULL) == 0)
        fail_grpc("the watch was not created");
    return &member;
}

static bool send_multicast(void *joined, const struct multicast *message)
{
    struct etcd_member *member = joined;
    unsigned char request[REQUEST_BYTES];
    int bytes = snprintf((char *)request, sizeof request, "\x0a%c%s\x12%c", (int)strlen(member->key), member->key,
                         (int)sizeof *message);
    memcpy(request + bytes, message, sizeof *message);
    send_call(&member->call, "/etcdserverpb.KV/Put", request, (size_t)bytes + sizeof *message, END_STREAM);
    member->call.stream += 2;
    return true;
}

static void take_part(void *joined, struct part *part)
{
    static const struct multicast_calls calls = {send_multicast, receive_multicast, .keeps_own_order = false};
    flow(joined, part, &calls);
}

static void leave(void *joined)
{
    const struct etcd_member *member = joined;
    close(member->call.socket);
}

int main(int count, char **arguments)
{
    static const struct multicast_peer peer = {PEER, join, take_part, leave};
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    enter_own_mounts();
    mount_own("/dev/shm");
    make_folder(cluster.folder, "/dev/shm");
    start_cluster(&cluster);
    port = find_leader(&cluster);
    report_multicasts(&peer, &options);
    signal(SIGCHLD, SIG_DFL);
    stop_cluster(&cluster);
    return 0;
}
