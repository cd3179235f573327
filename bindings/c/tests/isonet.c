/* What a program may say of its isonet and ask of it: updates, plain messages, copies at some, places, views, and programs that end, that take nothing, or that do not end what they have begun. */
#include "threads.h"

#include <unistd.h>

#define MEMBERS 2
#define NOTE 7
#define X 1
#define AT_ONE 2
#define ROUNDS 20
#define SILENCE_MS 4000

struct member {
    quintet_lab *lab;
    int number;
    quintet_isonet *isonet;
};

static pthread_barrier_t all_are_here;

static void wait_for_all(void) { pthread_barrier_wait(&all_are_here); }

static void join(struct member *member, uint32_t silence_ms) {
    OK(quintet_isonet_new(member->lab, "test", &member->isonet));
    OK(quintet_isonet_set_member(member->isonet, (uint16_t)member->number, MEMBERS));
    OK(quintet_isonet_set_silence_limit(member->isonet, silence_ms));
    OK(quintet_isonet_add_variable(member->isonet, X, sizeof(int64_t)));
    OK(quintet_isonet_add_variable_at(member->isonet, AT_ONE, sizeof(int64_t), (uint16_t[]){1}, 1));
    OK(quintet_isonet_add_handler(member->isonet, NOTE));
    OK(quintet_isonet_add_plain_handler(member->isonet, NOTE));
    OK(quintet_isonet_set_agreed(member->isonet));
    REFUSED("no kind of link", quintet_isonet_set_listen(member->isonet, "nowhere:at all"));
    OK(quintet_isonet_set_listen(member->isonet, "tcp:127.0.0.1:0"));
    OK(quintet_isonet_tell_views(member->isonet));
    OK(quintet_isonet_check_invariants(member->isonet));
    OK(quintet_isonet_join(member->isonet, LONG_MS));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_set_agreed(member->isonet));
}

/* Executes it, and frees it unless its values are wanted. */
static quintet_isochron *executed(quintet_isochron *isochron) {
    OK(quintet_isochron_begin(isochron));
    OK(quintet_isochron_wait(isochron, LONG_MS));
    return isochron;
}

static quintet_isochron *reading(quintet_isonet *isonet, uint32_t variable) {
    quintet_isochron *isochron;
    OK(quintet_isochron_new(isonet, &isochron));
    OK(quintet_isochron_read(isochron, variable, NULL));
    return isochron;
}

static int64_t read_value(quintet_isonet *isonet, uint32_t variable) {
    const void *value;
    size_t length;
    int64_t number;
    quintet_no_value why;
    quintet_isochron *isochron = executed(reading(isonet, variable));
    OK(quintet_isochron_no_value(isochron, 0, &why));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_no_value(isochron, 1, &why));
    CHECK(why == QUINTET_HAS_VALUE);
    OK(quintet_isochron_value(isochron, 0, &value, &length));
    CHECK(length == sizeof number);
    memcpy(&number, value, sizeof number);
    quintet_isochron_free(isochron);
    return number;
}

static void note(quintet_isonet *isonet, uint16_t member, int times) {
    quintet_isochron *isochron;
    OK(quintet_isochron_new(isonet, &isochron));
    for (int number = 0; number < times; number++) OK(quintet_isochron_send(isochron, member, NOTE, "note", 4));
    OK(quintet_isochron_begin(isochron));
    quintet_isochron_free(isochron);
}

/* Moves one from the first to the second, if there is something. */
static bool move_one(void *const *values, void *argument) {
    int64_t *from = values[0], *to = values[1];
    *(int *)argument += 1;
    if (*from < 0) return false;
    *from -= 1;
    *to += 2;
    return true;
}

static void update(struct member *member) {
    int called = 0;
    bool has_swapped;
    int64_t present = 0, next = ROUNDS * MEMBERS;
    const uint32_t both[] = {X, AT_ONE}, twice[] = {X, X}, strange = 9;
    quintet_isonet *isonet = member->isonet;
    if (member->number == 0) {
        OK(quintet_isonet_compare_and_swap(isonet, X, &present, &next, sizeof next, LONG_MS, &has_swapped));
        CHECK(has_swapped);
        OK(quintet_isonet_compare_and_swap(isonet, X, &present, &present, sizeof next, LONG_MS, &has_swapped));
        CHECK(!has_swapped && read_value(isonet, X) == next);
        REFUSED("8 bytes", quintet_isonet_compare_and_swap(isonet, X, &present, &next, 4, LONG_MS, &has_swapped));
    }
    wait_for_all();
    for (int round = 0; round < ROUNDS; round++) OK(quintet_isonet_update(isonet, both, 2, move_one, &called, LONG_MS));
    CHECK(called == ROUNDS);
    wait_for_all();
    CHECK(read_value(isonet, X) == 0 && read_value(isonet, AT_ONE) == ROUNDS * MEMBERS * 2);
    wait_for_all();
    if (member->number == 1) {
        REFUSED("each once", quintet_isonet_update(isonet, twice, 2, move_one, &called, LONG_MS));
        REFUSED("each once", quintet_isonet_update(isonet, NULL, 0, move_one, &called, LONG_MS));
        REFUSED("variable 9", quintet_isonet_update(isonet, &strange, 1, move_one, &called, LONG_MS));
        REFUSED("NULL", quintet_isonet_update(isonet, both, 2, NULL, NULL, LONG_MS));
        OK(quintet_isonet_compare_and_swap(isonet, X, &present, &(int64_t){-1}, sizeof next, LONG_MS, &has_swapped));
        OK(quintet_isonet_update(isonet, both, 2, move_one, &called, LONG_MS));
        CHECK(called == ROUNDS + 1 && read_value(isonet, X) == -1 && read_value(isonet, AT_ONE) == ROUNDS * MEMBERS * 2);
        COMES_TO(QUINTET_TIMED_OUT, quintet_isonet_update(isonet, both, 2, move_one, &called, 0));
        CHECK(read_value(isonet, X) == -1 && called == ROUNDS + 1);
    }
    wait_for_all();
}

static bool is_before(quintet_place one, quintet_place other) {
    if (one.view != other.view) return one.view < other.view;
    if (one.pulse != other.pulse) return one.pulse < other.pulse;
    if (one.sender != other.sender) return one.sender < other.sender;
    return one.rank != other.rank ? one.rank < other.rank : one.behind < other.behind;
}

/* A plain message comes though an isochron waits; what is in one isochron has one place at all. */
static void talk(struct member *member) {
    quintet_isonet *isonet = member->isonet;
    quintet_isonet_message message;
    quintet_place place, earlier;
    if (member->number == 0) {
        REFUSED("node 2", quintet_isonet_send_plain(isonet, 2, NOTE, "x", 1, LONG_MS));
        static char large[70000];
        COMES_TO(QUINTET_TOO_LARGE, quintet_isonet_begin_plain(isonet, 1, NOTE, large, sizeof large));
        quintet_isochron *reserving, *assigning;
        OK(quintet_isochron_new(isonet, &reserving));
        OK(quintet_isochron_schedule(reserving, X));
        quintet_isochron_free(executed(reserving));
        OK(quintet_isonet_send_plain(isonet, 1, NOTE, "ask", 3, LONG_MS));
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        CHECK(message.kind == QUINTET_ISONET_PLAIN && message.sender == 1 && message.handler == NOTE && memcmp(message.data, "told", 4) == 0);
        REFUSED("no place", quintet_isonet_place(isonet, &place));
        OK(quintet_isochron_new(isonet, &assigning));
        OK(quintet_isochron_assign(assigning, X, &(int64_t){0}, 8));
        OK(quintet_isochron_send_all(assigning, NOTE, "note", 4));
        OK(quintet_isochron_begin(assigning));
        OK(quintet_isochron_wait(assigning, LONG_MS));
        OK(quintet_isochron_place(assigning, &earlier));
        quintet_isochron_free(assigning);
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        OK(quintet_isonet_place(isonet, &place));
        CHECK(memcmp(message.data, "note", 4) == 0 && !is_before(place, earlier) && !is_before(earlier, place) && place.view == 1 && place.sender == 0);
    } else {
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        CHECK(message.kind == QUINTET_ISONET_PLAIN && message.length == 3);
        quintet_isochron *waits = reading(isonet, X);
        OK(quintet_isochron_begin(waits));
        COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_place(waits, &place));
        OK(quintet_isonet_begin_plain(isonet, 0, NOTE, "told", 4));
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        CHECK(message.kind == QUINTET_ISONET_MESSAGE);
        OK(quintet_isochron_wait(waits, LONG_MS));
        OK(quintet_isonet_place(isonet, &place));
        OK(quintet_isochron_place(waits, &earlier));
        CHECK(is_before(earlier, place));
        quintet_isochron_free(waits);
    }
    wait_for_all();
}

/* Member 1 reserves a place, and takes nothing while more is sent to it than there is room for. */
static void take_nothing(struct member *member) {
    quintet_isonet *isonet = member->isonet;
    quintet_isonet_message message;
    quintet_isochron *isochron, *waits;
    quintet_no_value why;
    quintet_place place;
    const uint16_t *members;
    const quintet_lost *lost;
    uint32_t number;
    size_t count;
    if (member->number == 1) {
        OK(quintet_isochron_new(isonet, &isochron));
        OK(quintet_isochron_schedule(isochron, X));
        quintet_isochron_free(executed(isochron));
        wait_for_all();
        while (quintet_isochron_new(isonet, &isochron) == QUINTET_OK) quintet_isochron_free(isochron), usleep(1000);
        quintet_status status;
        while ((status = quintet_isonet_next(isonet, LONG_MS, &message)) == QUINTET_OK) continue;
        CHECK(status == QUINTET_TASK_FAILED && strstr(quintet_error_message(), "has taken no message for 2000 ms while 256") != NULL);
        COMES_TO(QUINTET_TASK_FAILED, quintet_isonet_close(isonet));
        return;
    }
    wait_for_all();
    OK(quintet_isonet_view(isonet, &number, &members, &count));
    CHECK(number == 1 && count == MEMBERS && members[0] == 0 && members[1] == 1);
    OK(quintet_isonet_lost(isonet, number, &lost, &count));
    CHECK(count == 0);
    waits = reading(isonet, X);
    OK(quintet_isochron_begin(waits));
    for (int times = 0; times < 4; times++) note(isonet, 1, 100);
    OK(quintet_isonet_next(isonet, LONG_MS, &message));
    CHECK(message.kind == QUINTET_ISONET_VIEW && message.length == sizeof *members && *(const uint16_t *)message.data == 0);
    OK(quintet_isonet_place(isonet, &place));
    CHECK(place.view > 1 && place.pulse == 0);
    OK(quintet_isonet_view(isonet, &number, &members, &count));
    CHECK(number == place.view && count == 1 && members[0] == 0);
    /* Who has ended is named, and for what. */
    OK(quintet_isonet_lost(isonet, place.view, &lost, &count));
    CHECK(count == 1 && lost[0].member == 1 && lost[0].cause == QUINTET_LOSS_GONE);
    OK(quintet_isonet_back(isonet, place.view, &members, &count));
    CHECK(count == 0);
    REFUSED("no view 1000", quintet_isonet_lost(isonet, 1000, &lost, &count));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_back(isonet, 0, &members, &count));
    /* Who waited for the value of who has gone is told so, and so is who reads it now. */
    OK(quintet_isochron_wait(waits, LONG_MS));
    for (int times = 0; times < 2; times++) {
        const void *value = &value;
        size_t length;
        OK(quintet_isochron_no_value(waits, 0, &why));
        CHECK(why == QUINTET_WRITER_DIED);
        OK(quintet_isochron_value(waits, 0, &value, &length));
        CHECK(value == NULL && length == 0);
        quintet_isochron_free(waits);
        waits = executed(reading(isonet, X));
    }
    quintet_isochron_free(waits);
    bool has_swapped;
    COMES_TO(QUINTET_PEER_DIED, quintet_isonet_compare_and_swap(isonet, X, &(int64_t){0}, &(int64_t){1}, 8, LONG_MS, &has_swapped));
    CHECK(strstr(quintet_error_message(), "had reserved the place") != NULL && read_value(isonet, X) == 0);
    /* What was begun and never ended is told at the end. */
    OK(quintet_isochron_new(isonet, &isochron));
    OK(quintet_isochron_write(isochron, X, &(int64_t){3}, 8));
    REFUSED("never ended: 1", quintet_isonet_close(isonet));
    COMES_TO(QUINTET_CLOSED, quintet_isochron_begin(isochron));
    quintet_isochron_free(isochron);
}

/* Their classes follow each other, and have all that were counted. */
static void check_intervals(quintet_isonet *isonet, const quintet_counters *counters) {
    const quintet_interval_class *classes;
    size_t count;
    uint64_t counted = 0;
    OK(quintet_isonet_pulse_intervals(isonet, &classes, &count));
    for (size_t at = 0; at < count; at++) {
        CHECK(classes[at].count > 0 && classes[at].from_ns <= classes[at].to_ns && (at == 0 || classes[at - 1].to_ns < classes[at].from_ns));
        counted += classes[at].count;
    }
    CHECK(counted == counters->pulse_intervals);
    if (count > 0) CHECK(classes[0].from_ns == counters->pulse_interval_shortest_ns && classes[count - 1].to_ns == counters->pulse_interval_longest_ns);
}

/* Values and messages come in the order in which they are given and sent, each isochron's at one place. */
static void see_values(struct member *member) {
    quintet_isonet *isonet;
    quintet_isonet_message message;
    quintet_isochron *isochron;
    quintet_place place, next;
    quintet_counters counters, last;
    OK(quintet_isonet_new(member->lab, "values", &isonet));
    OK(quintet_isonet_set_member(isonet, (uint16_t)member->number, MEMBERS));
    OK(quintet_isonet_add_variable(isonet, X, 1));
    OK(quintet_isonet_add_handler(isonet, NOTE));
    OK(quintet_isonet_tell_values(isonet));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_counters(isonet, &counters));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_pulse_intervals(isonet, &(const quintet_interval_class *){NULL}, &(size_t){0}));
    OK(quintet_isonet_join(isonet, LONG_MS));
    wait_for_all();
    OK(quintet_isochron_new(isonet, &isochron));
    for (int round = 0; round < ROUNDS; round++) {
        const char value = (char)('a' + member->number);
        OK(quintet_isochron_write(isochron, X, &value, 1));
        OK(quintet_isochron_send_all(isochron, NOTE, &value, 1));
    }
    OK(quintet_isochron_begin(isochron));
    OK(quintet_isochron_wait(isochron, LONG_MS));
    quintet_isochron_free(isochron);
    for (int number = 0; number < MEMBERS * ROUNDS; number++) {
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        OK(quintet_isonet_place(isonet, &place));
        CHECK(message.kind == QUINTET_ISONET_VALUE && message.handler == X && *(const char *)message.data == 'a' + message.sender && place.sender == message.sender);
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        OK(quintet_isonet_place(isonet, &next));
        CHECK(message.kind == QUINTET_ISONET_MESSAGE && message.handler == NOTE && *(const char *)message.data == 'a' + message.sender);
        CHECK(!is_before(place, next) && !is_before(next, place));
    }
    wait_for_all();
    OK(quintet_isonet_counters(isonet, &counters));
    CHECK(counters.begun == 1 && counters.executed == 1 && counters.operations == ROUNDS * (1 + MEMBERS) && counters.refused == 0);
    CHECK(counters.parts == MEMBERS && counters.parts_at_once + counters.parts_waited == MEMBERS - 1);
    if (member->number == 0) CHECK(counters.stamped == MEMBERS && counters.markers == MEMBERS * MEMBERS && counters.pulse_intervals == counters.pulses - 1);
    CHECK(counters.pulse_interval_shortest_ns <= counters.pulse_interval_median_ns && counters.pulse_interval_p99_ns <= counters.pulse_interval_longest_ns);
    OK(quintet_isonet_close(isonet));
    check_intervals(isonet, &counters);
    OK(quintet_isonet_counters(isonet, &last));
    CHECK(memcmp(&last, &counters, sizeof last) == 0);
    quintet_isonet_free(isonet);
}

static void *take_part(void *argument) {
    struct member *member = argument;
    join(member, LONG_MS);
    update(member);
    talk(member);
    OK(quintet_isonet_close(member->isonet));
    quintet_isonet_free(member->isonet);
    see_values(member);
    wait_for_all();
    join(member, SILENCE_MS);
    take_nothing(member);
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
