/* A program whose event loop polls its isonet, and never waits in it: what comes, what has no room, who does not keep up, and the end. */
#include "threads.h"

#include <poll.h>
#include <unistd.h>

#define MEMBERS 2
#define NOTE 7
/* Messages that wait for a program before its member stands still. */
#define ROOM 256
/* So long nothing is heard of who stands still before the other one names it. */
#define STILL_MS 50

struct member {
    quintet_lab *lab;
    int number;
    quintet_isonet *isonet;
    /* As it was given once. */
    int descriptor;
    /* Notes in isochrons and in plain messages that it was sent, which the other one says. */
    uint32_t sent[2];
};

static pthread_barrier_t all_are_here;

static void wait_for_all(void) { pthread_barrier_wait(&all_are_here); }

static bool is_readable(const struct member *member, int timeout_ms) {
    struct pollfd polled = {.fd = member->descriptor, .events = POLLIN};
    const int ready = poll(&polled, 1, timeout_ms);
    CHECK(ready >= 0);
    return ready == 1;
}

static void join(struct member *member) {
    OK(quintet_isonet_new(member->lab, "test", &member->isonet));
    OK(quintet_isonet_set_member(member->isonet, (uint16_t)member->number, MEMBERS));
    OK(quintet_isonet_set_silence_limit(member->isonet, LONG_MS));
    OK(quintet_isonet_add_handler(member->isonet, NOTE));
    OK(quintet_isonet_add_plain_handler(member->isonet, NOTE));
    REFUSED("not joined", quintet_isonet_descriptor(member->isonet, &member->descriptor));
    REFUSED("not joined", quintet_isonet_peers(member->isonet, &(const quintet_peer_counters *){NULL}, &(size_t){0}));
    OK(quintet_isonet_join(member->isonet, LONG_MS));
    OK(quintet_isonet_descriptor(member->isonet, &member->descriptor));
    CHECK(!is_readable(member, 0));
}

static quintet_isochron *note(quintet_isonet *isonet, uint32_t number) {
    quintet_isochron *isochron;
    OK(quintet_isochron_new(isonet, &isochron));
    OK(quintet_isochron_send(isochron, 1, NOTE, &number, sizeof number));
    return isochron;
}

/* Whether the other one is named as who does not keep up. */
static bool is_held_up(quintet_isonet *isonet) {
    const quintet_peer_counters *peers;
    size_t count;
    OK(quintet_isonet_peers(isonet, &peers, &count));
    CHECK(count == 1 && peers[0].member == 1 && peers[0].unanswered_ms >= 0 && peers[0].reserved[3] == 0);
    CHECK(peers[0].is_awaited == (peers[0].unanswered > 0 || peers[0].unreceived > 0 || peers[0].is_full));
    return peers[0].is_awaited && peers[0].unheard_ms >= STILL_MS;
}

/* Sends notes until nobody takes them any more, and says how many there are. The first isochron that had no room is begun as soon as it has. */
static void send(struct member *other, quintet_isonet *isonet) {
    quintet_status status;
    quintet_isochron *isochron = note(isonet, 0);
    CHECK(!is_held_up(isonet));
    do {
        while ((status = quintet_isochron_begin(isochron)) == QUINTET_OK) {
            COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_begin(isochron));
            quintet_isochron_free(isochron);
            isochron = note(isonet, ++other->sent[0]);
        }
        CHECK(status == QUINTET_BUSY);
        while ((status = quintet_isonet_begin_plain(isonet, 1, NOTE, &other->sent[1], sizeof other->sent[1])) == QUINTET_OK) other->sent[1] += 1;
        CHECK(status == QUINTET_BUSY);
    } while (other->sent[0] + other->sent[1] <= ROOM || !is_held_up(isonet));
    CHECK(other->sent[0] >= 240 && other->sent[1] >= 256);
    other->sent[0] += 1;
    wait_for_all();
    while ((status = quintet_isochron_begin(isochron)) == QUINTET_BUSY) usleep(1000);
    CHECK(status == QUINTET_OK);
    OK(quintet_isochron_wait(isochron, LONG_MS));
    quintet_isochron_free(isochron);
}

/* Takes what it was sent, all of it and in its order, when the descriptor says that there is something. */
static void take(const struct member *member) {
    quintet_isonet_message message;
    quintet_status status;
    uint32_t taken[2] = {0, 0};
    wait_for_all();
    while (taken[0] < member->sent[0] || taken[1] < member->sent[1]) {
        CHECK(is_readable(member, LONG_MS));
        while ((status = quintet_isonet_next(member->isonet, 0, &message)) == QUINTET_OK) {
            uint32_t *next = &taken[message.kind == QUINTET_ISONET_PLAIN];
            CHECK(message.length == sizeof *next && memcmp(message.data, next, sizeof *next) == 0);
            *next += 1;
        }
        CHECK(status == QUINTET_TIMED_OUT);
    }
    CHECK(taken[0] == member->sent[0] && taken[1] == member->sent[1] && !is_readable(member, 0));
}

static void *take_part(void *argument) {
    struct member *member = argument;
    quintet_isonet_message message;
    join(member);
    wait_for_all();
    if (member->number == 0) send(member + 1, member->isonet);
    else take(member);
    OK(quintet_isonet_close(member->isonet));
    CHECK(is_readable(member, LONG_MS));
    COMES_TO(QUINTET_CLOSED, quintet_isonet_next(member->isonet, 0, &message));
    CHECK(is_readable(member, 0));
    quintet_isonet_free(member->isonet);
    return NULL;
}

int main(void) {
    quintet_lab *lab;
    OK(quintet_lab_embedded(&lab));
    struct member members[MEMBERS] = {{.lab = lab, .number = 0}, {.lab = lab, .number = 1}};
    CHECK(pthread_barrier_init(&all_are_here, NULL, MEMBERS) == 0);
    in_threads(take_part, members, sizeof *members, MEMBERS);
    pthread_barrier_destroy(&all_are_here);
    quintet_lab_free(lab);
    return 0;
}
