/* What members have done is checked by the witnesses that they keep, as bytes; also what was changed in them is found. */
#include "threads.h"

#define MEMBERS 2
#define NOTE 7
#define X 1
#define ROUNDS 5
#define WRITTEN "written!"

struct member {
    quintet_lab *lab;
    uint16_t number;
    quintet_buffer *witness;
};

/* Reads and writes X, and sends a message to all, again and again. */
static void execute(quintet_isonet *isonet) {
    quintet_isochron *isochron;
    OK(quintet_isochron_new(isonet, &isochron));
    OK(quintet_isochron_read(isochron, X, NULL));
    OK(quintet_isochron_write(isochron, X, WRITTEN, 8));
    OK(quintet_isochron_send_all(isochron, NOTE, "note", 4));
    OK(quintet_isochron_begin(isochron));
    OK(quintet_isochron_wait(isochron, LONG_MS));
    quintet_isochron_free(isochron);
}

static void *take_part(void *argument) {
    struct member *member = argument;
    quintet_isonet *isonet;
    OK(quintet_isonet_new(member->lab, "witness", &isonet));
    OK(quintet_isonet_set_member(isonet, member->number, MEMBERS));
    OK(quintet_isonet_add_variable(isonet, X, 8));
    OK(quintet_isonet_add_handler(isonet, NOTE));
    OK(quintet_isonet_keep_witness(isonet));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_take_witness(isonet, &member->witness));
    OK(quintet_isonet_join(isonet, LONG_MS));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_keep_witness(isonet));
    for (int round = 0; round < ROUNDS; round++) execute(isonet);
    OK(quintet_isonet_close(isonet));
    OK(quintet_isonet_take_witness(isonet, &member->witness));
    quintet_isonet_free(isonet);
    return NULL;
}

/* The same bytes in a buffer of the program's own, as they come from a file; wherever they are `WRITTEN` they are others, if they are to be: what is written, read, and received, whichever of these came first. */
static quintet_buffer *copied(quintet_buffer *witness, bool is_changed) {
    const void *from;
    void *to;
    size_t length, changed = 0;
    quintet_buffer *copy;
    OK(quintet_buffer_read(witness, &from, &length));
    OK(quintet_buffer_new(length, &copy));
    OK(quintet_buffer_write(copy, &to));
    memcpy(to, from, length);
    for (size_t at = 0; is_changed && at + 8 <= length; at++) {
        if (memcmp((char *)to + at, WRITTEN, 8) != 0) continue;
        memcpy((char *)to + at, "changed!", 8);
        changed += 1;
    }
    CHECK((changed > 0) == is_changed);
    return copy;
}

static void check_all(quintet_buffer *first, quintet_buffer *second) {
    quintet_buffer *const both[] = {first, second}, *const twice[] = {first, first}, *const none[] = {NULL};
    OK(quintet_isonet_check_witnesses(both, 2, NULL, 0, true));
    /* Who was killed tells nothing. */
    OK(quintet_isonet_check_witnesses(both, 1, (uint16_t[]){1}, 1, true));
    REFUSED("nothing to check", quintet_isonet_check_witnesses(NULL, 0, NULL, 0, true));
    REFUSED("of member 0", quintet_isonet_check_witnesses(twice, 2, NULL, 0, true));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_check_witnesses(none, 1, NULL, 0, true));
    quintet_buffer *own = copied(second, false), *changed = copied(second, true), *empty;
    quintet_buffer *const read[] = {first, own}, *const forged[] = {first, changed};
    OK(quintet_isonet_check_witnesses(read, 2, NULL, 0, true));
    COMES_TO(QUINTET_MISMATCH, quintet_isonet_check_witnesses(forged, 2, NULL, 0, true));
    CHECK(quintet_error_message()[0] != '\0');
    OK(quintet_buffer_new(0, &empty));
    REFUSED("no witness", quintet_isonet_check_witnesses((quintet_buffer *const[]){empty}, 1, NULL, 0, true));
    quintet_buffer_free(own);
    quintet_buffer_free(changed);
    quintet_buffer_free(empty);
}

int main(void) {
    quintet_lab *lab;
    struct member members[MEMBERS];
    OK(quintet_lab_embedded(&lab));
    for (uint16_t member = 0; member < MEMBERS; member++) members[member] = (struct member){lab, member, NULL};
    in_threads(take_part, members, sizeof *members, MEMBERS);
    check_all(members[0].witness, members[1].witness);
    for (int member = 0; member < MEMBERS; member++) quintet_buffer_free(members[member].witness);
    quintet_lab_free(lab);
    return 0;
}
