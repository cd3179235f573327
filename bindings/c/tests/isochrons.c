/* Isochrons of two members, each a thread: messages, variables, what is refused, who is held up, and a forked child. */
#include "threads.h"

#include <sys/wait.h>
#include <unistd.h>

#define MEMBERS 2
#define NOTE 7
#define X 1
#define Y 2

static quintet_isonet *joined(quintet_lab *lab, int member) {
    quintet_isonet *isonet;
    uint16_t me, members;
    OK(quintet_isonet_new(lab, "test", &isonet));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_member(isonet, &me, &members));
    OK(quintet_isonet_set_member(isonet, (uint16_t)member, MEMBERS));
    OK(quintet_isonet_add_variable(isonet, X, sizeof(int64_t)));
    OK(quintet_isonet_add_variable(isonet, Y, 1));
    OK(quintet_isonet_add_handler(isonet, NOTE));
    OK(quintet_isonet_join(isonet, LONG_MS));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_add_handler(isonet, 8));
    OK(quintet_isonet_member(isonet, &me, &members));
    CHECK(me == member && members == MEMBERS);
    return isonet;
}

static int64_t read_x(quintet_isonet *isonet) {
    quintet_isochron *isochron;
    const void *value;
    size_t length, index;
    int64_t x;
    OK(quintet_isochron_new(isonet, &isochron));
    OK(quintet_isochron_read(isochron, Y, NULL));
    OK(quintet_isochron_read(isochron, X, &index));
    CHECK(index == 1);
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_wait(isochron, 0));
    OK(quintet_isochron_begin(isochron));
    OK(quintet_isochron_wait(isochron, LONG_MS));
    OK(quintet_isochron_value(isochron, index, &value, &length));
    CHECK(length == sizeof x);
    memcpy(&x, value, sizeof x);
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_value(isochron, 2, &value, &length));
    quintet_isochron_free(isochron);
    return x;
}

/* Adds one to X: reads it and reserves its next place at one instant. */
static void add_one(quintet_isonet *isonet) {
    quintet_isochron *reserving, *giving;
    const void *value;
    size_t length;
    int64_t x;
    OK(quintet_isochron_new(isonet, &reserving));
    OK(quintet_isochron_read(reserving, X, NULL));
    OK(quintet_isochron_schedule(reserving, X));
    OK(quintet_isochron_begin(reserving));
    OK(quintet_isochron_wait(reserving, LONG_MS));
    OK(quintet_isochron_value(reserving, 0, &value, &length));
    memcpy(&x, value, sizeof x);
    x += 1;
    OK(quintet_isochron_new(isonet, &giving));
    OK(quintet_isochron_assign(giving, X, &x, sizeof x));
    OK(quintet_isochron_begin(giving));
    quintet_isochron_free(giving);
    quintet_isochron_free(reserving);
}

static void send_note(quintet_isonet *isonet, int members, uint8_t note) {
    quintet_isochron *isochron;
    OK(quintet_isochron_new(isonet, &isochron));
    for (int member = 0; member < members; member++) OK(quintet_isochron_send(isochron, (uint16_t)member, NOTE, &note, 1));
    OK(quintet_isochron_begin(isochron));
    quintet_isochron_free(isochron);
}

/* What member 0 refuses. */
static void refuse(quintet_isonet *isonet) {
    quintet_isochron *isochron;
    static char large[70000];
    OK(quintet_isochron_new(isonet, &isochron));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_send(isochron, 2, NOTE, "", 0));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_read(isochron, 9, NULL));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_write(isochron, X, "short", 5));
    COMES_TO(QUINTET_TOO_LARGE, quintet_isochron_send(isochron, 0, NOTE, large, sizeof large));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_begin(isochron));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isochron_write(isochron, Y, "x", 1));
    quintet_isochron_free(isochron);
}

/* Sends itself more than there is room for: who waits is told, and takes what holds it up. */
static void be_held_up(quintet_isonet *isonet) {
    quintet_isochron *last;
    quintet_isonet_message message;
    for (int batch = 0; batch < 3; batch++) {
        OK(quintet_isochron_new(isonet, &last));
        for (int number = 0; number < 100; number++) OK(quintet_isochron_send(last, 0, NOTE, "", 0));
        OK(quintet_isochron_begin(last));
        if (batch < 2) quintet_isochron_free(last);
    }
    quintet_isochron *behind;
    OK(quintet_isochron_new(isonet, &behind));
    OK(quintet_isochron_write(behind, Y, "x", 1));
    OK(quintet_isochron_begin(behind));
    COMES_TO(QUINTET_BUSY, quintet_isochron_wait(behind, LONG_MS));
    for (int number = 0; number < 300; number++) OK(quintet_isonet_next(isonet, LONG_MS, &message));
    OK(quintet_isochron_wait(behind, LONG_MS));
    COMES_TO(QUINTET_TIMED_OUT, quintet_isonet_next(isonet, 0, &message));
    quintet_isochron_free(behind);
    quintet_isochron_free(last);
}

/* A child of fork is no member, and what it frees is its parent's. */
static void fork_a_child(quintet_isonet *isonet) {
    quintet_isochron *open, *another;
    quintet_isonet_message message;
    uint16_t me, members;
    OK(quintet_isochron_new(isonet, &open));
    OK(quintet_isochron_send(open, 0, NOTE, "x", 1));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        COMES_TO(QUINTET_CLOSED, quintet_isochron_new(isonet, &another));
        CHECK(strstr(quintet_error_message(), "join one here") != NULL);
        COMES_TO(QUINTET_CLOSED, quintet_isochron_begin(open));
        COMES_TO(QUINTET_CLOSED, quintet_isonet_next(isonet, LONG_MS, &message));
        COMES_TO(QUINTET_CLOSED, quintet_isonet_member(isonet, &me, &members));
        COMES_TO(QUINTET_CLOSED, quintet_isonet_close(isonet));
        quintet_isochron_free(open), quintet_isonet_free(isonet);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    quintet_isochron_free(open);
}

struct member {
    quintet_lab *lab;
    int number;
    char heard[MEMBERS * 2 + 1];
};

static void *take_part(void *argument) {
    struct member *member = argument;
    quintet_isonet *isonet = joined(member->lab, member->number);
    quintet_isonet_message message;
    if (member->number == 0) refuse(isonet);
    for (int number = 0; number < 10; number++) add_one(isonet);
    for (int number = 0; number < 2; number++) send_note(isonet, MEMBERS, (uint8_t)('a' + member->number * 2 + number));
    for (int number = 0; number < MEMBERS * 2; number++) {
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        CHECK(message.length == 1 && message.handler == NOTE);
        member->heard[number] = *(const char *)message.data;
        CHECK((member->heard[number] - 'a') / 2 == message.sender);
    }
    CHECK(read_x(isonet) == MEMBERS * 10);
    if (member->number == 0) be_held_up(isonet);
    if (member->number == 0) fork_a_child(isonet);
    CHECK(read_x(isonet) == MEMBERS * 10);
    OK(quintet_isonet_close(isonet));
    COMES_TO(QUINTET_CLOSED, quintet_isonet_close(isonet));
    COMES_TO(QUINTET_CLOSED, quintet_isonet_next(isonet, 0, &message));
    quintet_isonet_free(isonet);
    return NULL;
}

int main(void) {
    quintet_lab *lab;
    OK(quintet_lab_embedded(&lab));
    struct member members[MEMBERS] = {{.lab = lab, .number = 0}, {.lab = lab, .number = 1}};
    in_threads(take_part, members, sizeof *members, MEMBERS);
    CHECK(strcmp(members[0].heard, members[1].heard) == 0 && strlen(members[0].heard) == MEMBERS * 2);
    quintet_lab_free(lab);
    return 0;
}
