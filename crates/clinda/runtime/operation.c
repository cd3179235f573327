/* The operations, and this process's connection. */

#include "runtime.h"

#include <stdbool.h>
#include <stdlib.h>

/* An eval that waits this long for a tuple leaves its place to another one meanwhile. */
enum { PATIENCE_MS = 1 };

quintet_space *clinda_space(void)
{
    static quintet_space *space;
    quintet_lab *lab;

    if (space == NULL) {
        clinda_must(quintet_lab_connect(NULL, &lab), "clinda");
        clinda_must(quintet_lab_space(lab, &space), "clinda");
        if (!clinda_is_eval)
            clinda_declare_keys();
    }
    return space;
}

void clinda_declare_key(clinda_tuple *types, size_t field)
{
    clinda_must(quintet_space_declare_key(clinda_space(), types->fields, field), types->place);
    clinda_free(types);
}

/* Ends an operation: a tuple that is kept has large data no longer than that. */
static void end(const clinda_tuple *tuple, quintet_status status)
{
    clinda_must(status, tuple->place);
    if (tuple->fixed != CLINDA_ALL)
        clinda_must(quintet_tuple_truncate(tuple->fields, tuple->fixed), tuple->place);
}

/* Ends one that looks for a tuple: gives what it found. */
static clinda_tuple found(const clinda_tuple *wanted, quintet_status status, quintet_tuple *fields)
{
    end(wanted, status);
    return (clinda_tuple){.fields = fields, .place = wanted->place};
}

/* ---- Puts that were begun ---- */

/* As many as are begun before the oldest is waited for. */
enum { MOST_AHEAD = 64 };

typedef struct {
    quintet_pending *pending;
    const char *place;
} put;

/* A ring: the oldest, and how many there are. */
static put puts[MOST_AHEAD];
static size_t oldest_put, put_count;

static void complete_oldest_put(void)
{
    put *put = &puts[oldest_put];
    bool is_done;

    clinda_must(quintet_pending_wait(put->pending, QUINTET_FOREVER, &is_done), put->place);
    clinda_must(quintet_pending_result(put->pending), put->place);
    quintet_pending_free(put->pending);
    oldest_put = (oldest_put + 1) % MOST_AHEAD;
    put_count--;
}

void clinda_complete_puts(void)
{
    while (put_count > 0)
        complete_oldest_put();
}

void clinda_out_ahead(const clinda_tuple *tuple)
{
    static bool completes_at_exit;

    if (!completes_at_exit && atexit(clinda_complete_puts) != 0)
        clinda_fail(tuple->place, "the system has no room for a function at the end");
    completes_at_exit = true;
    if (put_count == MOST_AHEAD)
        complete_oldest_put();
    put *next = &puts[(oldest_put + put_count) % MOST_AHEAD];
    *next = (put){.place = tuple->place};
    const quintet_tuple *fields = tuple->fields;
    end(tuple, quintet_space_begin_out(clinda_space(), &fields, 1, QUINTET_FOREVER, &next->pending));
    put_count++;
}

/* ---- Operations that wait ---- */

/* Waits for what was begun. Who carries out an eval says so if that takes long: another eval may have to run for it. After `patience_ms`, and again and
 * again, it is looked whether anything can come. `wanted` is NULL if it is no more. */
static void await(const char *place, const quintet_tuple *wanted, quintet_pending *pending, int64_t patience_ms)
{
    bool is_done = false;

    if (clinda_is_eval)
        clinda_must(quintet_pending_wait(pending, PATIENCE_MS, &is_done), place);
    if (is_done)
        return;
    clinda_tell_waiting(1);
    for (;; patience_ms = clinda_patience_ms()) {
        clinda_must(quintet_pending_wait(pending, patience_ms, &is_done), place);
        if (is_done)
            break;
        clinda_tell_deadlock(place, wanted);
    }
    clinda_tell_waiting(0);
}

/* The same, behind the puts that were begun before. */
static clinda_tuple complete(const char *place, const quintet_tuple *wanted, quintet_pending *pending, int64_t patience_ms)
{
    quintet_tuple *fields = NULL;

    clinda_complete_puts();
    await(place, wanted, pending, patience_ms);
    clinda_must(quintet_pending_tuple(pending, &fields), place);
    quintet_pending_free(pending);
    return (clinda_tuple){.fields = fields, .place = place};
}

typedef quintet_status (*begin_operation)(quintet_space *, const quintet_tuple *, int64_t, quintet_pending **);

static clinda_tuple wait_for(const clinda_tuple *wanted, begin_operation begin, int64_t patience_ms)
{
    quintet_pending *pending;

    clinda_must(begin(clinda_space(), wanted->fields, QUINTET_FOREVER, &pending), wanted->place);
    clinda_tuple tuple = complete(wanted->place, wanted->fields, pending, patience_ms);
    end(wanted, QUINTET_OK);
    return tuple;
}

void clinda_rd_early(clinda_early *early, const clinda_tuple *wanted)
{
    end(wanted, quintet_space_begin_read(clinda_space(), wanted->fields, QUINTET_FOREVER, &early->pending));
    early->place = wanted->place;
}

int clinda_is_begun(const clinda_early *early) { return early->pending != NULL; }

clinda_tuple clinda_rd_begun(clinda_early *early)
{
    quintet_pending *pending = early->pending;

    early->pending = NULL;
    return complete(early->place, NULL, pending, clinda_patience_ms());
}

void clinda_out(const clinda_tuple *tuple)
{
    clinda_complete_puts();
    end(tuple, quintet_space_out(clinda_space(), tuple->fields, QUINTET_FOREVER));
}

clinda_tuple clinda_in(const clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;

    if (clinda_is_eval || put_count > 0)
        return wait_for(wanted, quintet_space_begin_take, clinda_patience_ms());
    quintet_status status = quintet_space_take(clinda_space(), wanted->fields, clinda_patience_ms(), &fields);
    if (status == QUINTET_TIMED_OUT)
        return wait_for(wanted, quintet_space_begin_take, 0);
    return found(wanted, status, fields);
}

clinda_tuple clinda_rd(const clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;

    if (clinda_is_eval || put_count > 0)
        return wait_for(wanted, quintet_space_begin_read, clinda_patience_ms());
    quintet_status status = quintet_space_read(clinda_space(), wanted->fields, clinda_patience_ms(), &fields);
    if (status == QUINTET_TIMED_OUT)
        return wait_for(wanted, quintet_space_begin_read, 0);
    return found(wanted, status, fields);
}

clinda_tuple clinda_inp(const clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;
    clinda_complete_puts();
    quintet_status status = quintet_space_take_if(clinda_space(), wanted->fields, &fields);

    return found(wanted, status, fields);
}

clinda_tuple clinda_rdp(const clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;
    clinda_complete_puts();
    quintet_status status = quintet_space_read_if(clinda_space(), wanted->fields, &fields);

    return found(wanted, status, fields);
}

/* ---- A take and the puts behind it in one request ---- */

/* Whether the space has one manager. Where several share it, what a request puts may belong to another one than what it takes: that costs more than two
 * requests, and others that wait are served first. */
static bool has_one_manager(const char *place)
{
    static _Atomic uint64_t managers;
    quintet_state state;

    if (managers == 0) {
        clinda_must(quintet_space_status(clinda_space(), &state), place);
        managers = state.managers;
    }
    return managers == 1;
}

static quintet_status replace(const clinda_tuple *wanted, size_t count, const quintet_tuple *const *puts, quintet_tuple **fields)
{
    quintet_pending *pending;
    quintet_status status = QUINTET_TIMED_OUT;

    if (!clinda_is_eval)
        status = quintet_space_replace(clinda_space(), wanted->fields, puts, count, clinda_patience_ms(), fields);
    if (status != QUINTET_TIMED_OUT)
        return status;
    status = quintet_space_begin_replace(clinda_space(), wanted->fields, puts, count, QUINTET_FOREVER, &pending);
    if (status != QUINTET_OK)
        return status;
    await(wanted->place, wanted->fields, pending, clinda_is_eval ? clinda_patience_ms() : 0);
    status = quintet_pending_tuple(pending, fields);
    quintet_pending_free(pending);
    return status;
}

/* Whether the space refused a request, so that nothing has happened. Each operation by itself may wait for what is missing, or tells what is wrong with it. */
static bool is_refused(quintet_status status)
{
    return status == QUINTET_SPACE_FULL || status == QUINTET_TOO_LARGE || status == QUINTET_BAD_VALUE ||
           status == QUINTET_NOT_ALLOWED;
}

static clinda_tuple one_by_one(const clinda_tuple *wanted, size_t count, const clinda_tuple *const *puts)
{
    clinda_tuple taken = clinda_in(wanted);

    for (size_t i = 0; i < count; i++)
        clinda_out(puts[i]);
    return taken;
}

clinda_tuple clinda_in_out(const clinda_tuple *wanted, size_t count, const clinda_tuple *const *puts)
{
    const quintet_tuple *fields[CLINDA_MOST_PUTS];
    quintet_tuple *taken = NULL;

    if (!has_one_manager(wanted->place))
        return one_by_one(wanted, count, puts);
    for (size_t i = 0; i < count; i++)
        fields[i] = puts[i]->fields;
    clinda_complete_puts();
    quintet_status status = replace(wanted, count, fields, &taken);
    if (is_refused(status))
        return one_by_one(wanted, count, puts);
    clinda_tuple tuple = found(wanted, status, taken);
    for (size_t i = 0; i < count; i++)
        end(puts[i], QUINTET_OK);
    return tuple;
}
