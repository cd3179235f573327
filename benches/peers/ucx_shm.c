/* Peer: UCX tagged messages between two processes over shared memory.
 *
 * The parent asks in round trips and receives in one-way cases, so that all figures are taken in one process. UCX is held
 * to transports of one machine. Bulk is measured twice, copying through shared memory and with cross-memory attach
 * (cases ending in -cma): which is faster depends on the machine, by a factor of two. Read `main` first, then
 * `run_rounds` and the two functions that return samples. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <ucp/api/ucp.h>

#include "message_cases.h"
#include "sides.h"

#define PEER "ucx"

enum { ADDRESS_BYTES = 4096 };

static const ucp_tag_t MESSAGE_TAG = 1;
static const ucp_tag_t GO_TAG = 2;
static const ucp_tag_t WHOLE_TAG = ~(ucp_tag_t)0;

/* How messages travel: copied through a shared segment, or large ones read from the other process by the kernel. */
enum route { COPYING, ATTACHING, ROUTES };

static const char *const TRANSPORTS[ROUTES] = {
    [COPYING] = "posix,sysv,self",
    [ATTACHING] = "posix,sysv,cma,self",
};

/* The worker addresses of the parent and the child on one route, exchanged through memory both share. */
struct address_board {
    struct {
        _Atomic size_t length; /* zero until `bytes` is complete */
        char bytes[ADDRESS_BYTES];
    } sides[2];
};

struct side {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h peer;
    char *buffer;
};

/* What one run of this program does, the same in both processes. */
struct run {
    struct peer_options options;
    long bytes; /* 0: the standard sizes */
    long group; /* round trips a sample */
    bool leads; /* true in the parent */
};

static void check(ucs_status_t status, const char *what)
{
    if (status == UCS_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
    exit(EXIT_BROKEN);
}

/* A request is NULL where the operation completed at once. */
static void complete(struct side *side, ucs_status_ptr_t request)
{
    if (request == NULL)
        return;
    if (UCS_PTR_IS_ERR(request))
        check(UCS_PTR_STATUS(request), "UCX operation");
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
        ucp_worker_progress(side->worker);
    ucp_request_free(request);
    check(status, "UCX operation");
}

static ucs_status_ptr_t start_send(struct side *side, ucp_tag_t tag, long bytes)
{
    const ucp_request_param_t defaults = {0};
    return ucp_tag_send_nbx(side->peer, side->buffer, (size_t)bytes, tag, &defaults);
}

static ucs_status_ptr_t start_receive(struct side *side, ucp_tag_t tag, long bytes)
{
    const ucp_request_param_t defaults = {0};
    return ucp_tag_recv_nbx(side->worker, side->buffer, (size_t)bytes, tag, WHOLE_TAG, &defaults);
}

static void ask(struct side *side, long bytes)
{
    complete(side, start_send(side, MESSAGE_TAG, bytes));
    complete(side, start_receive(side, MESSAGE_TAG, bytes));
}

static void answer(struct side *side, long bytes, long round_trips)
{
    for (; round_trips > 0; round_trips--) {
        complete(side, start_receive(side, MESSAGE_TAG, bytes));
        complete(side, start_send(side, MESSAGE_TAG, bytes));
    }
}

/* Sends `count` messages with at most `window` of them outstanding. */
static void send_stream(struct side *side, const struct measurement *measurement, long count)
{
    ucs_status_ptr_t requests[MOST_WINDOW] = {NULL};
    for (long index = 0; index < count; index++) {
        long slot = index % measurement->window;
        complete(side, requests[slot]);
        requests[slot] = start_send(side, MESSAGE_TAG, measurement->bytes);
    }
    for (long slot = 0; slot < measurement->window; slot++)
        complete(side, requests[slot]);
}

/* Receives one window of messages, keeping the receives of the next one posted: `requests` holds a full window. */
static void receive_window(struct side *side, const struct measurement *measurement, ucs_status_ptr_t *requests, bool repost)
{
    for (long slot = 0; slot < measurement->window; slot++) {
        complete(side, requests[slot]);
        requests[slot] = repost ? start_receive(side, MESSAGE_TAG, measurement->bytes) : NULL;
    }
}

static struct samples measure_round_trips(struct side *side, const struct measurement *measurement)
{
    struct samples samples = new_samples(measurement->iterations, measurement->window);
    for (long index = 0; index < measurement->warmup; index++)
        ask(side, measurement->bytes);
    uint64_t start = now_ns();
    while (samples.count < samples.capacity) {
        for (long index = 0; index < samples.operations; index++)
            ask(side, measurement->bytes);
        start = add_sample(&samples, start);
    }
    return samples;
}

/* The parent posts a full window before it lets the child send. */
static struct samples measure_stream(struct side *side, const struct measurement *measurement)
{
    struct samples samples = new_samples(measurement->iterations, measurement->window);
    ucs_status_ptr_t requests[MOST_WINDOW];
    for (long slot = 0; slot < measurement->window; slot++)
        requests[slot] = start_receive(side, MESSAGE_TAG, measurement->bytes);
    complete(side, start_send(side, GO_TAG, 1));
    for (long done = 0; done < measurement->warmup; done += measurement->window)
        receive_window(side, measurement, requests, true);
    uint64_t start = now_ns();
    while (samples.count < samples.capacity) {
        receive_window(side, measurement, requests, samples.count + 1 < samples.capacity);
        start = add_sample(&samples, start);
    }
    return samples;
}

static void measure_and_report(struct side *side, const struct measurement *measurement)
{
    struct samples samples =
        measurement->kind == ROUND_TRIP ? measure_round_trips(side, measurement) : measure_stream(side, measurement);
    report_measurement(PEER, measurement, &samples);
    free_samples(&samples);
}

/* The child's part of one round of a case. */
static void follow(struct side *side, const struct measurement *measurement)
{
    long count = measurement->warmup + measurement->iterations;
    if (measurement->kind == ROUND_TRIP) {
        answer(side, measurement->bytes, count);
        return;
    }
    complete(side, start_receive(side, GO_TAG, 1));
    send_stream(side, measurement, count);
}

static void run_case(struct side *side, const struct run *run, enum kind kind, long bytes, const char *suffix)
{
    const struct measurement measurement = plan_measurement(&run->options, kind, bytes, run->group, suffix);
    if (!case_selected(&run->options, measurement.name))
        return;
    if (run->leads)
        measure_and_report(side, &measurement);
    else
        follow(side, &measurement);
}

/* One size of bulk, on both routes in turn. */
static void run_bulk(struct side *sides, const struct run *run, long bytes)
{
    run_case(&sides[COPYING], run, BULK, bytes, "");
    run_case(&sides[ATTACHING], run, BULK, bytes, "-cma");
}

/* Both processes walk through the same cases in the same order. */
static void run_rounds(struct side *sides, const struct run *run)
{
    long small = run->bytes > 0 ? run->bytes : 64;
    for (long round = 0; round < run->options.rounds; round++) {
        run_case(&sides[COPYING], run, ROUND_TRIP, small, "");
        run_case(&sides[COPYING], run, MESSAGE_RATE, small, "");
        run_bulk(sides, run, run->bytes > 0 ? run->bytes : 64 * 1024);
        if (run->bytes == 0)
            run_bulk(sides, run, 1024 * 1024);
    }
}

static void open_worker(struct side *side, const char *transports)
{
    const ucp_params_t parameters = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    const ucp_worker_params_t single_thread = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    ucp_config_t *configuration = NULL;
    check(ucp_config_read(NULL, NULL, &configuration), "ucp_config_read");
    check(ucp_config_modify(configuration, "TLS", transports), "ucp_config_modify");
    check(ucp_init(&parameters, configuration, &side->context), "ucp_init");
    ucp_config_release(configuration);
    check(ucp_worker_create(side->context, &single_thread, &side->worker), "ucp_worker_create");
}

/* Publishes this side's address, waits for the other's and connects to it. */
static void connect_sides(struct side *side, struct address_board *board, int own)
{
    ucp_address_t *address = NULL;
    size_t length = 0;
    check(ucp_worker_get_address(side->worker, &address, &length), "ucp_worker_get_address");
    if (length > ADDRESS_BYTES)
        check(UCS_ERR_BUFFER_TOO_SMALL, "exchanging addresses");
    memcpy(board->sides[own].bytes, address, length);
    atomic_store_explicit(&board->sides[own].length, length, memory_order_release);
    ucp_worker_release_address(side->worker, address);
    while (atomic_load_explicit(&board->sides[1 - own].length, memory_order_acquire) == 0)
        sched_yield();
    const ucp_ep_params_t parameters = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = (const ucp_address_t *)board->sides[1 - own].bytes,
    };
    check(ucp_ep_create(side->worker, &parameters, &side->peer), "ucp_ep_create");
}

/* Closing an endpoint waits until what was sent on it has left. */
static void close_side(struct side *side)
{
    const ucp_request_param_t defaults = {0};
    complete(side, ucp_ep_close_nbx(side->peer, &defaults));
    ucp_worker_destroy(side->worker);
    ucp_cleanup(side->context);
}

/* One process's whole part. One buffer serves every message, as in UCX's own benchmark. */
static void run_process(const struct run *run, struct address_board *boards)
{
    struct side sides[ROUTES] = {0};
    int own = run->leads ? 0 : 1;
    char *buffer = aligned_alloc(4096, MOST_MESSAGE_BYTES);
    if (buffer == NULL)
        fail_system("aligned_alloc");
    memset(buffer, 0, MOST_MESSAGE_BYTES);
    pin_to(run->options.cpus[own]);
    for (int route = 0; route < ROUTES; route++) {
        sides[route].buffer = buffer;
        open_worker(&sides[route], TRANSPORTS[route]);
        connect_sides(&sides[route], &boards[route], own);
    }
    run_rounds(sides, run);
    for (int route = 0; route < ROUTES; route++)
        close_side(&sides[route]);
    free(buffer);
}

int main(int count, char **arguments)
{
    struct run run = {.group = 16, .leads = true};
    const struct extra_option extra[] = {
        {.name = "--bytes", .number = &run.bytes, .least = 1, .most = MOST_MESSAGE_BYTES},
        {.name = "--group", .number = &run.group, .least = 1, .most = 1000000},
        {.name = NULL},
    };
    run.options = parse_options(count, arguments, extra);
    require_two_cpus(&run.options);
    struct address_board *boards = map_shared(ROUTES * sizeof *boards);
    pid_t child = fork_side();
    if (child == 0) {
        run.leads = false;
        run_process(&run, boards);
        exit(0);
    }
    run_process(&run, boards);
    join_side(child);
    return 0;
}
