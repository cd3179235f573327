/* The operations, and this process's connection. */

#include "runtime.h"

#include <stdbool.h>

/* An eval that waits this long for a tuple leaves its place to another one meanwhile. */
enum { PATIENCE_MS = 1 };

quintet_space *clinda_space(void)
{
    static quintet_space *space;
    quintet_lab *lab;

    if (space == NULL) {
        clinda_must(quintet_lab_connect(NULL, &lab), "clinda");
        clinda_must(quintet_lab_space(lab, &space), "clinda");
    }
    return space;
}

/* Ends an operation: frees its template, and gives what it found. */
static clinda_tuple *found(clinda_tuple *wanted, quintet_status status, quintet_tuple *fields)
{
    const char *place = wanted->place;

    clinda_must(status, place);
    clinda_free(wanted);
    return fields == NULL ? NULL : clinda_wrap(fields, place);
}

typedef quintet_status (*begin_operation)(quintet_space *, const quintet_tuple *, int64_t, quintet_pending **);

/* Waits for what was begun. Who carries out an eval says so if that takes long: another eval may have to run for it. */
static clinda_tuple *wait_for(clinda_tuple *wanted, begin_operation begin)
{
    quintet_pending *pending;
    quintet_tuple *fields = NULL;
    bool is_done;

    clinda_must(begin(clinda_space(), wanted->fields, QUINTET_FOREVER, &pending), wanted->place);
    clinda_must(quintet_pending_wait(pending, PATIENCE_MS, &is_done), wanted->place);
    if (!is_done) {
        clinda_tell_waiting(1);
        clinda_must(quintet_pending_wait(pending, QUINTET_FOREVER, &is_done), wanted->place);
        clinda_tell_waiting(0);
    }
    quintet_status status = quintet_pending_tuple(pending, &fields);
    clinda_tuple *tuple = found(wanted, status, fields);
    quintet_pending_free(pending);
    return tuple;
}

void clinda_out(clinda_tuple *tuple)
{
    clinda_must(quintet_space_out(clinda_space(), tuple->fields, QUINTET_FOREVER), tuple->place);
    clinda_free(tuple);
}

clinda_tuple *clinda_in(clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;

    if (clinda_is_eval)
        return wait_for(wanted, quintet_space_begin_take);
    quintet_status status = quintet_space_take(clinda_space(), wanted->fields, QUINTET_FOREVER, &fields);
    return found(wanted, status, fields);
}

clinda_tuple *clinda_rd(clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;

    if (clinda_is_eval)
        return wait_for(wanted, quintet_space_begin_read);
    quintet_status status = quintet_space_read(clinda_space(), wanted->fields, QUINTET_FOREVER, &fields);
    return found(wanted, status, fields);
}

clinda_tuple *clinda_inp(clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;
    quintet_status status = quintet_space_take_if(clinda_space(), wanted->fields, &fields);

    return found(wanted, status, fields);
}

clinda_tuple *clinda_rdp(clinda_tuple *wanted)
{
    quintet_tuple *fields = NULL;
    quintet_status status = quintet_space_read_if(clinda_space(), wanted->fields, &fields);

    return found(wanted, status, fields);
}
