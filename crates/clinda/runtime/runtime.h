/* What the files of the run-time share. Its parts: tuple.c, operation.c, deadlock.c, live.c, processes.c, timer.c, main.c. */

#ifndef CLINDA_RUNTIME_H
#define CLINDA_RUNTIME_H

#include "clinda.h"

#include <quintet.h>
#include <stdint.h>

/* A `long` is what the space calls 64 bits. */
_Static_assert(sizeof(long) == 8 && sizeof(int) == 4, "C-Linda needs a system where int has 32 bits and long 64");

/* This process's space; it is connected with the first operation. */
quintet_space *clinda_space(void);

/* Waits until all is there that was put ahead. */
void clinda_complete_puts(void);

/* The bytes of a scalar. */
size_t clinda_size(clinda_type type);

/* Ends the program if a call of the library failed: says where, and what it says. */
void clinda_must(quintet_status status, const char *place);
/* Ends the program with these words. */
void clinda_fail(const char *place, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* ---- deadlock.c ---- */

/* How long a wait lasts before it is looked whether anything can come of it: QUINTET_FOREVER if not again. */
int64_t clinda_patience_ms(void);
/* Says so, once, if nobody is left who could put what this process waits for. `wanted` is NULL if it is no more. */
void clinda_tell_deadlock(const char *place, const quintet_tuple *wanted);

/* ---- live.c ---- */

/* The names of the run-time's own tuples: see there. */
#define CLINDA_RIGHT "clinda.eval"
#define CLINDA_DONE "clinda.done"
#define CLINDA_HALT "clinda.halt"

/* Whether this process carries out evals. */
extern int clinda_is_eval;
/* The places where live tuples are made; NULL if the program has none. */
extern clinda_site *clinda_sites;
/* Waits for an eval, and carries it out. */
void clinda_serve_one(void);
/* Waits until all evals have ended. */
void clinda_wait_for_evals(void);
/* The place of the eval that this process carries out; NULL if it carries out none. */
const char *clinda_current_site(void);
/* Ends this process's eval without a tuple. */
void clinda_leave(void);
/* Has the process of real_main end all, and say `text` unless it is "". */
void clinda_ask_to_halt(int status, const char *text);
/* Waits to be asked, on a thread of its own. */
void clinda_watch_for_halts(void);

/* ---- processes.c ---- */

/* Serves evals until it is killed, or nothing can be read from `life` any more, unless that is -1: at most `limit` of them at once, not counting those that
 * wait for tuples. Each has a process of its own. Gives what to exit with: not 0 if such a process cannot wait for evals. */
int clinda_serve_evals(int limit, int life);
/* Tells that process that this one is connected; that it has taken an eval, for the `attempt`-th time; that it waits for a tuple, or goes on; that it
 * says so in the space when it is done, and sweeps up; that it has. */
void clinda_tell_connected(void);
void clinda_tell_taken(const char *site, uint32_t attempt);
void clinda_tell_waiting(int is_waiting);
void clinda_tell_ending(void);
void clinda_tell_done(void);

/* ---- main.c ---- */

/* In a process that is begun to carry out evals: signals that end it do no more than that. */
void clinda_release_ends(void);

#endif
