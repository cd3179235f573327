/* Command-line options that every peer understands, and how a peer adds its own.
 *
 * Every option takes one value. A value that is missing, not a number or out of range ends the program with
 * EXIT_USAGE, so that a misspelt option never runs as a default. Read `parse_options` first. */
#ifndef PEER_OPTIONS_H
#define PEER_OPTIONS_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Exit statuses, from sysexits(3). */
enum { EXIT_USAGE = 64, EXIT_PEER_MISSING = 69, EXIT_BROKEN = 70 };

enum { MOST_CPUS = 3 };

/* Smallest size above which a case repeats less often; see `iterations_for`. */
enum { FULL_COUNT_BYTES = 16 * 1024 };

struct peer_options {
    long rounds;        /* how often every case is measured */
    long warmup;        /* unmeasured operations before each round of each case */
    long iterations;    /* measured operations in a round of a case */
    int cpus[MOST_CPUS];
    int cpu_count;
    const char *only_case; /* NULL: every case */
};

/* An option of one peer alone: a number between `least` and `most`, or, where `text` is set, a word. */
struct extra_option {
    const char *name;
    long *number;
    long least;
    long most;
    const char **text;
};

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail_usage(const char *format, ...)
{
    __builtin_va_list arguments;
    __builtin_va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(EXIT_USAGE);
}

static inline long parse_number(const char *name, const char *text, long least, long most)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least || number > most)
        fail_usage("%s: expected a number from %ld to %ld, got '%s'", name, least, most, text);
    return number;
}

/* Reads "A,B" or "A,B,C". */
static inline void parse_cpus(struct peer_options *options, const char *text)
{
    options->cpu_count = 0;
    for (const char *rest = text; rest != NULL;) {
        char *end = NULL;
        long cpu = strtol(rest, &end, 10);
        if (end == rest || (*end != '\0' && *end != ',') || cpu < 0 || cpu >= CPU_SETSIZE || options->cpu_count == MOST_CPUS)
            fail_usage("--cpus: expected two or three processor numbers such as 0,1, got '%s'", text);
        options->cpus[options->cpu_count++] = (int)cpu;
        rest = *end == ',' ? end + 1 : NULL;
    }
    if (options->cpu_count < 2)
        fail_usage("--cpus: expected two or three processor numbers such as 0,1, got '%s'", text);
}

/* The first two processors this process may run on; the same one twice where it has only one. */
static inline void choose_cpus(struct peer_options *options)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail_usage("sched_getaffinity: %s; name the processors with --cpus A,B", strerror(errno));
    for (int cpu = 0; cpu < CPU_SETSIZE && options->cpu_count < 2; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            options->cpus[options->cpu_count++] = cpu;
    if (options->cpu_count == 1)
        options->cpus[options->cpu_count++] = options->cpus[0];
}

static inline bool parse_shared_option(struct peer_options *options, const char *name, const char *value)
{
    if (strcmp(name, "--rounds") == 0)
        options->rounds = parse_number(name, value, 1, 1000);
    else if (strcmp(name, "--warmup") == 0)
        options->warmup = parse_number(name, value, 0, 100 * 1000 * 1000);
    else if (strcmp(name, "--iterations") == 0)
        options->iterations = parse_number(name, value, 1, 100 * 1000 * 1000);
    else if (strcmp(name, "--cpus") == 0)
        parse_cpus(options, value);
    else if (strcmp(name, "--case") == 0)
        options->only_case = value;
    else
        return false;
    return true;
}

static inline bool parse_extra_option(const struct extra_option *extra, const char *name, const char *value)
{
    for (; extra->name != NULL; extra++) {
        if (strcmp(name, extra->name) != 0)
            continue;
        if (extra->text != NULL)
            *extra->text = value;
        else
            *extra->number = parse_number(name, value, extra->least, extra->most);
        return true;
    }
    return false;
}

/* Parses the shared options and those of `extra`, an array that ends with a NULL name. */
static inline struct peer_options parse_options(int count, char **arguments, const struct extra_option *extra)
{
    struct peer_options options = {.rounds = 11, .warmup = 1000, .iterations = 20000};
    for (int index = 1; index < count; index += 2) {
        const char *name = arguments[index];
        if (index + 1 == count)
            fail_usage("%s: unknown option, or its value is missing; the README lists the options", name);
        if (!parse_shared_option(&options, name, arguments[index + 1]) && !parse_extra_option(extra, name, arguments[index + 1]))
            fail_usage("%s: unknown option; the README lists the options", name);
    }
    if (options.cpu_count == 0)
        choose_cpus(&options);
    return options;
}

/* For peers whose two sides poll: on one processor each would burn its time slice before the other runs. */
static inline void require_two_cpus(const struct peer_options *options)
{
    if (options->cpus[0] == options->cpus[1])
        fail_usage("both sides poll, so --cpus needs two different processors");
}

static inline bool case_selected(const struct peer_options *options, const char *name)
{
    return options->only_case == NULL || strcmp(options->only_case, name) == 0;
}

/* Large messages repeat less often, so that a round moves about as many bytes at every size. */
static inline long iterations_for(long iterations, long bytes)
{
    long fewer = bytes > FULL_COUNT_BYTES ? iterations / (bytes / FULL_COUNT_BYTES) : iterations;
    return fewer > 0 || iterations == 0 ? fewer : 1;
}

#endif
