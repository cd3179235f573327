/* Peer: a worker farm on lists of Redis: a master puts tasks (LPUSH), workers take them (BRPOP) and put results.
 *
 * Leased, a task is in a list of its worker's until its result is put, as Redis's documentation has it of a reliable queue: BLMOVE takes it, and a
 * transaction puts the result and removes it (LPUSH, LREM). Nobody gives back what a worker that has ended had, and no heartbeat says that
 * it has not: that would be the program's to add.
 *
 * A task keeps a processor busy for as long as it says, by the clock of the thread that does it. Efficiency is how long all tasks take where each
 * worker is given its share at once, of how long they take one by one. Server, master and workers, a process each, are on any processor, and speak
 * over the Unix socket. https://redis.io/docs/latest/commands/blmove/ */
#define _GNU_SOURCE
#include <math.h>

#include "redis_list.h"
#include "redis_server.h"
#include "report.h"

#define PEER "redis-c"

enum { MOST_WORKERS = 2, LEAST_TASKS = 20, LOOKS = 3, TASK_BYTES = 48, NAME_BYTES = 64, MOST_TASK_US = 1000000 };

/* Tasks among which the shortest is looked for, to what factor, and how efficient it shall be. */
static const double shortest_ns = 10e3, longest_ns = 10e6, factor = 1.1, efficient = 0.9;
/* What each worker computes for a look. */
static const double computed_ns = 200e6;

struct farm {
    redisContext *master;
    long workers;
    bool leases;
    pid_t processes[MOST_WORKERS];
};

static void put(redisContext *connection, const char *list, const char *value)
{
    if (redisAppendCommand(connection, "LPUSH %s %s", list, value) != REDIS_OK)
        fail_redis(connection, "LPUSH");
    expect(connection, REDIS_REPLY_INTEGER, "LPUSH");
}

static void take(redisContext *connection, const char *list, char value[TASK_BYTES])
{
    if (redisAppendCommand(connection, "BRPOP %s 0", list) != REDIS_OK)
        fail_redis(connection, "BRPOP");
    redisReply *reply = answer(connection, REDIS_REPLY_ARRAY, "BRPOP");
    snprintf(value, TASK_BYTES, "%s", reply->element[1]->str);
    freeReplyObject(reply);
}

static void take_leased(redisContext *connection, long worker, char value[TASK_BYTES])
{
    if (redisAppendCommand(connection, "BLMOVE tasks held:%ld RIGHT LEFT 0", worker) != REDIS_OK)
        fail_redis(connection, "BLMOVE");
    redisReply *reply = answer(connection, REDIS_REPLY_STRING, "BLMOVE");
    snprintf(value, TASK_BYTES, "%s", reply->str);
    freeReplyObject(reply);
}

/* One round trip: the result is put and the task is gone, at one instant. */
static void acknowledge(redisContext *connection, long worker, const char *value)
{
    if (redisAppendCommand(connection, "MULTI") != REDIS_OK ||
        redisAppendCommand(connection, "LPUSH results %s", value) != REDIS_OK ||
        redisAppendCommand(connection, "LREM held:%ld 1 %s", worker, value) != REDIS_OK ||
        redisAppendCommand(connection, "EXEC") != REDIS_OK)
        fail_redis(connection, "EXEC");
    for (int command = 0; command < 3; command++)
        expect(connection, REDIS_REPLY_STATUS, "MULTI");
    expect(connection, REDIS_REPLY_ARRAY, "EXEC");
}

static uint64_t computed_by_thread_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void compute(uint64_t duration_ns)
{
    uint64_t end = computed_by_thread_ns() + duration_ns;
    while (computed_by_thread_ns() < end)
        pause_briefly();
}

/* Does tasks until one takes no time. */
__attribute__((noreturn)) static void work(redisContext *connection, long worker, bool leases)
{
    for (;;) {
        char task[TASK_BYTES];
        if (leases)
            take_leased(connection, worker, task);
        else
            take(connection, "tasks", task);
        char *rest = NULL;
        uint64_t duration_ns = strtoull(task, &rest, 10);
        for (long times = atol(rest + 1); times > 0; times--)
            compute(duration_ns);
        if (leases)
            acknowledge(connection, worker, task);
        else
            put(connection, "results", task);
        if (duration_ns == 0)
            _exit(0);
    }
}

/* "duration:times:number" */
static void put_task(const struct farm *farm, double task_ns, long times, long number)
{
    char task[TASK_BYTES];
    snprintf(task, sizeof task, "%.0f:%ld:%ld", task_ns, times, number);
    put(farm->master, "tasks", task);
}

static void take_result(const struct farm *farm)
{
    char result[TASK_BYTES];
    take(farm->master, "results", result);
}

static struct farm start_farm(const struct server *server, long workers, bool leases)
{
    struct farm farm = {.master = connect_client(server), .workers = workers, .leases = leases};
    for (long worker = 0; worker < workers; worker++) {
        redisContext *connection = connect_client(server);
        farm.processes[worker] = fork_side();
        if (farm.processes[worker] == 0)
            work(connection, worker, leases);
        redisFree(connection);
    }
    return farm;
}

static void stop_farm(const struct farm *farm)
{
    for (long worker = 0; worker < farm->workers; worker++)
        put_task(farm, 0, 1, worker);
    for (long worker = 0; worker < farm->workers; worker++)
        take_result(farm);
    for (long worker = 0; worker < farm->workers; worker++)
        join_side(farm->processes[worker]);
    redisFree(farm->master);
}

/* For so many tasks, each so often, from the first one put to the last result taken. */
static double time_tasks(const struct farm *farm, long tasks, long times, double task_ns)
{
    uint64_t start = now_ns();
    for (long number = 0; number < tasks; number++)
        put_task(farm, task_ns, times, number);
    for (long number = 0; number < tasks; number++)
        take_result(farm);
    return (double)(now_ns() - start);
}

static double efficiency(const struct farm *farm, double task_ns)
{
    long share = (long)(computed_ns / task_ns);
    if (share < LEAST_TASKS)
        share = LEAST_TASKS;
    double at_once = time_tasks(farm, farm->workers, share, task_ns);
    return at_once / time_tasks(farm, farm->workers * share, 1, task_ns);
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of so many looks the median. */
static double median_efficiency(const struct farm *farm, double task_ns)
{
    double looks[LOOKS];
    for (int look = 0; look < LOOKS; look++)
        looks[look] = efficiency(farm, task_ns);
    qsort(looks, LOOKS, sizeof *looks, compare_numbers);
    return looks[LOOKS / 2];
}

/* The shortest task with which the efficiency is high enough. */
static double smallest_ns(const struct farm *farm)
{
    double too_short = shortest_ns, enough = longest_ns;
    if (median_efficiency(farm, too_short) >= efficient)
        return too_short;
    if (median_efficiency(farm, enough) < efficient) {
        fprintf(stderr, "tasks of 10 ms take more than ten ninths of their time: others have the processors\n");
        exit(EXIT_BROKEN);
    }
    while (enough / too_short > factor) {
        double middle = sqrt(too_short * enough);
        if (median_efficiency(farm, middle) >= efficient)
            enough = middle;
        else
            too_short = middle;
    }
    return enough;
}

/* The shortest task, or with `task_us` how efficient tasks of that length are. */
static void measure(const struct server *server, const struct peer_options *options, long workers, bool leases, long task_us)
{
    char name[NAME_BYTES];
    int written = snprintf(name, sizeof name, "farm-%ld%s-", workers, leases ? "-leased" : "");
    if (task_us > 0)
        snprintf(name + written, sizeof name - (size_t)written, "efficiency-%ldus", task_us);
    else
        snprintf(name + written, sizeof name - (size_t)written, "smallest-90");
    if (!case_selected(options, name))
        return;
    struct farm farm = start_farm(server, workers, leases);
    efficiency(&farm, shortest_ns);
    double found = task_us > 0 ? median_efficiency(&farm, (double)task_us * 1e3) : smallest_ns(&farm);
    print_line(PEER, name, task_us > 0 ? "1" : "ns", "mean", found);
    print_line(PEER, name, task_us > 0 ? "1" : "ns", "p50", found);
    stop_farm(&farm);
}

int main(int count, char **arguments)
{
    long task_us = 0;
    const struct extra_option extra[] = {
        {.name = "--task-us", .number = &task_us, .least = 1, .most = MOST_TASK_US},
        {.name = NULL},
    };
    struct peer_options options = parse_options(count, arguments, extra);
    struct server server = start_server(ANY_CPU, false);
    redisFree(connect_client(&server));
    for (long round = 0; round < options.rounds; round++)
        for (int leases = 0; leases < 2; leases++)
            for (long workers = 1; workers <= MOST_WORKERS; workers++)
                measure(&server, &options, workers, leases != 0, task_us);
    stop_server(&server);
    remove_directory(&server);
    return 0;
}
