/* Says so when nobody is left who could put what this process waits for.
 *
 * That is so if nothing can come of itself: every client of the space is a process of this program and waits without end, no eval waits for a process, and
 * of the tuples that are waited for none is taken and may return. It is looked at in several requests; who waits before the first and behind the last
 * one has waited all the while. */

#define _DEFAULT_SOURCE

#include "runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clients of the run-time's own that are looked at: of more than that nothing is said. */
enum { MOST_OWN = 2048 };
/* How long a wait lasts before it is looked, unless the environment says otherwise. */
enum { DEFAULT_MS = 10000 };

/* Those who wait, as far as it has to be known. */
typedef struct {
    size_t requests;
    /* Of their ages: a request that comes has a higher one than all that went. */
    uint64_t sum;
    /* The clients that wait for something of the run-time's own: node and port. */
    size_t own_count;
    uint32_t own[MOST_OWN];
} waits;

static int64_t limit_ms(void)
{
    static _Atomic int64_t known = -1;
    int64_t limit = known;
    const char *given;
    char *end;

    if (limit >= 0)
        return limit;
    given = getenv("CLINDA_DEADLOCK_MS");
    errno = 0;
    limit = given == NULL ? DEFAULT_MS : strtoll(given, &end, 10);
    if (given != NULL && (end == given || *end != '\0' || errno != 0 || limit < 0))
        clinda_fail("clinda", "CLINDA_DEADLOCK_MS is %s: it is a number of milliseconds, or 0 to say nothing", given);
    known = limit;
    return limit;
}

/* Whether it was said. Threads of the program look one after the other, and may read this meanwhile. */
static _Atomic int was_told;
static pthread_mutex_t looks = PTHREAD_MUTEX_INITIALIZER;

int64_t clinda_patience_ms(void)
{
    return was_told || limit_ms() == 0 ? QUINTET_FOREVER : limit_ms();
}

static int is_named(const quintet_tuple *wanted, const char *name)
{
    const char *first;

    return wanted != NULL && quintet_tuple_get_string(wanted, 0, &first, NULL) == QUINTET_OK && strcmp(first, name) == 0;
}

/* Whether who waits for this puts nothing of its own accord: it waits for an eval, to be told to halt, or runs the job and waits for what happens there. */
static int is_of_run_time(const quintet_tuple *wanted)
{
    return is_named(wanted, CLINDA_RIGHT) || is_named(wanted, CLINDA_HALT) || is_named(wanted, "quintet.event");
}

static uint32_t client_of(uint16_t node, uint16_t port)
{
    return (uint32_t)node << 16 | port;
}

/* Takes in a request. False if something may come of it. */
static int add(waits *all, const quintet_waiting_row *row, const quintet_tuple *wanted)
{
    all->requests++;
    all->sum += row->age;
    if (is_of_run_time(wanted)) {
        if (all->own_count == MOST_OWN)
            return 0;
        all->own[all->own_count++] = client_of(row->client_node, row->client_port);
        return 1;
    }
    if (is_named(wanted, CLINDA_DONE))
        return 1;
    return row->awaited == QUINTET_AWAITED_TUPLE && row->hidden == 0 && row->ends_in_ms == QUINTET_FOREVER;
}

/* Looks at all requests that wait. */
static int look(waits *all)
{
    quintet_waiting *list;
    quintet_waiting_row row;
    quintet_tuple *wanted = NULL;
    bool is_there = true;
    int goes_on = quintet_space_waiting(clinda_space(), &list) == QUINTET_OK;

    if (!goes_on)
        return 0;
    memset(all, 0, sizeof *all);
    while (goes_on && is_there) {
        goes_on = quintet_waiting_next(list, &row, &wanted, &is_there) == QUINTET_OK && (!is_there || add(all, &row, wanted));
        quintet_tuple_free(wanted);
        wanted = NULL;
    }
    quintet_waiting_free(list);
    return goes_on;
}

/* Goes through the rights to carry out evals. False if one of them nobody has: an eval waits for a process. */
static int count_evals(size_t *count)
{
    clinda_tuple wanted = clinda_new("clinda");
    quintet_listing *list;
    quintet_row row;
    quintet_tuple *right = NULL;

    clinda_text(&wanted, CLINDA_RIGHT);
    quintet_tuple_add_formal(wanted.fields, QUINTET_TYPE_STRING);
    clinda_formal(&wanted, CLINDA_LONG);
    clinda_formal(&wanted, CLINDA_INT);
    int goes_on = quintet_space_list(clinda_space(), wanted.fields, &list) == QUINTET_OK;
    clinda_free(&wanted);
    if (!goes_on)
        return 0;
    for (*count = 0;; (*count)++) {
        goes_on = quintet_listing_next(list, &row, &right) == QUINTET_OK && (right == NULL || row.is_leased);
        if (!goes_on || right == NULL)
            break;
        quintet_tuple_free(right);
    }
    quintet_tuple_free(goes_on ? NULL : right);
    quintet_listing_free(list);
    return goes_on;
}

static int is_own(const waits *all, const quintet_client_row *client)
{
    for (size_t i = 0; i < all->own_count; i++) {
        if (all->own[i] == client_of(client->node, client->port))
            return 1;
    }
    return 0;
}

/* Whether every client waits, and is a process of this program: those of the run-time's own waits, those of `evals`, and real_main's. */
static int are_all_own(const waits *all, size_t evals)
{
    quintet_clients *list;
    quintet_client_row client;
    bool is_there = true;
    size_t with_rights = 0, others = 0;
    int goes_on = quintet_space_clients(clinda_space(), &list) == QUINTET_OK;

    if (!goes_on)
        return 0;
    while (goes_on && is_there) {
        goes_on = quintet_clients_next(list, &client, &is_there) == QUINTET_OK;
        if (!goes_on || !is_there || is_own(all, &client))
            continue;
        goes_on = client.waiting > 0 && client.leases <= 1;
        with_rights += client.leases;
        others += client.leases == 0;
    }
    quintet_clients_free(list);
    return goes_on && with_rights == evals && others <= 1;
}

/* Whether nobody is left who could put anything. Where several managers share a space, no look at all of it is at one instant. */
static int is_deadlock(void)
{
    static waits before, after;
    quintet_state state;
    size_t evals;

    return quintet_space_status(clinda_space(), &state) == QUINTET_OK && state.managers <= 1 && state.parked == 0 && look(&before)
        && count_evals(&evals) && are_all_own(&before, evals) && look(&after) && before.requests == after.requests
        && before.sum == after.sum;
}

/* Says it, unless it was said. */
static void tell(const char *place, const quintet_tuple *wanted)
{
    const char *text, *site = clinda_current_site();

    if (was_told || limit_ms() == 0 || !is_deadlock())
        return;
    was_told = 1;
    if (wanted == NULL || quintet_tuple_show(wanted, &text) != QUINTET_OK)
        text = "a tuple";
    fprintf(stderr, "clinda: %s: %s%s waits for %s, and nobody is left who could put it: all processes of the program wait\n", place,
            site == NULL ? "real_main" : "the eval of ", site == NULL ? "" : site, text);
}

void clinda_tell_deadlock(const char *place, const quintet_tuple *wanted)
{
    pthread_mutex_lock(&looks);
    tell(place, wanted);
    pthread_mutex_unlock(&looks);
}
