/* Measuring time in programs for Isotach 1.0 (iso.h). */
#ifndef QUINTET_PROF_H
#define QUINTET_PROF_H

#include <sys/time.h>
#include <time.h>

/* How often a test repeats what it measures. */
#ifndef REPS
#define REPS 1000
#endif

/* Reads a counter that goes up by one each nanosecond: a processor's own may differ between cores. */
static inline void fast_timer(long long *counter) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *counter = now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Makes of a later time how long it is behind an earlier one. */
static inline void subtracttime(struct timeval *later, const struct timeval *earlier) {
    later->tv_sec -= earlier->tv_sec;
    later->tv_usec -= earlier->tv_usec;
    if (later->tv_usec < 0) {
        later->tv_sec -= 1;
        later->tv_usec += 1000000;
    }
}

#endif
