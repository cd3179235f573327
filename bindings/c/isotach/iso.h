/* The interface of Isotach 1.0 for programs in C: messages and shared variables, executed at one instant, in one order for all nodes. The manual is iso(3).
 *
 * The names are those of R. G. Bartholet, "A Performance Study of Isotach Version 1.0", University of Virginia, CS-99-13, 1999. What is behind them is quintet_isonet(3). */
#ifndef QUINTET_ISO_H
#define QUINTET_ISO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handlers have the numbers 0 to 255. */
#define ISO_HANDLERS 256

/* The number of this node, from 0, and how many there are. Good once `iso_init` has returned. */
#define NODEID (iso_node())
#define NODES (iso_nodes())

/* Takes a message: from which node, what, and of how many bytes. The data are good until it returns. It may begin isochrons. */
typedef void (*iso_handler)(int node, void *data, int length);

/* Before `iso_init`: shares a variable of so many bytes, 1 to 4096, zero at first. All nodes share the same. */
void iso_share(int variable, int bytes);
/* Joins the other nodes: waits until all are there. */
void iso_init(void);
/* Has a function take messages for this handler. NULL: none does. */
void iso_set_handler(int handler, iso_handler function);

/* Begins to put an isochron together. */
void iso_start(void);
void iso_send_msg(int node, int handler, const void *data, int length);
/* Of a variable: reads it, when the isochron is executed; writes it; reserves the place of a write; gives the value for that place. */
void iso_read(int variable, void *value);
void iso_write(int variable, const void *value);
void iso_sched(int variable);
void iso_assign(int variable, const void *value);
/* Ends it: from here on it goes its way. One that reads is waited for: then the values are there. */
void iso_end(void);

/* Runs the handlers of messages that have come; how many. */
int iso_poll(void);
/* Waits until all isochrons of this node are executed, and runs handlers meanwhile. */
void iso_flush(void);

int iso_node(void);
int iso_nodes(void);

#ifndef ISO_NO_SHORT_NAMES
#define READ(variable, value) iso_read((variable), (value))
#define WRITE(variable, value) iso_write((variable), (value))
#define SCHED(variable) iso_sched((variable))
#define ASSIGN(variable, value) iso_assign((variable), (value))
#endif

#ifdef __GNUC__
/* By this mark in an executable `quintet run` knows that it is started as each of the nodes. */
__attribute__((used)) static const char iso_asks_for_its_rank[] = "quintet_job_rank";
#endif

#ifdef __cplusplus
}
#endif

#endif
