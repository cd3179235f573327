/* Every kind of field, and operations wherever C allows an expression. It checks what it finds.
 *
 *     quintet clc fields.cl -o fields && ./fields */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINT "point"
#define COUNT 4

struct point {
    double x, y;
    int tags[2];
};

enum colour { RED, GREEN = 5 };

typedef unsigned short small;

static int checked;

/* Ends the program unless it is so. */
static void check(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "not so: %s\n", what);
        exit(1);
    }
    checked++;
}

static void scalars(void)
{
    char c = 'c';
    unsigned char u = 200;
    small s = 65535;
    long l = -1234567890123L;
    uint64_t bits = UINT64_MAX;
    float f = 0.25f;
    double d = 0;
    enum colour colour = RED;
    _Bool truth = 0;

    out("scalars", c, u, s, l, bits, f, 2.5, GREEN, (_Bool)1);
    c = 0, u = 0, s = 0, l = 0, bits = 0, f = 0;
    in("scalars", ?c, ?u, ?s, ?l, ?bits, ?f, ?d, ?colour, ?truth);
    check(c == 'c' && u == 200 && s == 65535 && l == -1234567890123L, "integers keep their width");
    check(bits == UINT64_MAX && f == 0.25f && d == 2.5 && colour == GREEN && truth, "so do the others");
}

static void arrays(void)
{
    int fixed[COUNT] = {1, 2, 3, 4}, other[COUNT] = {0}, grid[2][3] = {{1, 2, 3}, {4, 5, 6}}, rows[5][3];
    int *part = &fixed[1];
    char word[32] = "";
    size_t length = 0;
    long count;

    out("fixed", fixed);
    in("fixed", ?other);
    check(memcmp(fixed, other, sizeof fixed) == 0, "a fixed array goes as it is");

    out("varying", part:2, fixed:);
    in("varying", ?other:length, ?other:);
    check(length == 2 && other[0] == 1 && other[3] == 4, "a formal array says how many came");

    out("grid", grid:, grid);
    in("grid", ?rows:count, ?grid);
    check(count == 2 && rows[1][2] == 6, "elements may be arrays");

    out("word", "elephant":9);
    in("word", ?word:length);
    check(length == 9 && strcmp(word, "elephant") == 0, "a text with a length is an array of characters");
}

static void structs(void)
{
    struct point point = {1.5, -2, {7, 8}}, found, many[3] = {{0, 0, {0, 0}}, {1, 1, {1, 1}}, {2, 2, {2, 2}}};
    struct point *here = &point;
    int count = 0;

    out(POINT, point);
    out(POINT, *here);
    in(POINT, ?found);
    check(found.x == 1.5 && found.tags[1] == 8, "a struct goes as it lies in memory");
    check(inp(POINT, ?*here) && !inp(POINT, ?found), "one was left");
    out("points", many:3);
    in("points", ?many:count);
    check(count == 3 && many[2].y == 2, "so do arrays of structs");
}

/* Operations in conditions, loops, arguments, and within each other. */
static int expressions(void)
{
    int n = 0, sum = 0, x = 3;

    for (int i = 0; i < COUNT; i++)
        out("number", i);
    while (inp("number", ?n))
        sum += n;
    check(sum == 6, "a loop takes all");
    check(!rdp("number", ?int), "an anonymous formal stores nothing, and there is none");
    out("flag", inp("number", ?n), x > 2 ? x : -x);
    check(rdp("flag", 0, ?n) && n == 3, "an operation is a field's value");
    if (rdp("flag", ?int,
            ?n) /* on two lines */
        && in("flag", 0, 3)) sum = out("done"), in("done");
    return sum;
}

static double half(int x, double y) { return x / 2.0 + y; }
static int twice(int x) { return 2 * x; }

static void live(void)
{
    int x = 21, result = 0;
    double value = 0;

    eval("one", x, twice(x));
    in("one", 21, ?result);
    check(result == 42, "an eval's result becomes a field");
    eval("two", half(5, 0.25), "and", twice(x + 1), x);
    in("two", ?value, "and", ?result, 21);
    check(value == 2.75 && result == 44, "each call has a process of its own");
}

int real_main(int argc, char **argv)
{
    (void)argv;
    scalars();
    arrays();
    structs();
    check(expressions() == 1, "in and out are 1");
    live();
    printf("%d things are so\n", checked);
    lexit(argc - 1);
}
