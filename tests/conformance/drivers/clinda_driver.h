/* What the operations that are written from the text stand on: see clinda_driver.c. */

#ifndef CLINDA_DRIVER_H
#define CLINDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An operation of the text: as the player says it, without its deadline, and what does it and says what it came to. */
typedef struct {
    const char *line;
    void (*perform)(void);
} operation;

void say(const char *text);
void say_scalar(const char *type, const void *value, size_t bytes);
/* An array of `length` elements of so many bytes each; `rest` is what its other dimensions are, as "x2x3". */
void say_array(const char *type, long length, const char *rest, const void *data, size_t bytes);

/* Does what the player says until it says nothing more. */
int drive(const operation *operations, size_t count);

#endif
