/* Peer: Open MPI between two processes on one machine, with MPI_Send and MPI_Recv.
 *
 * Started plainly, the program starts itself again as two ranks under mpirun. Rank 0 asks in round trips and receives in
 * one-way cases, so that all figures are taken in one process; each rank pins itself, so mpirun binds nothing.
 * mpirun listens on every interface whatever it is told, so it runs in a network namespace of its own.
 * `--single-copy cma` measures bulk alone, with cross-memory attach: which way is faster depends on the machine. */
#define _GNU_SOURCE
#include <mpi.h>
#include <unistd.h>

#include "message_cases.h"
#include "own_network.h"
#include "sides.h"

#define PEER "openmpi"

enum { MESSAGE_TAG = 1, GO_TAG = 2, CREDIT_TAG = 3 };

/* How far the sender may run ahead of the receiver's confirmations. */
enum { WINDOWS_AHEAD = 16 };

/* What one run of this program does, the same in both ranks. */
struct run {
    struct peer_options options;
    long bytes; /* 0: the standard sizes */
    long group; /* round trips a sample */
    bool attach; /* large messages are read from the other process by the kernel, instead of copied twice */
    bool leads;  /* true in rank 0 */
    char *buffer;
};

static void send_message(const struct run *run, long bytes, int tag)
{
    MPI_Send(run->buffer, (int)bytes, MPI_BYTE, run->leads ? 1 : 0, tag, MPI_COMM_WORLD);
}

static void receive_message(const struct run *run, long bytes, int tag)
{
    MPI_Recv(run->buffer, (int)bytes, MPI_BYTE, run->leads ? 1 : 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ask(const struct run *run, long bytes)
{
    send_message(run, bytes, MESSAGE_TAG);
    receive_message(run, bytes, MESSAGE_TAG);
}

static void answer(const struct run *run, long bytes, long round_trips)
{
    for (; round_trips > 0; round_trips--) {
        receive_message(run, bytes, MESSAGE_TAG);
        send_message(run, bytes, MESSAGE_TAG);
    }
}

/* Small messages are sent eagerly: without credits a fast sender would fill the receiver's memory. */
static void send_stream(const struct run *run, const struct measurement *measurement, long windows)
{
    receive_message(run, 1, GO_TAG);
    for (long window = 0; window < windows; window++) {
        if (window >= WINDOWS_AHEAD)
            receive_message(run, 1, CREDIT_TAG);
        for (long index = 0; index < measurement->window; index++)
            send_message(run, measurement->bytes, MESSAGE_TAG);
    }
}

/* Receives window `index` of `windows` and lets the sender start one more, where there is one. */
static void receive_window(const struct run *run, const struct measurement *measurement, long index, long windows)
{
    for (long message = 0; message < measurement->window; message++)
        receive_message(run, measurement->bytes, MESSAGE_TAG);
    if (index + WINDOWS_AHEAD < windows)
        send_message(run, 1, CREDIT_TAG);
}

static struct samples measure_round_trips(const struct run *run, const struct measurement *measurement)
{
    struct samples samples = new_samples(measurement->iterations, measurement->window);
    for (long index = 0; index < measurement->warmup; index++)
        ask(run, measurement->bytes);
    uint64_t start = now_ns();
    while (samples.count < samples.capacity) {
        for (long index = 0; index < samples.operations; index++)
            ask(run, measurement->bytes);
        start = add_sample(&samples, start);
    }
    return samples;
}

static struct samples measure_stream(const struct run *run, const struct measurement *measurement)
{
    struct samples samples = new_samples(measurement->iterations, measurement->window);
    long warm_windows = measurement->warmup / measurement->window;
    long windows = warm_windows + (long)samples.capacity;
    send_message(run, 1, GO_TAG);
    for (long index = 0; index < warm_windows; index++)
        receive_window(run, measurement, index, windows);
    uint64_t start = now_ns();
    for (long index = warm_windows; index < windows; index++) {
        receive_window(run, measurement, index, windows);
        start = add_sample(&samples, start);
    }
    return samples;
}

static void measure_and_report(const struct run *run, const struct measurement *measurement)
{
    struct samples samples =
        measurement->kind == ROUND_TRIP ? measure_round_trips(run, measurement) : measure_stream(run, measurement);
    report_measurement(PEER, measurement, &samples);
    free_samples(&samples);
}

/* Rank 1's part of one round of a case. */
static void follow(const struct run *run, const struct measurement *measurement)
{
    long count = measurement->warmup + measurement->iterations;
    if (measurement->kind == ROUND_TRIP)
        answer(run, measurement->bytes, count);
    else
        send_stream(run, measurement, count / measurement->window);
}

static void run_case(const struct run *run, enum kind kind, long bytes)
{
    const char *suffix = run->attach ? "-cma" : "";
    const struct measurement measurement = plan_measurement(&run->options, kind, bytes, run->group, suffix);
    if (!case_selected(&run->options, measurement.name))
        return;
    if (run->leads)
        measure_and_report(run, &measurement);
    else
        follow(run, &measurement);
}

/* Both ranks walk through the same cases in the same order. Small messages never attach. */
static void run_rounds(const struct run *run)
{
    long small = run->bytes > 0 ? run->bytes : 64;
    for (long round = 0; round < run->options.rounds; round++) {
        if (!run->attach) {
            run_case(run, ROUND_TRIP, small);
            run_case(run, MESSAGE_RATE, small);
        }
        run_case(run, BULK, run->bytes > 0 ? run->bytes : 64 * 1024);
        if (run->bytes == 0)
            run_case(run, BULK, 1024 * 1024);
    }
}

/* Replaces this process by mpirun with two ranks of this program. Returns only where mpirun is missing. */
static void start_ranks(const char *single_copy, int count, char **arguments)
{
    const char *const launcher[] = {
        "mpirun", "--allow-run-as-root", "-n", "2", "--host", "localhost:2", "--bind-to", "none",
        "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
        "--mca", "btl_vader_single_copy_mechanism", single_copy,
    };
    enum { LAUNCHER_WORDS = sizeof launcher / sizeof *launcher };
    char own_path[4096];
    ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    if (length < 0)
        fail_system("/proc/self/exe");
    own_path[length] = '\0';
    char **command = calloc(LAUNCHER_WORDS + (size_t)count + 1, sizeof *command);
    if (command == NULL)
        fail_system("calloc");
    if (!enter_own_network())
        fail_system("mpirun needs a network namespace of its own, which this system does not allow");
    memcpy(command, launcher, sizeof launcher);
    command[LAUNCHER_WORDS] = own_path;
    memcpy(command + LAUNCHER_WORDS + 1, arguments + 1, ((size_t)count - 1) * sizeof *command);
    execvp(command[0], command);
    if (errno != ENOENT)
        fail_system("mpirun");
    free(command);
}

static void run_rank(struct run *run)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    run->leads = rank == 0;
    pin_to(run->options.cpus[rank]);
    run->buffer = aligned_alloc(4096, MOST_MESSAGE_BYTES);
    if (run->buffer == NULL)
        fail_system("aligned_alloc");
    memset(run->buffer, 0, MOST_MESSAGE_BYTES);
    run_rounds(run);
    free(run->buffer);
}

int main(int count, char **arguments)
{
    struct run run = {.group = 16};
    const char *single_copy = "none";
    const struct extra_option extra[] = {
        {.name = "--bytes", .number = &run.bytes, .least = 1, .most = MOST_MESSAGE_BYTES},
        {.name = "--group", .number = &run.group, .least = 1, .most = 1000000},
        {.name = "--single-copy", .text = &single_copy},
        {.name = NULL},
    };
    run.options = parse_options(count, arguments, extra);
    require_two_cpus(&run.options);
    run.attach = strcmp(single_copy, "cma") == 0;
    if (!run.attach && strcmp(single_copy, "none") != 0)
        fail_usage("--single-copy: expected none or cma, got '%s'", single_copy);
    if (getenv("OMPI_COMM_WORLD_RANK") == NULL) {
        start_ranks(single_copy, count, arguments);
        fprintf(stderr, "peer missing: install with: apt-get install openmpi-bin libopenmpi-dev\n");
        return EXIT_PEER_MISSING;
    }
    MPI_Init(NULL, NULL);
    run_rank(&run);
    MPI_Finalize();
    return 0;
}
