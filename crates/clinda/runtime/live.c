/* Live tuples: evals, as tuples of the space.
 *
 *     ("clinda.live", NUMBER, FIELDS ...)       what the eval was given
 *     ("clinda.eval", SITE, NUMBER, PART)       the right to carry out a part of it: leased, so that it comes back if its process dies
 *     ("clinda.part", NUMBER, PART, RESULT)     the bytes of what a call has returned: none if it has left instead
 *     ("clinda.done", RIGHTS)                   a right is used up, and its process had made so many others
 *     ("clinda.halt", STATUS, TEXT)             the program is to end
 *
 * A part is a call. An eval of several calls has one part more: to wait for their results and make the tuple. The rights are put at one instant with
 * what the eval was given. What a part comes to is put at the instant at which its right goes: once, however often it was begun. */

#define _DEFAULT_SOURCE

#include "runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define LIVE "clinda.live"
#define PART "clinda.part"

/* Calls that an eval may have: as many as a tuple has fields in C-Linda. */
enum { MOST_CALLS = 16 };
/* The result's place in its tuple. */
enum { RESULT = 3 };

struct clinda_live {
    quintet_lease *right;
    long number;
    int part;
    const clinda_site *site;
    /* What it was given, and what its calls have returned, as far as that is here. */
    clinda_tuple given;
    clinda_tuple results[MOST_CALLS];
    /* Whether a call has left, so that there is no tuple. */
    int has_left;
};

int clinda_is_eval;
clinda_site *clinda_sites;
/* Rights that this process has made. */
static long made;
/* What this process carries out. */
static clinda_live current;

void clinda_register(clinda_site *site)
{
    for (const clinda_site *other = clinda_sites; other != NULL; other = other->next) {
        if (strcmp(other->name, site->name) == 0)
            clinda_fail(site->name, "eval: two files have this name and an eval here; name one of them otherwise, or compile both from one folder");
    }
    site->next = clinda_sites;
    clinda_sites = site;
}

/* A number that no other live tuple has. */
static long fresh_number(void)
{
    static unsigned long next;

    if (next == 0 && getrandom(&next, sizeof next, 0) != sizeof next)
        clinda_fail("eval", "the system gives no random number");
    return (long)next++;
}

static clinda_tuple begin_named(const char *place, const char *name)
{
    clinda_tuple tuple = clinda_new(place);

    clinda_text(&tuple, name);
    return tuple;
}

clinda_tuple clinda_begin_live(const char *place)
{
    clinda_tuple live = begin_named(place, LIVE);
    long number = fresh_number();

    clinda_value(&live, CLINDA_LONG, &number);
    return live;
}

void clinda_eval(clinda_tuple *live, const clinda_site *site)
{
    int parts = site->calls == 1 ? 1 : site->calls + 1;
    clinda_tuple rights[MOST_CALLS + 1];
    const quintet_tuple *all[MOST_CALLS + 2] = {live->fields};

    for (int part = 0; part < parts; part++) {
        rights[part] = begin_named(live->place, CLINDA_RIGHT);
        clinda_text(&rights[part], site->name);
        clinda_copy(&rights[part], live, 1);
        clinda_value(&rights[part], CLINDA_INT, &part);
        all[part + 1] = rights[part].fields;
    }
    clinda_complete_puts();
    clinda_must(quintet_space_out_many(clinda_space(), all, (size_t)parts + 1, QUINTET_FOREVER), live->place);
    made += parts;
    for (int part = 0; part < parts; part++)
        clinda_free(&rights[part]);
    clinda_free(live);
}

/* Waits for a right, and tells of it; gives the name of its site. */
static const char *take_right(clinda_live *live)
{
    clinda_tuple wanted = begin_named("eval", CLINDA_RIGHT);
    const quintet_tuple *right;
    const char *site;
    uint32_t attempt;

    quintet_tuple_add_formal(wanted.fields, QUINTET_TYPE_STRING);
    clinda_formal(&wanted, CLINDA_LONG);
    clinda_formal(&wanted, CLINDA_INT);
    quintet_space *space = clinda_space();
    clinda_tell_connected();
    clinda_must(quintet_space_lease(space, wanted.fields, QUINTET_FOREVER, &live->right), "eval");
    clinda_must(quintet_lease_tuple(live->right, &right), "eval");
    clinda_must(quintet_tuple_get_string(right, 1, &site, NULL), "eval");
    clinda_must(quintet_tuple_get_int64(right, 2, &live->number), "eval");
    clinda_must(quintet_tuple_get_int32(right, 3, &live->part), "eval");
    clinda_must(quintet_lease_attempt(live->right, &attempt), "eval");
    clinda_tell_taken(site, attempt);
    clinda_free(&wanted);
    return site;
}

void clinda_serve_one(void)
{
    const char *name = take_right(&current);
    const clinda_site *site = clinda_sites;

    while (site != NULL && strcmp(site->name, name) != 0)
        site = site->next;
    if (site == NULL)
        clinda_fail(name, "eval: this program has no such place; all its processes must be of one program");
    current.site = site;
    site->run(&current);
}

clinda_tuple clinda_begin_find(clinda_live *live)
{
    clinda_tuple wanted = begin_named(live->site->name, LIVE);

    clinda_value(&wanted, CLINDA_LONG, &live->number);
    return wanted;
}

const clinda_tuple *clinda_find(clinda_live *live, clinda_tuple *wanted)
{
    /* It is there for as long as the right is, so this does not count as waiting, however long it takes on a busy machine. */
    live->given = clinda_rdp(wanted);
    clinda_free(wanted);
    if (live->given.fields == NULL) {
        /* This process was taken for dead, and another one that got the right is done. */
        clinda_tell_done();
        exit(0);
    }
    return &live->given;
}

/* Gives the right away for what it has come to, if anything. */
static void finish(clinda_live *live, const clinda_tuple *result)
{
    clinda_tuple done = begin_named(live->site->name, CLINDA_DONE);

    /* What it has written and put is there before others know that it is done. */
    fflush(NULL);
    clinda_complete_puts();
    clinda_value(&done, CLINDA_LONG, &made);
    const quintet_tuple *both[] = {done.fields, result == NULL ? NULL : result->fields};
    clinda_tell_ending();
    quintet_status status = quintet_lease_acknowledge(live->right, both, result == NULL ? 1 : 2);
    /* Lost, this process was taken for dead, and another one has the right. */
    if (status != QUINTET_LEASE_LOST)
        clinda_must(status, live->site->name);
    clinda_free(&done);
    quintet_lease_free(live->right);
    live->right = NULL;
}

/* Removes a tuple that nobody needs any more. */
static void sweep(clinda_tuple *tuple)
{
    if (tuple->fields == NULL)
        return;
    clinda_tuple swept = clinda_inp(tuple);

    clinda_free(&swept);
    clinda_free(tuple);
}

int clinda_is_for(const clinda_live *live, int call)
{
    return live->part == call;
}

/* What this process's call has come to. */
static clinda_tuple begin_part(clinda_live *live, size_t bytes, const void *result)
{
    clinda_tuple part = begin_named(live->site->name, PART);

    clinda_value(&part, CLINDA_LONG, &live->number);
    clinda_value(&part, CLINDA_INT, &live->part);
    clinda_array(&part, CLINDA_UNSIGNED_CHAR, (long)bytes, 0, NULL, result);
    return part;
}

void clinda_returned(clinda_live *live, clinda_type type, const void *result)
{
    clinda_tuple *part = &live->results[live->part];

    *part = begin_part(live, clinda_size(type), result);
    if (live->site->calls > 1) {
        finish(live, part);
        clinda_tell_done();
    }
}

int clinda_is_complete(const clinda_live *live)
{
    return live->right != NULL;
}

void clinda_add_result(clinda_tuple *tuple, clinda_live *live, int call, clinda_type type)
{
    union {
        long integer;
        double real;
    } result;

    if (live->results[call].fields == NULL) {
        clinda_tuple wanted = begin_named(live->site->name, PART);

        clinda_value(&wanted, CLINDA_LONG, &live->number);
        clinda_value(&wanted, CLINDA_INT, &call);
        clinda_formal_array(&wanted, CLINDA_UNSIGNED_CHAR, CLINDA_ANY, 0, NULL);
        live->results[call] = clinda_rd(&wanted);
        clinda_free(&wanted);
    }
    if (clinda_get_array(&live->results[call], RESULT, sizeof result, &result) == clinda_size(type))
        clinda_value(tuple, type, &result);
    else
        live->has_left = 1;
}

void clinda_done(clinda_live *live, clinda_tuple *tuple)
{
    finish(live, live->has_left ? NULL : tuple);
    clinda_free(tuple);
    sweep(&live->given);
    for (int call = 0; live->site->calls > 1 && call < live->site->calls; call++)
        sweep(&live->results[call]);
    clinda_tell_done();
}

const char *clinda_current_site(void)
{
    return current.right == NULL ? NULL : current.site->name;
}

void clinda_leave(void)
{
    if (current.right == NULL)
        return;
    /* Who makes the tuple of several calls waits for each of them. */
    if (current.site->calls > 1) {
        clinda_tuple part = begin_part(&current, 0, "");
        finish(&current, &part);
        clinda_free(&part);
    } else {
        finish(&current, NULL);
        sweep(&current.given);
    }
    clinda_tell_done();
}

void clinda_wait_for_evals(void)
{
    enum { SAY_AFTER_MS = 5000 };
    int64_t timeout_ms = SAY_AFTER_MS;

    clinda_complete_puts();

    while (made > 0) {
        clinda_tuple wanted = begin_named("real_main", CLINDA_DONE);
        quintet_tuple *done;
        long more;

        clinda_formal(&wanted, CLINDA_LONG);
        quintet_status status = quintet_space_take(clinda_space(), wanted.fields, timeout_ms, &done);
        clinda_free(&wanted);
        if (status == QUINTET_TIMED_OUT) {
            fprintf(stderr, "clinda: real_main has ended, and evals have not: %ld to go; lhalt() ends them\n", made);
            timeout_ms = QUINTET_FOREVER;
            continue;
        }
        clinda_must(status, "real_main");
        clinda_must(quintet_tuple_get_int64(done, 1, &more), "real_main");
        quintet_tuple_free(done);
        made += more - 1;
    }
}

void clinda_ask_to_halt(int status, const char *text)
{
    clinda_tuple halt = begin_named("lhalt", CLINDA_HALT);

    clinda_value(&halt, CLINDA_INT, &status);
    clinda_text(&halt, text);
    clinda_out(&halt);
    clinda_free(&halt);
}

/* A connection of its own: what real_main does is not held up. */
static void *wait_for_halt(void *unused)
{
    clinda_tuple wanted = begin_named("lhalt", CLINDA_HALT);
    quintet_lab *lab;
    quintet_space *space;
    quintet_tuple *halt;
    const char *text;
    int status;

    (void)unused;
    clinda_formal(&wanted, CLINDA_INT);
    quintet_tuple_add_formal(wanted.fields, QUINTET_TYPE_STRING);
    clinda_must(quintet_lab_connect(NULL, &lab), "clinda");
    clinda_must(quintet_lab_space(lab, &space), "clinda");
    clinda_must(quintet_space_take(space, wanted.fields, QUINTET_FOREVER, &halt), "lhalt");
    clinda_must(quintet_tuple_get_int32(halt, 1, &status), "lhalt");
    clinda_must(quintet_tuple_get_string(halt, 2, &text, NULL), "lhalt");
    if (text[0] != '\0')
        fprintf(stderr, "clinda: %s\n", text);
    exit(status);
}

void clinda_watch_for_halts(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, wait_for_halt, NULL) != 0)
        clinda_fail("clinda", "the system gives no thread");
    pthread_detach(thread);
}
