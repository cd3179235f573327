/* Measures what the compiler makes of a program, for `quintet bench space`: the same source is compiled with an option and without.
 *
 *     steps farm|reads|token
 *
 * The space is where QUINTET_SPACE says, else in this process, which stays on the processors of whoever starts it.
 *
 *     farm   tasks of a worker farm: each is put, taken, answered with a result, and that is taken. One process does it all, a group of tasks at a time
 *     reads  a task is taken, and four tuples are read that nobody ever takes
 *     token  a token is taken and handed on */

#include "groups.h"

#include <string.h>

static void check(int is_right)
{
    if (!is_right) {
        fprintf(stderr, "a value came back as another\n");
        exit(1);
    }
}

static void farm(void)
{
    int task, result, sum = 0;

    for (int i = 0; i < GROUP; i++)
        out("task", i);
    for (int i = 0; i < GROUP; i++) {
        in("task", ?task);
        out("result", task, task * task);
    }
    for (int i = 0; i < GROUP; i++) {
        in("result", ?task, ?result);
        sum += result - task * task + 1;
    }
    check(sum == GROUP);
}

static void reads(void)
{
    int task, low, high, step, scale;

    for (int i = 0; i < GROUP; i++) {
        out("row", i);
        in("row", ?task);
        rd("low", ?low);
        rd("high", ?high);
        rd("step", ?step);
        rd("scale", ?scale);
        check(task == i && low + high + step + scale == 10);
    }
}

static void token(void)
{
    int from = 0, to = 1, laps;

    for (int i = 0; i < GROUP; i++) {
        in("token", from, ?laps);
        out("token", to, i);
        check(laps == (i + GROUP - 1) % GROUP);
        from = to;
        to = 1 - to;
    }
}

int real_main(int argc, char *argv[])
{
    static double groups[GROUPS];
    const char *name = argc > 1 ? argv[1] : "";
    void (*steps)(void) = strcmp(name, "farm") == 0 ? farm : strcmp(name, "reads") == 0 ? reads : token;

    out("low", 1);
    out("high", 2);
    out("step", 3);
    out("scale", 4);
    out("token", 0, GROUP - 1);
    for (int group = -GROUPS / 10; group < GROUPS; group++) {
        double started = now_ns();

        steps();
        if (group >= 0)
            groups[group] = (now_ns() - started) / GROUP;
    }
    /* Another program that is measured puts its own. */
    in("token", 0, ?int);
    print_groups(groups, name);
    return 0;
}
