/* A member that ends and comes back: with the variable, and with what the other one's program has made of the messages before. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#define MEMBERS 2
#define NOTE 7
#define X 1
#define TOO_LONG ((16 << 20) + 1)

/* What a program makes of the messages that it takes. */
struct book {
    char notes[64];
    size_t length;
};

static quintet_isonet *described(quintet_lab *lab, uint16_t member) {
    quintet_isonet *isonet;
    OK(quintet_isonet_new(lab, "book", &isonet));
    OK(quintet_isonet_set_member(isonet, member, MEMBERS));
    OK(quintet_isonet_add_variable(isonet, X, 1));
    OK(quintet_isonet_add_handler(isonet, NOTE));
    OK(quintet_isonet_set_rejoinable(isonet));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_set_silence_limit(isonet, 0));
    OK(quintet_isonet_set_silence_limit(isonet, LONG_MS));
    return isonet;
}

/* Writes a note for all who are left, and into the variable. */
static void tell_all(quintet_isonet *isonet, char note) {
    quintet_status status;
    do {
        quintet_isochron *isochron;
        OK(quintet_isochron_new(isonet, &isochron));
        OK(quintet_isochron_send_all(isochron, NOTE, &note, 1));
        OK(quintet_isochron_write(isochron, X, &note, 1));
        OK(quintet_isochron_begin(isochron));
        status = quintet_isochron_wait(isochron, LONG_MS);
        quintet_isochron_free(isochron);
    } while (status == QUINTET_PEER_DIED);
    CHECK(status == QUINTET_OK);
}

static char read_x(quintet_isonet *isonet) {
    quintet_isochron *isochron;
    const void *value;
    size_t length;
    OK(quintet_isochron_new(isonet, &isochron));
    OK(quintet_isochron_read(isochron, X, NULL));
    OK(quintet_isochron_begin(isochron));
    OK(quintet_isochron_wait(isochron, LONG_MS));
    OK(quintet_isochron_value(isochron, 0, &value, &length));
    char x = *(const char *)value;
    quintet_isochron_free(isochron);
    return x;
}

static void give_book(quintet_isonet *isonet, const struct book *book) {
    quintet_isonet_message message;
    char *long_one = calloc(TOO_LONG, 1);
    COMES_TO(QUINTET_BUSY, quintet_isonet_next(isonet, LONG_MS, &message));
    COMES_TO(QUINTET_TOO_LARGE, quintet_isonet_give_state(isonet, long_one, TOO_LONG));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_give_state(isonet, NULL, 1));
    OK(quintet_isonet_give_state(isonet, book->notes, book->length));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_give_state(isonet, book->notes, book->length));
    free(long_one);
}

/* Takes what comes until that many notes are in the book. */
static void fill(quintet_isonet *isonet, struct book *book, size_t notes) {
    quintet_isonet_message message;
    while (book->length < notes) {
        OK(quintet_isonet_next(isonet, LONG_MS, &message));
        switch (message.kind) {
        case QUINTET_ISONET_MESSAGE:
            CHECK(message.length == 1 && message.handler == NOTE);
            book->notes[book->length++] = *(const char *)message.data;
            break;
        case QUINTET_ISONET_STATE:
            CHECK(message.length < sizeof book->notes);
            memcpy(book->notes, message.data, message.length);
            book->length = message.length;
            break;
        case QUINTET_ISONET_STATE_WANTED:
            give_book(isonet, book);
            break;
        default:
            CHECK(!"nothing else comes");
        }
    }
}

static bool is_present(quintet_isonet *isonet, uint16_t member) {
    bool is_present;
    OK(quintet_isonet_is_present(isonet, member, &is_present));
    return is_present;
}

/* Whether members 0 and 1 are in the present view, member 1 has come back with it, and nobody was lost. */
static bool is_back(quintet_isonet *isonet) {
    const quintet_lost *lost;
    const uint16_t *back;
    uint32_t view;
    size_t present, missing, returned;
    OK(quintet_isonet_view(isonet, &view, &back, &present));
    OK(quintet_isonet_lost(isonet, view, &lost, &missing));
    OK(quintet_isonet_back(isonet, view, &back, &returned));
    return present == MEMBERS && missing == 0 && returned == 1 && back[0] == 1;
}

struct first {
    quintet_lab *lab;
    struct book book;
    /* Whether the other one has gone, and a note was told without it. */
    pthread_barrier_t alone;
};

static void *stay(void *argument) {
    struct first *first = argument;
    quintet_isonet *isonet = described(first->lab, 0);
    OK(quintet_isonet_share_state(isonet));
    OK(quintet_isonet_join(isonet, LONG_MS));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_share_state(isonet));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_give_state(isonet, "", 0));
    fill(isonet, &first->book, 2);
    while (is_present(isonet, 1)) usleep(1000);
    tell_all(isonet, 'c');
    pthread_barrier_wait(&first->alone);
    fill(isonet, &first->book, 4);
    CHECK(is_present(isonet, 1) && is_back(isonet));
    OK(quintet_isonet_close(isonet));
    quintet_isonet_free(isonet);
    return NULL;
}

/* Tells two notes, and ends without closing. */
static void come_and_go(quintet_lab *lab) {
    struct book book = {0};
    quintet_isonet *isonet = described(lab, 1);
    OK(quintet_isonet_share_state(isonet));
    COMES_TO(QUINTET_NO_HANDLER, quintet_isonet_rejoin(isonet, 0));
    OK(quintet_isonet_join(isonet, LONG_MS));
    bool none;
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_is_present(isonet, MEMBERS, &none));
    tell_all(isonet, 'a');
    tell_all(isonet, 'b');
    fill(isonet, &book, 2);
    quintet_isonet_free(isonet);
}

static void come_back(quintet_lab *lab, struct book *book) {
    quintet_isonet *isonet = described(lab, 1);
    OK(quintet_isonet_share_state(isonet));
    OK(quintet_isonet_rejoin(isonet, LONG_MS));
    COMES_TO(QUINTET_BAD_VALUE, quintet_isonet_rejoin(isonet, LONG_MS));
    CHECK(is_present(isonet, 0) && is_present(isonet, 1) && is_back(isonet));
    fill(isonet, book, 3);
    CHECK(read_x(isonet) == 'c');
    tell_all(isonet, 'd');
    fill(isonet, book, 4);
    OK(quintet_isonet_close(isonet));
    quintet_isonet_free(isonet);
}

int main(void) {
    quintet_lab *lab;
    OK(quintet_lab_embedded(&lab));
    struct first first = {.lab = lab};
    struct book book = {0};
    pthread_t thread;
    CHECK(pthread_barrier_init(&first.alone, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, stay, &first) == 0);
    come_and_go(lab);
    pthread_barrier_wait(&first.alone);
    come_back(lab, &book);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(first.book.length == 4 && memcmp(first.book.notes, "abcd", 4) == 0);
    CHECK(book.length == 4 && memcmp(book.notes, "abcd", 4) == 0);
    pthread_barrier_destroy(&first.alone);
    quintet_lab_free(lab);
    return 0;
}
