/* The cases of a message-passing peer: round trips, one-way message rate and bulk throughput.
 *
 * Both processes of a peer plan a measurement from the same options, so that they count the same messages. */
#ifndef PEER_MESSAGE_CASES_H
#define PEER_MESSAGE_CASES_H

#include "options.h"
#include "report.h"

enum {
    MOST_MESSAGE_BYTES = 16 * 1024 * 1024,
    SMALL_WINDOW = 64, /* messages a sample in one-way cases */
    LARGE_WINDOW = 16,
    MOST_WINDOW = SMALL_WINDOW,
};

enum kind { ROUND_TRIP, MESSAGE_RATE, BULK };

struct measurement {
    char name[64];
    enum kind kind;
    long bytes;
    long warmup;     /* whole samples, like `iterations` */
    long iterations;
    long window; /* messages or round trips a sample */
};

/* `group` round trips make a sample; `suffix` ends the case's name. */
static inline struct measurement plan_measurement(const struct peer_options *options, enum kind kind, long bytes, long group,
                                                  const char *suffix)
{
    static const char *const kinds[] = {[ROUND_TRIP] = "rtt", [MESSAGE_RATE] = "rate", [BULK] = "bulk"};
    struct measurement planned = {.kind = kind, .bytes = bytes};
    char base[48];
    name_case(base, sizeof base, kinds[kind], bytes);
    snprintf(planned.name, sizeof planned.name, "%s%s", base, suffix);
    long iterations = iterations_for(options->iterations, bytes);
    long window = bytes > FULL_COUNT_BYTES ? LARGE_WINDOW : SMALL_WINDOW;
    planned.window = kind == ROUND_TRIP ? group : window;
    if (planned.window > iterations)
        planned.window = iterations;
    planned.iterations = whole_samples(iterations, planned.window);
    long warmup = iterations_for(options->warmup, bytes);
    planned.warmup = (warmup + planned.window - 1) / planned.window * planned.window;
    return planned;
}

static inline void report_measurement(const char *peer, const struct measurement *measurement, struct samples *samples)
{
    if (measurement->kind == ROUND_TRIP)
        report_times(peer, measurement->name, samples);
    else if (measurement->kind == MESSAGE_RATE)
        report_rates(peer, measurement->name, "msg/s", 1.0, samples);
    else
        report_rates(peer, measurement->name, "bytes/s", (double)measurement->bytes, samples);
}

#endif
