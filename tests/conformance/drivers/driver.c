/* The driver of the C library. What it is told and says is in docs/conformance.md. */

#include "answers.h"

enum { CLIENTS = 26, STEPS = 256, MOST_TUPLES = 4096 };

/* What a step left behind. */
static struct {
    quintet_lease *lease;
    quintet_pending *pending;
    quintet_watch *watch;
    quintet_group *group;
    /* What was begun. */
    char verb[16];
} steps[STEPS];
static quintet_lab *connections[CLIENTS], *embedded;
/* The space that a client uses: its lab's, or a named one. */
static quintet_space *spaces[CLIENTS], *named[CLIENTS];

/* The words of a line that were not read so far. */
static char *words;

static char *next_word(void) {
    char *word = words;
    if (word == NULL) return NULL;
    words = strchr(word, ' ');
    if (words != NULL) *words++ = 0;
    return word;
}

static unsigned long next_step(void) {
    unsigned long number = strtoul(next_word(), NULL, 10);
    if (number >= STEPS) fail("too many steps");
    return number;
}

static int64_t next_limit(void) {
    char *word = next_word();
    return *word == '-' ? QUINTET_FOREVER : strtoll(word, NULL, 10);
}

/* Keeps a lease; its tuple, and which attempt it is. */
static const quintet_tuple *keep_lease(quintet_lease *lease, unsigned long of, uint32_t *attempt) {
    const quintet_tuple *tuple;
    if (quintet_lease_tuple(lease, &tuple) != QUINTET_OK || quintet_lease_attempt(lease, attempt) != QUINTET_OK) fail("no lease");
    steps[of].lease = lease;
    return tuple;
}

static void say_lease(quintet_status status, quintet_lease *lease, unsigned long of) {
    uint32_t attempt;
    if (status != QUINTET_OK) {
        say_error(status);
        return;
    }
    const quintet_tuple *tuple = keep_lease(lease, of, &attempt);
    printf("%lu leased %u ", step, attempt);
    write_fields(tuple, 0);
    putchar('\n');
}

static void say_selected_lease(quintet_status status, size_t which, quintet_lease *lease, unsigned long of) {
    uint32_t attempt;
    if (status != QUINTET_OK) {
        say_error(status);
        return;
    }
    const quintet_tuple *tuple = keep_lease(lease, of, &attempt);
    printf("%lu selected %zu ", step, which);
    write_fields(tuple, 0);
    printf(" %u\n", attempt);
}

/* The tuples of a line; how many. They are to be freed. */
static size_t read_tuples(quintet_tuple **tuples, quintet_status *status) {
    size_t count = 0;
    for (char *word; *status == QUINTET_OK && (word = next_word()) != NULL;) {
        if (count == MOST_TUPLES) fail("too many tuples");
        *status = read_fields(word, &tuples[count]);
        count += *status == QUINTET_OK;
    }
    return count;
}

/* Of a number and a template: the number. */
static int64_t first_number(quintet_tuple **tuples, size_t count) {
    int64_t number;
    if (count != 2 || quintet_tuple_get_int64(tuples[0], 0, &number) != QUINTET_OK) fail("no number");
    return number;
}

static void free_tuples(quintet_tuple **tuples, size_t count) {
    for (size_t i = 0; i < count; i++) quintet_tuple_free(tuples[i]);
}

static void open_client(int client) {
    char *address = next_word();
    if (words != NULL) {
        printf("%lu cannot limits of a space that is embedded: C has none\n", step);
        return;
    }
    quintet_status status = QUINTET_OK;
    if (strcmp(address, "embedded") != 0) status = quintet_lab_connect(address, &connections[client]);
    else if (embedded == NULL) status = quintet_lab_embedded(&embedded);
    if (status == QUINTET_OK) status = quintet_lab_space(connections[client] != NULL ? connections[client] : embedded, &spaces[client]);
    say_done(status, "done");
}

static quintet_lab *lab_of(int client) { return connections[client] != NULL ? connections[client] : embedded; }

static void use(int client, quintet_space *space) {
    quintet_space_free(named[client]);
    named[client] = space;
}

static void close_client(int client) {
    use(client, NULL);
    quintet_lab_free(connections[client]);
    connections[client] = NULL, spaces[client] = NULL;
}

static void reset(void) {
    for (int i = 0; i < STEPS; i++) {
        quintet_lease_free(steps[i].lease), quintet_pending_free(steps[i].pending), quintet_watch_free(steps[i].watch);
        quintet_group_free(steps[i].group);
        steps[i].lease = NULL, steps[i].pending = NULL, steps[i].watch = NULL, steps[i].group = NULL;
    }
    for (int client = 0; client < CLIENTS; client++) close_client(client);
    quintet_lab_free(embedded);
    embedded = NULL;
}

/* An operation that is answered before anything else is done. */
static void call(quintet_space *space, const char *verb) {
    static quintet_tuple *tuples[MOST_TUPLES];
    int64_t limit = next_limit();
    quintet_status status = QUINTET_OK;
    quintet_tuple *found = NULL;
    quintet_lease *lease = NULL;
    quintet_collection *rows = NULL;
    uint64_t number = 0;
    size_t count = read_tuples(tuples, &status), which = 0;
    const quintet_tuple *const *all = (const quintet_tuple *const *)tuples;
    if (status != QUINTET_OK) {
        say_error(status);
    } else if (strcmp(verb, "replace") == 0) {
        status = quintet_space_replace(space, all[0], all + 1, count - 1, limit, &found);
        say_tuple(status, found);
    } else if (strcmp(verb, "replace_if") == 0) {
        status = quintet_space_replace_if(space, all[0], all + 1, count - 1, &found);
        say_tuple(status, found);
    } else if (strcmp(verb, "select") == 0) {
        status = quintet_space_select(space, all, count, limit, &which, &found);
        say_selected(status, which, found);
    } else if (strcmp(verb, "select_read") == 0) {
        status = quintet_space_select_read(space, all, count, limit, &which, &found);
        say_selected(status, which, found);
    } else if (strcmp(verb, "select_if") == 0) {
        status = quintet_space_select_if(space, all, count, &which, &found);
        say_selected(status, which, found);
    } else if (strcmp(verb, "select_read_if") == 0) {
        status = quintet_space_select_read_if(space, all, count, &which, &found);
        say_selected(status, which, found);
    } else if (strcmp(verb, "select_lease") == 0) {
        status = quintet_space_select_lease(space, all, count, limit, &which, &lease);
        say_selected_lease(status, which, lease, step);
    } else if (strcmp(verb, "out") == 0) {
        say_done(quintet_space_out(space, tuples[0], limit), "done");
    } else if (strcmp(verb, "out_for") == 0) {
        say_done(quintet_space_out_for(space, tuples[0], limit, QUINTET_FOREVER), "done");
    } else if (strcmp(verb, "out_many") == 0) {
        say_done(quintet_space_out_many(space, (const quintet_tuple *const *)tuples, count, limit), "done");
    } else if (strcmp(verb, "take") == 0) {
        status = quintet_space_take(space, tuples[0], limit, &found);
        say_tuple(status, found);
    } else if (strcmp(verb, "read") == 0) {
        status = quintet_space_read(space, tuples[0], limit, &found);
        say_tuple(status, found);
    } else if (strcmp(verb, "take_if") == 0) {
        status = quintet_space_take_if(space, tuples[0], &found);
        say_tuple(status, found);
    } else if (strcmp(verb, "read_if") == 0) {
        status = quintet_space_read_if(space, tuples[0], &found);
        say_tuple(status, found);
    } else if (strcmp(verb, "lease") == 0) {
        status = quintet_space_lease(space, tuples[0], limit, &lease);
        say_lease(status, lease, step);
    } else if (strcmp(verb, "count") == 0) {
        status = quintet_space_count(space, tuples[0], &number);
        say_count(status, number);
    } else if (strcmp(verb, "list") == 0) {
        list(space, count == 0 ? NULL : tuples[0]);
    } else if (strcmp(verb, "collect_all") == 0) {
        status = quintet_space_collect(space, tuples[0], &rows);
        say_collected(status, rows);
    } else if (strcmp(verb, "copy_collect") == 0) {
        status = quintet_space_copy_collect(space, tuples[0], &rows);
        say_collected(status, rows);
    } else if (strcmp(verb, "take_up_to") == 0) {
        status = quintet_space_take_up_to(space, (size_t)first_number(tuples, count), tuples[1], &rows);
        say_collected(status, rows);
    } else if (strcmp(verb, "status") == 0) {
        say_status(space);
    } else if (strcmp(verb, "declare_key") == 0) {
        say_done(quintet_space_declare_key(space, tuples[1], (size_t)first_number(tuples, count)), "done");
    } else {
        printf("%lu cannot %s: there is no such operation\n", step, verb);
    }
    free_tuples(tuples, count);
}

/* An operation that is answered later. */
static void begin(quintet_space *space, const char *verb) {
    static quintet_tuple *tuples[MOST_TUPLES];
    bool acknowledges = strcmp(verb, "acknowledge") == 0;
    unsigned long of = acknowledges ? next_step() : 0;
    int64_t limit = next_limit();
    quintet_status status = QUINTET_OK;
    quintet_pending **pending = &steps[step].pending;
    size_t count = read_tuples(tuples, &status);
    const quintet_tuple *const *all = (const quintet_tuple *const *)tuples;
    snprintf(steps[step].verb, sizeof steps[step].verb, "%s", verb);
    if (status != QUINTET_OK) {
        say_error(status);
        free_tuples(tuples, count);
        return;
    }
    if (acknowledges) status = quintet_lease_begin_acknowledge_for(steps[of].lease, all, count, limit, pending);
    else if (strncmp(verb, "out", 3) == 0) status = quintet_space_begin_out(space, all, count, limit, pending);
    else if (strcmp(verb, "take") == 0) status = quintet_space_begin_take(space, tuples[0], limit, pending);
    else if (strcmp(verb, "read") == 0) status = quintet_space_begin_read(space, tuples[0], limit, pending);
    else if (strcmp(verb, "lease") == 0) status = quintet_space_begin_lease(space, tuples[0], limit, pending);
    else if (strcmp(verb, "replace") == 0) status = quintet_space_begin_replace(space, all[0], all + 1, count - 1, limit, pending);
    else if (strcmp(verb, "select") == 0) status = quintet_space_begin_select(space, all, count, limit, pending);
    else if (strcmp(verb, "select_read") == 0) status = quintet_space_begin_select_read(space, all, count, limit, pending);
    else if (strcmp(verb, "select_lease") == 0) status = quintet_space_begin_select_lease(space, all, count, limit, pending);
    else fail("it does not wait");
    free_tuples(tuples, count);
    say_done(status, "waits");
}

static void collect(unsigned long of) {
    quintet_pending *pending = steps[of].pending;
    quintet_tuple *tuple = NULL;
    quintet_lease *lease = NULL;
    quintet_status status;
    size_t which;
    if (strcmp(steps[of].verb, "select_lease") == 0) {
        status = quintet_pending_selected_lease(pending, &which, &lease);
        say_selected_lease(status, which, lease, of);
    } else if (strncmp(steps[of].verb, "select", 6) == 0) {
        status = quintet_pending_selected(pending, &which, &tuple);
        say_selected(status, which, tuple);
    } else if (strcmp(steps[of].verb, "take") == 0 || strcmp(steps[of].verb, "read") == 0 || strcmp(steps[of].verb, "replace") == 0) {
        status = quintet_pending_tuple(pending, &tuple);
        say_tuple(status, tuple);
    } else if (strcmp(steps[of].verb, "lease") == 0) {
        status = quintet_pending_lease(pending, &lease);
        say_lease(status, lease, of);
    } else {
        say_done(quintet_pending_result(pending), "done");
    }
    quintet_pending_free(pending);
    steps[of].pending = NULL;
}

static void acknowledge(void) {
    static quintet_tuple *results[MOST_TUPLES];
    quintet_lease *lease = steps[next_step()].lease;
    int64_t expires_in = next_limit();
    quintet_status status = QUINTET_OK;
    size_t count = read_tuples(results, &status);
    const quintet_tuple *const *all = (const quintet_tuple *const *)results;
    if (status == QUINTET_OK) status = quintet_lease_acknowledge_for(lease, all, count, expires_in);
    say_done(status, "done");
    free_tuples(results, count);
}

static void watch(quintet_space *space, uint64_t since) {
    quintet_tuple *wanted = NULL;
    next_limit();
    quintet_status status = QUINTET_OK;
    read_tuples(&wanted, &status);
    if (status == QUINTET_OK) status = quintet_space_watch(space, wanted, since, &steps[step].watch);
    say_done(status, "done");
    quintet_tuple_free(wanted);
}

/* Behind what another watch has seen. */
static void watch_behind(quintet_space *space) {
    uint64_t number;
    if (quintet_watch_number(steps[next_step()].watch, &number) != QUINTET_OK) fail("no watch");
    watch(space, number);
}

static void say_event(void) {
    static const char *const CHANGES[] = {"put", "taken", "leased", "returned", "done", "failed", "there", "expired"};
    quintet_watch *watched = steps[next_step()].watch;
    quintet_event event;
    quintet_tuple *tuple;
    quintet_status status = quintet_watch_next(watched, next_limit(), &event, &tuple);
    if (status != QUINTET_OK || tuple == NULL) {
        say_tuple(status, tuple);
        return;
    }
    printf("%lu event %s ", step, CHANGES[event.change]);
    write_fields(tuple, 0);
    putchar('\n');
    quintet_tuple_free(tuple);
}

/* Of a named space: its name, and how many tuples it holds where that is said; without a name that which has none. */
static void named_space(int client, const char *verb) {
    quintet_space_settings settings = {0};
    quintet_space *space = NULL;
    quintet_tuple *said = NULL;
    quintet_status status = QUINTET_OK;
    const char *text;
    size_t length;
    int64_t most;
    char name[256];
    next_limit();
    read_tuples(&said, &status);
    if (status != QUINTET_OK) fail("no name of a space");
    bool has_name = quintet_tuple_get_string(said, 0, &text, &length) == QUINTET_OK;
    if (has_name) snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (has_name && quintet_tuple_get_int64(said, 1, &most) == QUINTET_OK) settings.max_tuples = (uint64_t)most;
    quintet_tuple_free(said);
    if (strcmp(verb, "create_space") == 0) status = quintet_lab_create_space(lab_of(client), name, &settings, &space);
    else if (strcmp(verb, "remove_space") == 0) status = quintet_lab_remove_space(lab_of(client), name);
    else if (has_name) status = quintet_lab_open_space(lab_of(client), name, &space);
    use(client, space);
    say_done(status, "done");
}

/* Of a space that machines of a cluster keep: its name; where it is created its policy; machines that may use it, or may no more. */
static void kept_space(int client, const char *verb) {
    quintet_tuple *said = NULL;
    quintet_space *space = NULL;
    quintet_status status = QUINTET_OK;
    const char *texts[QUINTET_MAX_FIELDS];
    size_t count, length;
    next_limit();
    read_tuples(&said, &status);
    if (status != QUINTET_OK || quintet_tuple_length(said, &count) != QUINTET_OK) fail("no name of a space");
    /* Each text has a NUL behind it. */
    for (size_t i = 0; i < count; i++)
        if (quintet_tuple_get_string(said, i, &texts[i], &length) != QUINTET_OK) fail("no name");
    quintet_lab *lab = lab_of(client);
    if (strcmp(verb, "grant_space") == 0) {
        status = quintet_lab_allow_space(lab, texts[0], texts + 1, count - 1, NULL, 0);
    } else if (strcmp(verb, "revoke_space") == 0) {
        status = quintet_lab_allow_space(lab, texts[0], NULL, 0, texts + 1, count - 1);
    } else {
        quintet_space_settings settings = {.policy = texts[1], .is_restricted = count > 2, .machines = texts + 2, .machine_count = count - 2};
        status = quintet_lab_create_space(lab, texts[0], &settings, &space);
        use(client, space);
    }
    quintet_tuple_free(said);
    say_done(status, "done");
}

/* Of a collection into another space: its name, or none for that which has none, and the template. */
static void collect_into(int client, quintet_space *space, bool takes) {
    quintet_tuple *said[2];
    quintet_space *named_one = NULL;
    quintet_status status = QUINTET_OK;
    const char *name;
    size_t length;
    uint64_t number = 0;
    next_limit();
    size_t count = read_tuples(said, &status);
    if (status == QUINTET_OK && count == 2) {
        if (quintet_tuple_get_string(said[0], 0, &name, &length) != QUINTET_OK) fail("no name of a space");
        status = quintet_lab_open_space(lab_of(client), name, &named_one);
    }
    quintet_space *into = named_one != NULL ? named_one : spaces[client];
    if (status == QUINTET_OK) {
        const quintet_tuple *wanted = said[count - 1];
        status = takes ? quintet_space_collect_into(space, into, wanted, &number) : quintet_space_copy_collect_into(space, into, wanted, &number);
    }
    say_count(status, number);
    quintet_space_free(named_one);
    free_tuples(said, count);
}

/* An operation of a group. */
static void in_group(const char *verb) {
    quintet_group *group = steps[next_step()].group;
    int64_t limit = next_limit();
    quintet_tuple *wanted = NULL, *found = NULL;
    quintet_status status = QUINTET_OK;
    read_tuples(&wanted, &status);
    if (status != QUINTET_OK) say_error(status);
    else if (strcmp(verb, "out") == 0) say_done(quintet_group_out_for(group, wanted, limit), "done");
    else {
        if (strcmp(verb, "take") == 0) status = quintet_group_take(group, wanted, limit, &found);
        else if (strcmp(verb, "read") == 0) status = quintet_group_read(group, wanted, limit, &found);
        else if (strcmp(verb, "take_if") == 0) status = quintet_group_take_if(group, wanted, &found);
        else status = quintet_group_read_if(group, wanted, &found);
        say_tuple(status, found);
    }
    quintet_tuple_free(wanted);
}

static void does(int client, const char *verb) {
    quintet_space *space = named[client] != NULL ? named[client] : spaces[client];
    if (strcmp(verb, "open") == 0) {
        open_client(client);
    } else if (strcmp(verb, "close") == 0) {
        close_client(client);
        say_done(QUINTET_OK, "done");
    } else if (strcmp(verb, "reset") == 0) {
        reset();
        say_done(QUINTET_OK, "done");
    } else if (strcmp(verb, "peek") == 0) {
        bool is_done;
        quintet_status status = quintet_pending_wait(steps[next_step()].pending, 0, &is_done);
        say_done(status, is_done ? "done" : "waits");
    } else if (strcmp(verb, "collect") == 0) {
        collect(next_step());
    } else if (strcmp(verb, "cancel") == 0) {
        say_done(quintet_pending_cancel(steps[next_step()].pending), "done");
    } else if (strcmp(verb, "acknowledge") == 0) {
        acknowledge();
    } else if (strcmp(verb, "release") == 0) {
        say_done(quintet_lease_release(steps[next_step()].lease), "done");
    } else if (strcmp(verb, "watch") == 0) {
        watch(space, QUINTET_SINCE_NOW);
    } else if (strcmp(verb, "watch_start") == 0) {
        watch(space, QUINTET_SINCE_START);
    } else if (strcmp(verb, "watch_behind") == 0) {
        watch_behind(space);
    } else if (strcmp(verb, "next") == 0) {
        say_event();
    } else if (strcmp(verb, "group") == 0) {
        say_done(quintet_space_group(space, QUINTET_FOREVER, &steps[step].group), "done");
    } else if (strcmp(verb, "commit") == 0) {
        say_done(quintet_group_commit(steps[next_step()].group), "done");
    } else if (strcmp(verb, "abort") == 0) {
        say_done(quintet_group_abort(steps[next_step()].group), "done");
    } else if (strncmp(verb, "group_", 6) == 0) {
        in_group(verb + 6);
    } else if (strcmp(verb, "create_kept_space") == 0 || strcmp(verb, "grant_space") == 0 || strcmp(verb, "revoke_space") == 0) {
        kept_space(client, verb);
    } else if (strcmp(verb, "create_space") == 0 || strcmp(verb, "use_space") == 0 || strcmp(verb, "remove_space") == 0) {
        named_space(client, verb);
    } else if (strcmp(verb, "collect_into") == 0 || strcmp(verb, "copy_collect_into") == 0) {
        collect_into(client, space, strcmp(verb, "collect_into") == 0);
    } else if (strcmp(verb, "begin") == 0) {
        begin(space, next_word());
    } else {
        call(space, verb);
    }
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    puts("ready");
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        words = line;
        step = next_step();
        const char *client = next_word();
        does(*client == '-' ? 0 : *client - 'a', next_word());
        fflush(stdout);
    }
    free(line);
    reset();
    return 0;
}
