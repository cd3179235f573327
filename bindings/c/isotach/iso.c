/* libquintet-isotach: the interface of Isotach 1.0 over libquintet.
 *
 *   node        a worker of a job of `quintet run`; outside a job the only one
 *   master      the job's first process: waits in iso_init until all nodes have said how they ended, and ends likewise
 *   under_way   isochrons that were ended and not waited for, the oldest first
 *
 * The interface has no errors: what cannot go on is said on stderr, to the master, and ends the program. One thread uses it. */
#include "iso.h"

#include <quintet.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "isotach"
#define JOIN_MS 60000
/* Programs of old compute without a poll, and are not heard while what they have not taken fills its room. */
#define SILENCE_MS 60000
/* Below the 240 at which a node refuses more. */
#define MAX_UNDER_WAY 64
#define MAX_VARIABLES 4096
#define MAX_READS 1024
/* Handlers that run while one waits for room in iso_end. */
#define MAX_NESTED 64
/* Polls without a message behind which one waits a little: a node that spins would take the processor from the one that it waits for. */
#define IDLE_POLLS 64

static struct {
    bool is_open, is_ending;
    int node, nodes;
    quintet_lab *lab;
    quintet_isonet *isonet;
    iso_handler handlers[ISO_HANDLERS];
    struct { int number, bytes; } variables[MAX_VARIABLES];
    int variable_count;
    /* The isochron that is put together, and where its reads go. */
    quintet_isochron *open;
    struct target { void *to; } reads[MAX_READS];
    int read_count;
    quintet_isochron *under_way[MAX_UNDER_WAY];
    int first, count;
    int nested, idle_polls;
} iso;

/* How this node has ended, for the master. Once that has heard of all, the job ends: what was printed goes out before, and a node that is
 * told to end does so by itself, with the status that it has. */
static void tell_master(int status) {
    quintet_space *space;
    quintet_tuple *end;
    fflush(NULL);
    signal(SIGTERM, SIG_IGN);
    if (iso.nodes < 1 || iso.lab == NULL || quintet_lab_space(iso.lab, &space) != QUINTET_OK || quintet_tuple_new(&end) != QUINTET_OK) return;
    quintet_tuple_add_string(end, NAME " node", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_int64(end, iso.node);
    quintet_tuple_add_int64(end, status);
    if (quintet_space_out(space, end, 1000) != QUINTET_OK) fprintf(stderr, "isotach: node %d: the master was not told: %s\n", iso.node, quintet_error_message());
    quintet_tuple_free(end);
}

static void end_with(int status) {
    iso.is_open = false;
    tell_master(status);
    if (!iso.is_ending) exit(status);
    _exit(status);
}

__attribute__((noreturn, format(printf, 1, 2))) static void misused(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "isotach: node %d: ", iso.node);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    end_with(EXIT_FAILURE);
    abort();
}

/* Ends the program if the library has refused. */
static void need(quintet_status status, const char *what) {
    if (status == QUINTET_OK) return;
    fprintf(stderr, "isotach: node %d: %s: %s\n", iso.node, what, quintet_error_message());
    end_with(quintet_status_exit(status));
}

static void need_open(const char *what) {
    if (!iso.is_open) misused("%s before iso_init", what);
}

/* Runs the handler of a message, if one comes in time. */
static bool handle_one(int64_t timeout_ms) {
    quintet_isonet_message message;
    const quintet_status status = quintet_isonet_next(iso.isonet, timeout_ms, &message);
    if (status == QUINTET_TIMED_OUT) return false;
    need(status, "iso_poll");
    const iso_handler function = iso.handlers[message.handler];
    if (function == NULL) misused("a message of node %d is for handler %u, which is not set: iso_set_handler", message.sender, (unsigned)message.handler);
    /* A handler may begin isochrons, and other handlers run while it waits for room: the message would be gone. */
    char *data = malloc(message.length + 1);
    if (data == NULL) misused("no memory for a message of %zu bytes", message.length);
    if (message.length > 0) memcpy(data, message.data, message.length);
    function(message.sender, data, (int)message.length);
    free(data);
    if (iso.open != NULL) misused("handler %u has begun an isochron and not ended it", (unsigned)message.handler);
    return true;
}

/* Waits until an isochron is executed, and runs handlers meanwhile: their senders may be what it waits for. */
static void finish(quintet_isochron *isochron) {
    if (iso.nested == MAX_NESTED) misused("handlers are nested %d deep, each in iso_end: have them send less, or poll before", MAX_NESTED);
    iso.nested += 1;
    for (;;) {
        const quintet_status status = quintet_isochron_wait(isochron, 1);
        if (status == QUINTET_OK) break;
        if (status != QUINTET_TIMED_OUT && status != QUINTET_BUSY) need(status, "iso_end");
        while (handle_one(0)) {}
    }
    iso.nested -= 1;
}

static void finish_oldest(void) {
    quintet_isochron *oldest = iso.under_way[iso.first];
    iso.first = (iso.first + 1) % MAX_UNDER_WAY;
    iso.count -= 1;
    finish(oldest);
    quintet_isochron_free(oldest);
}

/* Forgets those that are executed already. */
static void forget_executed(void) {
    while (iso.count > 0) {
        const quintet_status status = quintet_isochron_wait(iso.under_way[iso.first], 0);
        if (status == QUINTET_TIMED_OUT || status == QUINTET_BUSY) return;
        need(status, "iso_end");
        quintet_isochron_free(iso.under_way[iso.first]);
        iso.first = (iso.first + 1) % MAX_UNDER_WAY;
        iso.count -= 1;
    }
}

/* Behind main: all nodes end together, as one that went before would be missed by the others. */
static void at_exit(int status, void *unused) {
    (void)unused;
    if (!iso.is_open) return;
    iso.is_ending = true;
    if (status == EXIT_FAILURE) end_with(status);
    if (iso.open != NULL) misused("the program ends within an isochron that iso_start has begun: iso_end comes before, and nothing of it has happened");
    iso_flush();
    need(quintet_isonet_close(iso.isonet), "the end");
    iso.is_open = false;
    tell_master(0);
    if (status == EXIT_SUCCESS) return;
    /* main of these programs is void: its status is what a register has held. */
    _exit(EXIT_SUCCESS);
}

/* The job's first process is no node: it ends once all nodes have, or one has failed. */
static void be_master(uint32_t nodes) {
    quintet_space *space;
    quintet_tuple *ends, *end;
    need(quintet_lab_space(iso.lab, &space), "iso_init");
    need(quintet_tuple_new(&ends), "iso_init");
    quintet_tuple_add_string(ends, NAME " node", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(ends, QUINTET_TYPE_INT64);
    quintet_tuple_add_formal(ends, QUINTET_TYPE_INT64);
    int64_t status = 0;
    for (uint32_t node = 0; node < nodes && status == 0; node++) {
        need(quintet_space_take(space, ends, QUINTET_FOREVER, &end), "the master waits for the nodes");
        need(quintet_tuple_get_int64(end, 2, &status), "the master waits for the nodes");
        quintet_tuple_free(end);
    }
    quintet_tuple_free(ends);
    quintet_lab_free(iso.lab);
    exit((int)status);
}

void iso_share(int variable, int bytes) {
    if (iso.is_open) misused("iso_share behind iso_init: what is shared is said before");
    if (variable < 0) misused("iso_share: %d is no number of a variable", variable);
    if (bytes < 1 || bytes > 4096) misused("iso_share: variable %d of %d bytes: it may have 1 to 4096", variable, bytes);
    if (iso.variable_count == MAX_VARIABLES) misused("iso_share: more than %d variables", MAX_VARIABLES);
    iso.variables[iso.variable_count].number = variable;
    iso.variables[iso.variable_count].bytes = bytes;
    iso.variable_count += 1;
}

void iso_init(void) {
    if (iso.is_open) misused("iso_init a second time");
    int64_t rank;
    uint32_t nodes;
    need(quintet_job_rank(&rank), "iso_init");
    need(quintet_job_workers(&nodes), "iso_init");
    iso.node = rank < 0 ? 0 : (int)rank;
    need(quintet_lab_connect(NULL, &iso.lab), "iso_init");
    if (rank < 0 && nodes > 0) be_master(nodes);
    iso.nodes = nodes == 0 ? 1 : (int)nodes;
    need(quintet_isonet_new(iso.lab, NAME, &iso.isonet), "iso_init");
    if (nodes == 0) need(quintet_isonet_set_member(iso.isonet, 0, 1), "iso_init");
    for (uint32_t handler = 0; handler < ISO_HANDLERS; handler++) need(quintet_isonet_add_handler(iso.isonet, handler), "iso_init");
    for (int index = 0; index < iso.variable_count; index++)
        need(quintet_isonet_add_variable(iso.isonet, (uint32_t)iso.variables[index].number, (size_t)iso.variables[index].bytes), "iso_init");
    need(quintet_isonet_set_silence_limit(iso.isonet, SILENCE_MS), "iso_init");
    need(quintet_isonet_join(iso.isonet, JOIN_MS), "iso_init");
    iso.is_open = true;
    if (on_exit(at_exit, NULL) != 0) misused("iso_init: the end cannot be arranged");
}

void iso_set_handler(int handler, iso_handler function) {
    if (handler < 0 || handler >= ISO_HANDLERS) misused("iso_set_handler: %d is no number of a handler: they go from 0 to %d", handler, ISO_HANDLERS - 1);
    iso.handlers[handler] = function;
}

int iso_node(void) {
    need_open("NODEID");
    return iso.node;
}

int iso_nodes(void) {
    need_open("NODES");
    return iso.nodes;
}

void iso_start(void) {
    need_open("iso_start");
    if (iso.open != NULL) misused("iso_start within an isochron: iso_end comes first");
    need(quintet_isochron_new(iso.isonet, &iso.open), "iso_start");
    iso.read_count = 0;
}

static void need_isochron(const char *what) {
    if (iso.open == NULL) misused("%s outside an isochron: iso_start comes first", what);
}

void iso_send_msg(int node, int handler, const void *data, int length) {
    need_isochron("iso_send_msg");
    if (node < 0 || node >= iso.nodes) misused("iso_send_msg: there is no node %d of %d", node, iso.nodes);
    if (handler < 0 || handler >= ISO_HANDLERS) misused("iso_send_msg: %d is no number of a handler: they go from 0 to %d", handler, ISO_HANDLERS - 1);
    if (length < 0) misused("iso_send_msg: %d bytes", length);
    need(quintet_isochron_send(iso.open, (uint16_t)node, (uint32_t)handler, data, (size_t)length), "iso_send_msg");
}

static size_t bytes_of(int variable, const char *what) {
    need_isochron(what);
    for (int index = 0; index < iso.variable_count; index++)
        if (iso.variables[index].number == variable) return (size_t)iso.variables[index].bytes;
    misused("%s: variable %d is not shared: iso_share before iso_init", what, variable);
}

void iso_read(int variable, void *value) {
    bytes_of(variable, "iso_read");
    if (iso.read_count == MAX_READS) misused("iso_read: more than %d reads in an isochron", MAX_READS);
    need(quintet_isochron_read(iso.open, (uint32_t)variable, NULL), "iso_read");
    iso.reads[iso.read_count].to = value;
    iso.read_count += 1;
}

void iso_write(int variable, const void *value) {
    const size_t bytes = bytes_of(variable, "iso_write");
    need(quintet_isochron_write(iso.open, (uint32_t)variable, value, bytes), "iso_write");
}

void iso_sched(int variable) {
    bytes_of(variable, "iso_sched");
    need(quintet_isochron_schedule(iso.open, (uint32_t)variable), "iso_sched");
}

void iso_assign(int variable, const void *value) {
    const size_t bytes = bytes_of(variable, "iso_assign");
    need(quintet_isochron_assign(iso.open, (uint32_t)variable, value, bytes), "iso_assign");
}

__attribute__((noreturn)) static void say_why_there_is_none(quintet_isochron *isochron, size_t index) {
    quintet_no_value why;
    need(quintet_isochron_no_value(isochron, index, &why), "iso_end");
    if (why == QUINTET_WRITER_DIED) misused("iso_end: a variable has no value: the node that had reserved its place is gone");
    misused("iso_end: a variable has no value: the node that has it is gone");
}

/* Gives the program what an isochron has read. */
static void give_values(quintet_isochron *isochron, const struct target *targets, int count) {
    for (int index = 0; index < count; index++) {
        const void *value;
        size_t length;
        need(quintet_isochron_value(isochron, (size_t)index, &value, &length), "iso_end");
        if (value == NULL) say_why_there_is_none(isochron, (size_t)index);
        memcpy(targets[index].to, value, length);
    }
}

void iso_end(void) {
    need_isochron("iso_end");
    quintet_isochron *ended = iso.open;
    const int reads = iso.read_count;
    /* Handlers that run meanwhile have reads of their own. */
    struct target *targets = malloc((size_t)reads * sizeof *targets + 1);
    if (targets == NULL) misused("iso_end: no memory for %d reads", reads);
    memcpy(targets, iso.reads, (size_t)reads * sizeof *targets);
    iso.open = NULL;
    forget_executed();
    while (iso.count == MAX_UNDER_WAY) finish_oldest();
    need(quintet_isochron_begin(ended), "iso_end");
    if (reads > 0) {
        finish(ended);
        give_values(ended, targets, reads);
        quintet_isochron_free(ended);
    } else {
        iso.under_way[(iso.first + iso.count) % MAX_UNDER_WAY] = ended;
        iso.count += 1;
    }
    free(targets);
}

int iso_poll(void) {
    need_open("iso_poll");
    int handled = 0;
    const bool may_wait = iso.idle_polls >= IDLE_POLLS;
    /* Not for ever, if they come as fast as they are handled. */
    while (handled < MAX_UNDER_WAY && handle_one(handled == 0 && may_wait ? 1 : 0)) handled += 1;
    iso.idle_polls = handled > 0 ? 0 : iso.idle_polls + 1;
    return handled;
}

void iso_flush(void) {
    need_open("iso_flush");
    while (iso.count > 0) finish_oldest();
}
