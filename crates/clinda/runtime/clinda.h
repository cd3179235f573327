/* What C that `quintet clc` has written calls, and what a program in C-Linda may call itself.
 *
 * It includes no header of the system but stddef.h: what a program defines before its own includes still counts. */

#ifndef CLINDA_H
#define CLINDA_H

#include <stddef.h>

/* ---- For programs ---- */

/* Begins to measure time. */
void start_timer(void);
/* Takes the time since start_timer, under this name: a copy of it is kept. */
void timer_split(const char *name);
/* Writes all times that were taken to the standard error: seconds since start_timer, and since the time before. */
void print_times(void);
/* Ends this process; in real_main's, once all evals have ended. */
void lexit(int status) __attribute__((noreturn));
/* Ends all processes of the program at once. */
void lhalt(int status) __attribute__((noreturn));

/* ---- For written code: tuples ---- */

/* A scalar type of C, as the space knows it. */
typedef enum {
    CLINDA_BOOL,
    CLINDA_CHAR,
    CLINDA_UNSIGNED_CHAR,
    CLINDA_SHORT,
    CLINDA_UNSIGNED_SHORT,
    CLINDA_INT,
    CLINDA_UNSIGNED_INT,
    CLINDA_LONG,
    CLINDA_UNSIGNED_LONG,
    CLINDA_FLOAT,
    CLINDA_DOUBLE
} clinda_type;

/* Of a formal array's first dimension: any length. Of an array that is filled: nobody knows how long it is. */
#define CLINDA_ANY ((size_t)-1)

/* A tuple or a template, made field by field. What is wrong with a field is told when the tuple is used. */
typedef struct {
    struct quintet_tuple *fields;
    const char *place; /* the operation's: "jmatrix.cl:63: in"; errors begin with that */
    size_t fixed;      /* fields at its beginning that an operation leaves to the next one: they are the same each time */
} clinda_tuple;
/* Of a kept tuple: all its fields are. */
#define CLINDA_ALL ((size_t)-1)

/* Begins an operation's tuple, which its thread keeps. Whether the fixed fields are to be added: it is the thread's first time. */
int clinda_begin(clinda_tuple *tuple);
/* A tuple without fields, to be freed. */
clinda_tuple clinda_new(const char *place);
/* Adds a text. */
void clinda_text(clinda_tuple *tuple, const char *text);
/* Adds the scalar to which `value` points. */
void clinda_value(clinda_tuple *tuple, clinda_type type, const void *value);
/* Adds an array in C order: `count` elements, each of them an array itself where `inner` lengths are in `shape`. */
void clinda_array(clinda_tuple *tuple, clinda_type type, long count, size_t inner, const size_t *shape, const void *data);
/* Adds a formal for a scalar. */
void clinda_formal(clinda_tuple *tuple, clinda_type type);
/* Adds a formal for an array of `count` elements, or of any number. */
void clinda_formal_array(clinda_tuple *tuple, clinda_type type, size_t count, size_t inner, const size_t *shape);
/* Adds a field of another tuple. */
void clinda_copy(clinda_tuple *tuple, const clinda_tuple *from, size_t field);
/* Stores the scalar in a field, counted from 0. */
void clinda_get(const clinda_tuple *tuple, size_t field, clinda_type type, void *value);
/* Stores the array in a field where there is room for `room` elements, and gives the number of its elements. */
size_t clinda_get_array(const clinda_tuple *tuple, size_t field, size_t room, void *data);
void clinda_free(clinda_tuple *tuple);

/* ---- For written code: operations; what is found is to be freed ---- */

void clinda_out(const clinda_tuple *tuple);
clinda_tuple clinda_in(const clinda_tuple *wanted);
clinda_tuple clinda_rd(const clinda_tuple *wanted);
/* Without fields if there is none. */
clinda_tuple clinda_inp(const clinda_tuple *wanted);
clinda_tuple clinda_rdp(const clinda_tuple *wanted);

/* Tells the space that every template of these types gives a value for the field of this number, counted from 0: several managers have such tuples by that.
 * Frees the types. */
void clinda_declare_key(clinda_tuple *types, size_t field);

/* ---- For written code: operations that are begun early ---- */

/* Puts a tuple without waiting for that. What has been put so is there before this process's next inp, rdp or eval looks, before an eval of it is over, and
 * before the program ends. */
void clinda_out_ahead(const clinda_tuple *tuple);

/* A rd that was begun, for this place. */
typedef struct {
    struct quintet_pending *pending;
    const char *place;
} clinda_early;

/* Begins a rd; whether that was done; waits for it. */
void clinda_rd_early(clinda_early *early, const clinda_tuple *wanted);
int clinda_is_begun(const clinda_early *early);
clinda_tuple clinda_rd_begun(clinda_early *early);

/* ---- For written code: operations in one request ---- */

/* As many as are put with one take. */
#define CLINDA_MOST_PUTS 16

/* Takes a tuple, and puts `count` others. Where the space has one manager, and room for them in what is taken or beside it, that is one request, at one instant. */
clinda_tuple clinda_in_out(const clinda_tuple *wanted, size_t count, const clinda_tuple *const *puts);

/* ---- For written code: live tuples ---- */

/* An eval that this process carries out. */
typedef struct clinda_live clinda_live;

/* A place in the program where live tuples are made. */
typedef struct clinda_site {
    const char *name;               /* "jmatrix.cl:30:9": the same in all processes of the program */
    int calls;                      /* how many of its fields are calls */
    void (*run)(clinda_live *live); /* makes one of these calls, or the tuple of what they return */
    struct clinda_site *next;
} clinda_site;

/* Makes a site known, before main. */
void clinda_register(clinda_site *site);
/* A tuple to which an eval adds its passive fields and the arguments of its call. */
clinda_tuple clinda_begin_live(const char *place);
/* Has some process of the program carry it out. Frees it. */
void clinda_eval(clinda_tuple *live, const clinda_site *site);
/* The template of the live tuple, to which the formals of its fields are added. */
clinda_tuple clinda_begin_find(clinda_live *live);
/* Finds it, and frees the template. The fields that were added begin with number CLINDA_LIVE_FIELDS. */
const clinda_tuple *clinda_find(clinda_live *live, clinda_tuple *wanted);
#define CLINDA_LIVE_FIELDS 2
/* Whether this process makes the call of this number; takes what it has returned; whether all have returned, so that the tuple can be made. */
int clinda_is_for(const clinda_live *live, int call);
void clinda_returned(clinda_live *live, clinda_type type, const void *result);
int clinda_is_complete(const clinda_live *live);
/* Adds what a call has returned; waits for it. */
void clinda_add_result(clinda_tuple *tuple, clinda_live *live, int call, clinda_type type);
/* Puts what it has become. Frees it. */
void clinda_done(clinda_live *live, clinda_tuple *tuple);

/* Tells the space the keys of the whole program, before its first operation; quintet clc writes it when it links. */
void clinda_declare_keys(void);
/* The program's real_main, whatever it takes and returns; in the code that is written of it. */
int clinda_real_main(int argc, char **argv);

#endif
