/* What tests share that have several threads. */

#ifndef THREADS_H
#define THREADS_H

#include "check.h"

#include <pthread.h>

/* Does this with each of so many of so many bytes, in a thread of its own, and waits for all. */
static inline void in_threads(void *(*does)(void *), void *all, size_t bytes, size_t count) {
    pthread_t *threads = calloc(count, sizeof *threads);
    CHECK(threads != NULL);
    for (size_t i = 0; i < count; i++) CHECK(pthread_create(&threads[i], NULL, does, (char *)all + i * bytes) == 0);
    for (size_t i = 0; i < count; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    free(threads);
}

#endif
