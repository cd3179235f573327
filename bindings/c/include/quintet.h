/* libquintet: the tuple space for programs in C. The guide is docs/c.md, the manual quintet(3).
 * Written by `cargo xtask docs` from bindings/c/src; edit that. */

#ifndef QUINTET_H
#define QUINTET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * For the length of a text: it ends with NUL.
 */
#define QUINTET_NUL_TERMINATED SIZE_MAX

/**
 * For a timeout: however long it takes.
 */
#define QUINTET_FOREVER -1

/**
 * For a dimension of a formal array: any length.
 */
#define QUINTET_ANY_LENGTH UINT64_MAX

/**
 * Fields that a tuple may have.
 */
#define QUINTET_MAX_FIELDS 61

/**
 * Fields that a template may have: a dead letter has three more than its tuple.
 */
#define QUINTET_MAX_TEMPLATE_FIELDS 64

/**
 * Dimensions that an array may have.
 */
#define QUINTET_MAX_DIMENSIONS 32

/**
 * For a time since something: it has not happened.
 */
#define QUINTET_NEVER -1

/**
 * Ways of asking that a partition tells apart.
 */
#define QUINTET_MAX_TEMPLATE_SHAPES 8

/**
 * For where a watch begins: with what happens from now on.
 */
#define QUINTET_SINCE_NOW UINT64_MAX

/**
 * For where a watch begins: with the tuples that can be taken now, oldest first, and what happens after that.
 */
#define QUINTET_SINCE_START (UINT64_MAX - 1)

/**
 * For a rank: the handlers of any process.
 */
#define QUINTET_ANY_RANK -1

/**
 * Whether the same call may be made again.
 */
typedef enum {
    /**
     * It had no effect.
     */
    QUINTET_RETRY_SAFE = 0,
    /**
     * It may have had its effect.
     */
    QUINTET_RETRY_INDETERMINATE = 1,
    /**
     * It would fail again.
     */
    QUINTET_RETRY_USELESS = 2,
} quintet_retry;

/**
 * Whose fault an error is.
 */
typedef enum {
    /**
     * The caller's: the call cannot be right.
     */
    QUINTET_FAULT_MISUSE = 0,
    /**
     * The other side's: it broke the protocol, or is of another version or cluster.
     */
    QUINTET_FAULT_PEER = 1,
    /**
     * A limit set here was reached.
     */
    QUINTET_FAULT_LIMIT = 2,
    /**
     * The system's: a process, a link, a disk.
     */
    QUINTET_FAULT_SYSTEM = 3,
} quintet_fault;

/**
 * What a call came to.
 */
typedef enum {
    QUINTET_OK = 0,
    QUINTET_TIMED_OUT = 1,
    QUINTET_CANCELLED = 2,
    QUINTET_SPACE_FULL = 3,
    QUINTET_TOO_LARGE = 4,
    QUINTET_BAD_VALUE = 5,
    QUINTET_LEASE_LOST = 6,
    QUINTET_PEER_DIED = 7,
    QUINTET_PEER_SILENT = 8,
    QUINTET_UNREACHABLE = 9,
    QUINTET_VERSION_MISMATCH = 10,
    QUINTET_WRONG_CLUSTER = 11,
    QUINTET_NOT_ALLOWED = 12,
    QUINTET_DUPLICATE_NODE = 13,
    QUINTET_MALFORMED = 14,
    QUINTET_RESOURCE = 15,
    QUINTET_CLOSED = 16,
    QUINTET_TASK_FAILED = 17,
    QUINTET_BAD_FILE = 18,
    QUINTET_MISMATCH = 19,
    QUINTET_LIMIT_REACHED = 20,
    QUINTET_ADDRESS_IN_USE = 21,
    QUINTET_NO_HANDLER = 22,
    QUINTET_BUSY = 23,
    QUINTET_CONFLICT = 24,
    /**
     * No space of that name is there, or it was removed.
     */
    QUINTET_NO_SUCH_SPACE = 25,
    /**
     * A space of that name is there, with other settings.
     */
    QUINTET_SPACE_EXISTS = 26,
    /**
     * Events behind that number are kept no more.
     */
    QUINTET_TOO_OLD = 27,
    /**
     * A defect of the library.
     */
    QUINTET_INTERNAL = 255,
} quintet_status;

/**
 * The type of a field, or of an array's elements.
 */
typedef enum {
    QUINTET_TYPE_BOOL = 1,
    QUINTET_TYPE_INT8 = 2,
    QUINTET_TYPE_INT16 = 3,
    QUINTET_TYPE_INT32 = 4,
    QUINTET_TYPE_INT64 = 5,
    QUINTET_TYPE_UINT8 = 6,
    QUINTET_TYPE_UINT16 = 7,
    QUINTET_TYPE_UINT32 = 8,
    QUINTET_TYPE_UINT64 = 9,
    QUINTET_TYPE_FLOAT = 10,
    QUINTET_TYPE_DOUBLE = 11,
    /**
     * Text in UTF-8.
     */
    QUINTET_TYPE_STRING = 13,
    QUINTET_TYPE_BYTES = 14,
    QUINTET_TYPE_ARRAY = 32,
} quintet_type;

/**
 * What a request does.
 */
typedef enum {
    /**
     * It reads a tuple.
     */
    QUINTET_OPERATION_READ = 0,
    /**
     * It takes one.
     */
    QUINTET_OPERATION_TAKE = 1,
    /**
     * It takes one under a lease.
     */
    QUINTET_OPERATION_LEASE = 2,
    /**
     * It counts.
     */
    QUINTET_OPERATION_COUNT = 3,
    /**
     * It puts tuples.
     */
    QUINTET_OPERATION_OUT = 4,
    /**
     * It acknowledges a lease, and puts results.
     */
    QUINTET_OPERATION_ACKNOWLEDGE = 5,
} quintet_operation;

/**
 * What a request waits for.
 */
typedef enum {
    /**
     * A tuple that matches.
     */
    QUINTET_AWAITED_TUPLE = 0,
    /**
     * Room in the link to its client.
     */
    QUINTET_AWAITED_LINK = 1,
    /**
     * Its turn: it has more to search than one turn may.
     */
    QUINTET_AWAITED_TURN = 2,
    /**
     * Room in the space.
     */
    QUINTET_AWAITED_ROOM = 3,
} quintet_awaited;

/**
 * How far the link to a client reaches.
 */
typedef enum {
    /**
     * Within the space's process.
     */
    QUINTET_REACH_PROCESS = 0,
    /**
     * Within its machine.
     */
    QUINTET_REACH_MACHINE = 1,
    /**
     * Over a network.
     */
    QUINTET_REACH_NETWORK = 2,
} quintet_reach;

/**
 * What a server of a replicated space does.
 */
typedef enum {
    /**
     * It cannot be asked.
     */
    QUINTET_ROLE_UNKNOWN = 0,
    /**
     * It leads: it serves the space.
     */
    QUINTET_ROLE_LEADS = 1,
    /**
     * It writes down what the leader says.
     */
    QUINTET_ROLE_FOLLOWS = 2,
    /**
     * It knows of none that leads.
     */
    QUINTET_ROLE_KNOWS_NO_LEADER = 3,
    /**
     * It has no log of the space, as it lost it or is new: until it is sent the space it has no vote.
     */
    QUINTET_ROLE_HAS_NO_LOG = 4,
} quintet_role;

/**
 * What happened to a tuple.
 */
typedef enum {
    /**
     * It came.
     */
    QUINTET_CHANGE_PUT = 0,
    /**
     * A plain take has it, or a replacement, whose tuples come next.
     */
    QUINTET_CHANGE_TAKEN = 1,
    /**
     * It is hidden under a lease, or under a group.
     */
    QUINTET_CHANGE_LEASED = 2,
    /**
     * It can be taken again, at its old place.
     */
    QUINTET_CHANGE_RETURNED = 3,
    /**
     * It is gone: its lease was acknowledged, or its group has happened.
     */
    QUINTET_CHANGE_DONE = 4,
    /**
     * It is gone: its leases ended too often without an acknowledgement, and a dead letter comes in its place.
     */
    QUINTET_CHANGE_FAILED = 5,
    /**
     * It was there when the watch began.
     */
    QUINTET_CHANGE_THERE = 6,
    /**
     * It is gone: its time had come. Where somebody had taken it, when it would have returned.
     */
    QUINTET_CHANGE_EXPIRED = 7,
} quintet_change;

/**
 * What `quintet_isonet_next` gives.
 */
typedef enum {
    /**
     * A message of an isochron.
     */
    QUINTET_ISONET_MESSAGE = 0,
    /**
     * The state of another member's program, to be put in place of what this one began with: the first that a member takes that has come back.
     */
    QUINTET_ISONET_STATE = 1,
    /**
     * A member comes back: the state that this program has now is to be given with `quintet_isonet_give_state`, before anything else is taken.
     */
    QUINTET_ISONET_STATE_WANTED = 2,
    /**
     * A plain message, which has no place in the order.
     */
    QUINTET_ISONET_PLAIN = 3,
    /**
     * A view begins: the data are the numbers of its members, each a `uint16_t`, ascending; `quintet_isonet_lost` and `quintet_isonet_back` say what is new in it. Of what was taken before nothing is executed in it, of what comes behind all.
     */
    QUINTET_ISONET_VIEW = 4,
    /**
     * An isochron has given a variable with a copy here this value.
     */
    QUINTET_ISONET_VALUE = 5,
} quintet_isonet_kind;

/**
 * For what a member was lost, as far as it is known here.
 */
typedef enum {
    /**
     * Others miss it, and this member did not.
     */
    QUINTET_LOSS_MISSED_ELSEWHERE = 0,
    /**
     * It has ended, or cannot be reached from here.
     */
    QUINTET_LOSS_GONE = 1,
    /**
     * It broke the protocol, and was cut off here.
     */
    QUINTET_LOSS_MISBEHAVED = 2,
} quintet_loss_cause;

/**
 * Why a read has no value.
 */
typedef enum {
    /**
     * It has one.
     */
    QUINTET_HAS_VALUE = 0,
    /**
     * The member that had reserved the place that was read has ended without giving a value. The variable has one again once it is written.
     */
    QUINTET_WRITER_DIED = 1,
    /**
     * A member ended before the one whose copy was read had answered: it is to be read again.
     */
    QUINTET_UNANSWERED = 2,
    /**
     * All members that had a copy of the variable have ended, and nobody has written it since.
     */
    QUINTET_VALUE_LOST = 3,
} quintet_no_value;

/**
 * What one end of a range is.
 */
typedef enum {
    /**
     * There is none: the range is open at this end.
     */
    QUINTET_BOUND_NONE = 0,
    /**
     * It is in the range.
     */
    QUINTET_BOUND_INCLUDED = 1,
    /**
     * It is not in the range.
     */
    QUINTET_BOUND_EXCLUDED = 2,
} quintet_bound;

/**
 * Memory for large data.
 */
typedef struct quintet_buffer quintet_buffer;

/**
 * A call that a handler was given. One thread uses it at a time.
 */
typedef struct quintet_call quintet_call;

/**
 * Clients that are connected to a space, which are fetched as they are asked for.
 */
typedef struct quintet_clients quintet_clients;

/**
 * Tuples that were collected.
 */
typedef struct quintet_collection quintet_collection;

/**
 * A call that a function is to make a tuple of. One thread uses it at a time.
 */
typedef struct quintet_eval quintet_eval;

/**
 * The functions of a worker that makes live tuples. Any threads may use it at once.
 */
typedef struct quintet_evals quintet_evals;

/**
 * A group. Any threads may use it at once.
 */
typedef struct quintet_group quintet_group;

/**
 * Takes calls of a name. Any threads may use it at once.
 */
typedef struct quintet_handler quintet_handler;

/**
 * Values that takes and reads ask for most, which are fetched when the first is asked for.
 */
typedef struct quintet_hot_keys quintet_hot_keys;

/**
 * An isochron. One thread puts it together; any may wait for it.
 */
typedef struct quintet_isochron quintet_isochron;

/**
 * A member of an isonet. Any threads may use it at once; one at a time takes messages.
 */
typedef struct quintet_isonet quintet_isonet;

/**
 * A connection to everything. Any threads may use it at once.
 */
typedef struct quintet_lab quintet_lab;

/**
 * A tuple that is leased. Any threads may use it at once.
 */
typedef struct quintet_lease quintet_lease;

/**
 * Tuples of a space, which are fetched as they are asked for.
 */
typedef struct quintet_listing quintet_listing;

/**
 * Partitions of a space, which are fetched as they are asked for.
 */
typedef struct quintet_partitions quintet_partitions;

/**
 * An operation under way. Any threads may use it at once.
 */
typedef struct quintet_pending quintet_pending;

/**
 * The servers of a replicated space, as they were when the list was made.
 */
typedef struct quintet_replicas quintet_replicas;

/**
 * A space that serves other processes. Any threads may use it at once.
 */
typedef struct quintet_server quintet_server;

/**
 * A tuple space. It is its lab's; any threads may use it at once.
 */
typedef struct quintet_space quintet_space;

/**
 * The named spaces of a server, by name, as they were when the list was made.
 */
typedef struct quintet_spaces quintet_spaces;

/**
 * A tuple or a template.
 */
typedef struct quintet_tuple quintet_tuple;

/**
 * Requests that wait in a space, which are fetched as they are asked for.
 */
typedef struct quintet_waiting quintet_waiting;

/**
 * What happens to tuples of a space. Any threads may use it at once.
 */
typedef struct quintet_watch quintet_watch;

/**
 * Asks the program whether a wait is to end. It must not call the library, nor throw.
 */
typedef bool (*quintet_interrupt)(void *argument);

/**
 * An array as a tuple lends it: in C order, the last index varying fastest. The data are aligned for their elements.
 */
typedef struct {
    /**
     * The type of its elements.
     */
    quintet_type element_type;
    /**
     * How many dimensions it has; an array of none has one element.
     */
    size_t dimensions;
    /**
     * The length of each dimension.
     */
    const uint64_t *shape;
    /**
     * Its elements.
     */
    const void *data;
    /**
     * Bytes of all elements.
     */
    size_t length_bytes;
} quintet_array;

/**
 * The numbers of a space.
 */
typedef struct {
    /**
     * Tuples that can be seen.
     */
    uint64_t tuples;
    /**
     * Bytes that count against its limit.
     */
    uint64_t bytes;
    /**
     * Of these, the bytes of indexes.
     */
    uint64_t index_bytes;
    /**
     * Tuples that are leased, or were taken and may still go back.
     */
    uint64_t hidden;
    /**
     * Takes and reads that wait.
     */
    uint64_t waiters;
    /**
     * Leases.
     */
    uint64_t leases;
    /**
     * Puts and acknowledgements that wait for room.
     */
    uint64_t parked;
    /**
     * Leases that ended without an acknowledgement, so that their tuples came back.
     */
    uint64_t redone;
    /**
     * Tuples that became dead letters.
     */
    uint64_t dead_letters;
    /**
     * Different signatures among the tuples.
     */
    uint64_t signatures;
    /**
     * How many managers have the tuples. What several of them do at one instant costs more than what one does.
     */
    uint64_t managers;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[5];
} quintet_state;

typedef quintet_tuple **Place;

/**
 * What a named space is made with. All zero: the server's defaults.
 */
typedef struct {
    /**
     * What holds its tuples: "volatile", "logged", "replicated=N"; NULL is "volatile".
     */
    const char *policy;
    /**
     * Bytes of tuples that it holds at most; 0: 64 MiB.
     */
    uint64_t max_bytes;
    /**
     * Tuples that it holds at most; 0: 1048576.
     */
    uint64_t max_tuples;
    /**
     * Whether only some may use and remove it: the programs of the machines whose identities or names follow, and, if that is set, who comes from the server's own machine. Nobody is named without this.
     */
    bool is_restricted;
    /**
     * Whether who comes from the server's own machine may, without a proof who he is. A name of that machine does so as well. False for a space that a cluster's machines keep: there all prove it.
     */
    bool allow_own_machine;
    /**
     * Identities of 32 bytes each, one behind the other; NULL if there are none.
     */
    const uint8_t *allow;
    /**
     * How many there are, at most 128.
     */
    size_t allow_count;
    /**
     * Names of machines of the lab's cluster whose programs may use it as well: an array of texts; NULL if there are none.
     */
    const char *const *machines;
    /**
     * How many names there are.
     */
    size_t machine_count;
    /**
     * Zero; later versions may have more settings.
     */
    uint64_t reserved[2];
} quintet_space_settings;

/**
 * A named space, as a list shows it. Its texts are good until the next row is asked for, or the list is freed.
 */
typedef struct {
    /**
     * What it is called.
     */
    const char *name;
    /**
     * What holds its tuples.
     */
    const char *policy;
    /**
     * Bytes of tuples that it holds at most.
     */
    uint64_t max_bytes;
    /**
     * Tuples that it holds at most.
     */
    uint64_t max_tuples;
    /**
     * Tuples that can be seen.
     */
    uint64_t tuples;
    /**
     * Bytes that count against its limit.
     */
    uint64_t bytes;
    /**
     * Tuples that are leased, or were taken and may still go back.
     */
    uint64_t hidden;
    /**
     * Takes and reads that wait.
     */
    uint64_t waiters;
    /**
     * Leases.
     */
    uint64_t leases;
    /**
     * Puts that wait for room.
     */
    uint64_t parked;
    /**
     * Whether only some may use it.
     */
    bool is_restricted;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[4];
} quintet_space_row;

/**
 * What a listing says of a tuple.
 */
typedef struct {
    /**
     * Its place in the order in which tuples were put: an older one has a lower number.
     */
    uint64_t age;
    /**
     * Bytes that it counts for in the space's limit.
     */
    uint64_t bytes;
    /**
     * Which fields are the beginning of longer ones: bit 0 is the first.
     */
    uint64_t cut;
    /**
     * Leases of it that ended without an acknowledgement.
     */
    uint32_t failed;
    /**
     * Whether somebody has it under a lease, or has just taken it.
     */
    bool is_leased;
    /**
     * For how long, in milliseconds.
     */
    int64_t held_ms;
    /**
     * In how long the lease ends unless it is renewed, in milliseconds; `QUINTET_FOREVER` if that is not known.
     */
    int64_t ends_in_ms;
    /**
     * In how long it expires, in milliseconds; `QUINTET_FOREVER` if it does not.
     */
    int64_t expires_in_ms;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[3];
} quintet_row;

/**
 * A request that waits.
 */
typedef struct {
    /**
     * Its place in the order of requests and tuples.
     */
    uint64_t age;
    /**
     * Tuples with the types of its template that nobody can take now, under a lease or on their way: some of them may return.
     */
    uint64_t hidden;
    /**
     * Which fields of its template are the beginning of longer ones: bit 0 is the first.
     */
    uint64_t cut;
    /**
     * For how long it has waited, in milliseconds; 0 of one that waits for room without end.
     */
    int64_t waited_ms;
    /**
     * For how long it still waits, in milliseconds; `QUINTET_FOREVER` if without end.
     */
    int64_t ends_in_ms;
    /**
     * Tuples that it is to put.
     */
    uint32_t puts;
    /**
     * What it does.
     */
    quintet_operation operation;
    /**
     * What it waits for.
     */
    quintet_awaited awaited;
    /**
     * The node of the client that waits.
     */
    uint16_t client_node;
    /**
     * The port of that client there.
     */
    uint16_t client_port;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[3];
} quintet_waiting_row;

/**
 * A client that is connected to a space.
 */
typedef struct {
    /**
     * Leases that it has acknowledged so far.
     */
    uint64_t acknowledged;
    /**
     * Leases of it that ended otherwise.
     */
    uint64_t given_up;
    /**
     * How long it held those that it has acknowledged, all together, in milliseconds.
     */
    int64_t held_ms;
    /**
     * For how long it has been connected, in milliseconds.
     */
    int64_t connected_ms;
    /**
     * Requests of it that wait.
     */
    uint32_t waiting;
    /**
     * Leases that it holds.
     */
    uint32_t leases;
    /**
     * How far its link reaches.
     */
    quintet_reach reach;
    /**
     * Its node: with its port it names it among the clients that are connected.
     */
    uint16_t node;
    /**
     * Its port there.
     */
    uint16_t port;
    /**
     * Whether its link asked for a proof who it is.
     */
    bool is_proved;
    /**
     * Who it has proved to be; all zero if `is_proved` is false.
     */
    uint8_t identity[32];
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[4];
} quintet_client_row;

/**
 * A way of asking for a partition: for which fields templates have values.
 */
typedef struct {
    /**
     * These fields: bit 0 is the first.
     */
    uint64_t fields;
    /**
     * How many takes and reads asked so.
     */
    uint64_t asked;
} quintet_template_shape;

/**
 * How the tuples of one partition are used: those of the same types with the same text in front.
 */
typedef struct {
    /**
     * Tuples that it holds, those under a lease and on their way included.
     */
    uint64_t tuples;
    /**
     * Bytes that they count for in the space's limit.
     */
    uint64_t bytes;
    /**
     * Tuples that were put.
     */
    uint64_t put;
    /**
     * Deliveries to takes, those under a lease included; a tuple that comes back is delivered again.
     */
    uint64_t taken;
    /**
     * Deliveries to reads.
     */
    uint64_t read;
    /**
     * Takes and reads that named it, whether or not there was a tuple.
     */
    uint64_t asked;
    /**
     * For how long it has held a tuple, in milliseconds; `QUINTET_NEVER` if it holds none.
     */
    int64_t filled_ms;
    /**
     * How long ago a tuple was put, in milliseconds, or `QUINTET_NEVER`.
     */
    int64_t since_put_ms;
    /**
     * How long ago one was delivered, to a take or a read, in milliseconds, or `QUINTET_NEVER`.
     */
    int64_t since_delivery_ms;
    /**
     * How long ago it was asked for, in milliseconds, or `QUINTET_NEVER`.
     */
    int64_t since_asked_ms;
    /**
     * For which fields templates have had values, those that came first, and how often.
     */
    quintet_template_shape shapes[QUINTET_MAX_TEMPLATE_SHAPES];
    /**
     * How many of `shapes` there are.
     */
    size_t shape_count;
    /**
     * How often templates had values for other fields than in `shapes`.
     */
    uint64_t other_shapes;
    /**
     * Whether the first field of its types is a text, the same in all its tuples. Without, it has all tuples of its types that no other partition has.
     */
    bool has_name;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[4];
} quintet_partition_row;

/**
 * How often values were asked for. Counts are of one question in sixteen, halved now and then: shares of what was asked lately.
 */
typedef struct {
    /**
     * How often, at most.
     */
    uint64_t asked;
    /**
     * So many of these may have been for others: it was asked for `asked - error` times at least.
     */
    uint64_t error;
    /**
     * Which fields of the template are the beginning of longer ones: bit 0 is the first.
     */
    uint64_t cut;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[5];
} quintet_hot_key_row;

/**
 * One of the servers of a replicated space. Its texts are good until the next row is asked for, or the list is freed.
 */
typedef struct {
    /**
     * Where it is.
     */
    const char *address;
    /**
     * Why it cannot be asked; NULL if it was.
     */
    const char *error;
    /**
     * The same as a status; `QUINTET_OK` if it was asked.
     */
    quintet_status status;
    /**
     * What it says that it does.
     */
    quintet_role role;
    /**
     * Which one, from 1.
     */
    uint16_t number;
    /**
     * Which replica leads, as far as this one knows; 0: it knows of none.
     */
    uint16_t leader;
    /**
     * Zero; later versions may have more.
     */
    uint64_t reserved[4];
} quintet_replica_row;

/**
 * Where a page of a collection begins, as `quintet_pending_collection` gives it.
 */
typedef struct {
    /**
     * The space's own: which of the tuples the page begins with.
     */
    uint64_t age;
    /**
     * The space's own: which of the tuples are younger than the collection.
     */
    uint64_t below;
} quintet_page_start;

/**
 * Something that happened to a tuple.
 */
typedef struct {
    /**
     * Its place in the order of all events of the space. Numbers go up, not always by one.
     */
    uint64_t number;
    /**
     * Which tuple: its place in the order in which tuples were put.
     */
    uint64_t age;
    /**
     * What happened to it.
     */
    quintet_change change;
    /**
     * Zero; later versions may have more.
     */
    uint64_t reserved[4];
} quintet_event;

typedef quintet_pending **PendingPlace;

/**
 * Is called once an outcome is there.
 */
typedef void (*quintet_callback)(void *argument);

/**
 * What the handlers of a name take: all of them the same. 0 is the default.
 */
typedef struct {
    /**
     * The longest request, in bytes: 1 MiB by default, 64 MiB at most.
     */
    uint32_t max_request_bytes;
    /**
     * Calls that one handler may have at once: 16 by default.
     */
    uint32_t at_once;
    /**
     * Calls that may wait for the handlers of the name: 256 by default, 65536 at most.
     */
    uint32_t waiting;
} quintet_handler_limits;

/**
 * Handles one call: replies to it, or fails it. The call is the library's, and good until this returns. It must not throw or jump.
 */
typedef void (*quintet_handle)(quintet_call *call, void *argument);

/**
 * Makes a live tuple: gives it, or says why there is none. The call is the library's, and good until this returns. It must not throw or jump.
 */
typedef void (*quintet_make)(quintet_eval *eval, void *argument);

/**
 * What a program takes. `data` is the library's, and good until the next one is taken.
 */
typedef struct {
    /**
     * A message of an isochron, unless the program takes something else as well.
     */
    quintet_isonet_kind kind;
    /**
     * The member that has sent it, of a message; whose isochron it was, of a value.
     */
    uint16_t sender;
    /**
     * For which handler, or plain handler, of a message; of which variable, of a value.
     */
    uint32_t handler;
    /**
     * What was sent, the value, the state, or the members of the view.
     */
    const void *data;
    /**
     * Of so many bytes.
     */
    size_t length;
} quintet_isonet_message;

/**
 * Where something stands in the one order, the same for all members: of two places the first is the one that is less in the first field, from the top, in which they differ.
 */
typedef struct {
    /**
     * The view, from 1.
     */
    uint32_t view;
    /**
     * The pulse in it: the instant of logical time.
     */
    uint64_t pulse;
    /**
     * The member that has sent the isochron.
     */
    uint16_t sender;
    /**
     * Which isochron of that member it is.
     */
    uint64_t rank;
    /**
     * 0, or which of the isochrons that concern this member alone, and that it has executed behind that place.
     */
    uint32_t behind;
} quintet_place;

/**
 * Computes new values: `values` has a pointer to each variable's value, as many bytes as it has and aligned for any number, and what lies there when it returns true is the new one. False: they keep
 * what they have. It must not throw or jump, nor wait for what needs these variables.
 */
typedef bool (*quintet_update)(void *const *values, void *argument);

/**
 * A member that was lost to its isonet.
 */
typedef struct {
    /**
     * Which.
     */
    uint16_t member;
    /**
     * For what.
     */
    quintet_loss_cause cause;
} quintet_lost;

/**
 * What a member of an isonet has counted since it has joined.
 */
typedef struct {
    /**
     * Isochrons that its program has begun, and that were taken.
     */
    uint64_t begun;
    /**
     * Of these, those that all their receivers have executed.
     */
    uint64_t executed;
    /**
     * Of these, those that were not executed as far as it is known here, as a view or this member has ended.
     */
    uint64_t lost;
    /**
     * Of these, those of this member alone: no other one heard of them.
     */
    uint64_t local;
    /**
     * Operations of those that were begun.
     */
    uint64_t operations;
    /**
     * Isochrons of its program that were not taken: with what cannot be, or one too many.
     */
    uint64_t refused;
    /**
     * Parts of isochrons, its own as well, that this member has executed.
     */
    uint64_t parts;
    /**
     * Parts of others whose pulse was over when they came: they waited for nothing but what is before them.
     */
    uint64_t parts_at_once;
    /**
     * Parts of others that waited for the end of their pulse.
     */
    uint64_t parts_waited;
    /**
     * Frames of another view that were not taken.
     */
    uint64_t fenced;
    /**
     * Isochrons that got their place here: of the member that keeps the pulse, all that are not one member's alone. So are those that follow.
     */
    uint64_t stamped;
    /**
     * Pulses that have ended here.
     */
    uint64_t pulses;
    /**
     * Tokens to other switches: none where there is one.
     */
    uint64_t tokens;
    /**
     * Markers: isochrons that members were told to execute, once for each member.
     */
    uint64_t markers;
    /**
     * Frames in which they went.
     */
    uint64_t marker_frames;
    /**
     * Pulses that have ended behind another one of their view: the times that follow are from the one before to each of them, rest included, in nanoseconds, and 0 where there were none.
     */
    uint64_t pulse_intervals;
    /**
     * The shortest.
     */
    uint64_t pulse_interval_shortest_ns;
    /**
     * So long were half of them at most; an eighth too long, or less.
     */
    uint64_t pulse_interval_median_ns;
    /**
     * So long were 99 of 100 at most, likewise.
     */
    uint64_t pulse_interval_p99_ns;
    /**
     * The longest.
     */
    uint64_t pulse_interval_longest_ns;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[12];
} quintet_counters;

/**
 * Lengths of time between two bounds, and how many there were.
 */
typedef struct {
    /**
     * None is shorter, in nanoseconds.
     */
    uint64_t from_ns;
    /**
     * None is longer: an eighth more, or less.
     */
    uint64_t to_ns;
    /**
     * How many.
     */
    uint64_t count;
} quintet_interval_class;

/**
 * How another member of the view keeps up, as this one sees it.
 */
typedef struct {
    /**
     * Which.
     */
    uint16_t member;
    /**
     * Whether anything waits for it here.
     */
    bool is_awaited;
    /**
     * Whether something waits here for room at it, or on the way.
     */
    bool is_full;
    /**
     * How long nothing was heard of it, not even a sign of life, for which it is asked four times in a silence limit, in milliseconds; `QUINTET_NEVER` if its link is cut.
     */
    int64_t unheard_ms;
    /**
     * Isochrons and plain messages of this member that it has not answered. Of an isochron nobody answers before all receivers have their parts.
     */
    uint64_t unanswered;
    /**
     * For how long the first of them has waited, in milliseconds.
     */
    int64_t unanswered_ms;
    /**
     * Isochrons of all members that get no place before it says that it has its part: of the member that keeps the pulse, 0 at the others.
     */
    uint64_t unreceived;
    /**
     * How often something had to wait for room, since it was linked.
     */
    uint64_t full;
    /**
     * For how long, all together, in milliseconds.
     */
    int64_t full_ms;
    /**
     * Zero; later versions may have more numbers.
     */
    uint64_t reserved[4];
} quintet_peer_counters;

/**
 * What a space is served with. All zero: a volatile space with one manager and the default limits.
 */
typedef struct {
    /**
     * Bytes of tuples that it holds at most; 0: 1 GiB.
     */
    uint64_t max_bytes;
    /**
     * Tuples that it holds at most; 0: 16777216.
     */
    uint64_t max_tuples;
    /**
     * Requests of one client that may wait; 0: 65536.
     */
    uint64_t max_waiting;
    /**
     * Bytes that all named spaces together are promised; 0: 4 GiB.
     */
    uint64_t max_spaces_bytes;
    /**
     * Named spaces at most; 0: 256.
     */
    uint32_t max_spaces;
    /**
     * Leases of a tuple that may end without an acknowledgement before it becomes a dead letter; 0: 5.
     */
    uint32_t max_attempts;
    /**
     * The folder of its log, made where it is not there: what was acknowledged outlives the process. NULL: it has none.
     */
    const char *log_dir;
    /**
     * Where all replicas serve that keep the space together, three or five, each with a log of its own: "HOST:PORT", or "tls:HOST:PORT", the same for each of them; NULL if it is not replicated.
     */
    const char *const *replicas;
    /**
     * How many these are.
     */
    size_t replica_count;
    /**
     * Where all managers of the space serve, each in a process of its own, the same for each of them; NULL if this process serves all of them.
     */
    const char *const *peers;
    /**
     * How many these are.
     */
    size_t peer_count;
    /**
     * Which of the replicas, or of the peers, this server is, from 1.
     */
    uint8_t number;
    /**
     * Over how many managers the space is spread, each on a thread of its own, 16 at most; 0: one. With several there is no log.
     */
    uint8_t managers;
    /**
     * A manager of several that is asked less in a quarter of a second keeps its hot keys; 0: 2000.
     */
    uint64_t hot_key_requests;
    /**
     * Zero; later versions may have more settings.
     */
    uint64_t reserved[8];
} quintet_server_settings;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What went wrong in this thread's last call that failed, and what to do about it, in English; "" before the first. It stays until
 * the next call of this thread that fails. Never NULL.
 */
const char *quintet_error_message(void);

/**
 * The constant's name: "QUINTET_TIMED_OUT". Of a number that is no status "QUINTET_INTERNAL".
 */
const char *quintet_status_name(int32_t status);

/**
 * What a status means, in a few words: "the deadline passed".
 */
const char *quintet_status_text(int32_t status);

/**
 * Whether the same call may be made again after this status. After `QUINTET_OK` and `QUINTET_INTERNAL` it is useless.
 */
quintet_retry quintet_status_retry(int32_t status);

/**
 * Whose fault this status is. `QUINTET_INTERNAL` is the system's.
 */
quintet_fault quintet_status_fault(int32_t status);

/**
 * The exit status of a program that ends with this status, as the command `quintet` has it: 0 for `QUINTET_OK`, 75 for
 * `QUINTET_TIMED_OUT`, 70 for `QUINTET_INTERNAL`.
 */
int32_t quintet_status_exit(int32_t status);

/**
 * The version of the library: "0.1.0".
 */
const char *quintet_version(void);

/**
 * Makes a lab within this process: nothing to start, nothing to configure. Its tuples end with it.
 */
quintet_status quintet_lab_embedded(quintet_lab **lab);

/**
 * Connects to the space at `address`: "quintet://NAME" for that of a cluster to which this machine belongs ("quintet:///PATH" by its
 * folder), "shm:PATH" for shared memory, "unix:PATH" for a Unix socket, "tcp:HOST:PORT", "tls:HOST:PORT", or a path with a slash, which
 * means shared memory. With NULL the environment and the file quintet.toml in the working folder say where the space is
 * (`QUINTET_SPACE`; under `quintet run` the job's); if they do not, the lab is within this process. The settings of the cluster, of
 * leases and of links come from there in any case. Signals are held back while it connects, for a few seconds at most, or as long as
 * the setting link.silence_limit_ms says to somebody who listens and says nothing.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no address or setting, `QUINTET_BAD_FILE` for a file that cannot be read,
 * `QUINTET_UNREACHABLE` if nobody listens there, `QUINTET_PEER_SILENT`, `QUINTET_NOT_ALLOWED`, `QUINTET_WRONG_CLUSTER`,
 * `QUINTET_VERSION_MISMATCH` or `QUINTET_RESOURCE`.
 */
quintet_status quintet_lab_connect(const char *address,
                                   quintet_lab **lab);

/**
 * Ends the connection at once, for all threads and for everything that was made from it. What was answered before can still be
 * collected. A lab within this process ends with its tuples. A second call does nothing.
 */
quintet_status quintet_lab_close(quintet_lab *lab);

/**
 * Closes the lab and frees it, with its space. NULL is left alone.
 */
void quintet_lab_free(quintet_lab *lab);

/**
 * The lab's tuple space. It is the lab's: it is good until the lab is freed, and is not freed itself.
 */
quintet_status quintet_lab_space(quintet_lab *lab, quintet_space **space);

/**
 * Where the space is, as another process may name it; NULL for a lab within this process. It is good until the lab is freed.
 */
quintet_status quintet_lab_address(quintet_lab *lab,
                                   const char **address);

/**
 * Has the lab's waits ask `check(argument)` every 20 ms, on the thread that waits, whether they are to end: then the call fails with
 * `QUINTET_CANCELLED`, and has had no effect: a tuple that has come meanwhile goes back to its place. Only a call of a handler that was begun
 * goes on there. A wait that ends within 20 ms does not ask, nor does what is answered at once as long as the connection is there: the status
 * of the space, the rows of a listing, the release of a lease, a one-way call, a handler that begins or leaves, a reply. `check` must not call
 * this library, nor throw or jump. NULL: waits ask nobody, as at first.
 */
quintet_status quintet_lab_set_interrupt(quintet_lab *lab,
                                         quintet_interrupt check,
                                         void *argument);

/**
 * A descriptor for the program's own event loop (poll, epoll): it is readable while `quintet_lab_progress` has something to do. It is
 * the lab's, and good until that is freed. One loop may watch a lab at a time; other threads may make calls of every kind.
 *
 * Fails with `QUINTET_RESOURCE` if the system refuses a descriptor.
 */
quintet_status quintet_lab_descriptor(quintet_lab *lab,
                                      int *descriptor);

/**
 * Takes in what has come for the operations under way, and does what is due. Never waits.
 *
 * Fails with `QUINTET_RESOURCE` if the system refuses a descriptor.
 */
quintet_status quintet_lab_progress(quintet_lab *lab);

/**
 * The worker's number, from 0; -1 in the master, and outside a job.
 *
 * Fails with `QUINTET_BAD_VALUE` if the environment says what is no number.
 */
quintet_status quintet_job_rank(int64_t *rank);

/**
 * How many workers the job has; 0 outside a job.
 *
 * Fails with `QUINTET_BAD_VALUE` if the environment says what is no number.
 */
quintet_status quintet_job_workers(uint32_t *workers);

/**
 * Makes a tuple without fields, to be added to.
 */
quintet_status quintet_tuple_new(quintet_tuple **tuple);

/**
 * Keeps the first `count` fields and removes those behind them, so that others can be added in their place: a program that puts tuples which begin alike, or asks
 * for such, makes one and goes on with it. An error that an addition behind them met is forgotten; a tuple that has no more fields stays as it is.
 */
quintet_status quintet_tuple_truncate(quintet_tuple *tuple,
                                      size_t count);

/**
 * Frees a tuple, and all that it lent. NULL is left alone.
 */
void quintet_tuple_free(quintet_tuple *tuple);

/**
 * The number of its fields.
 */
quintet_status quintet_tuple_length(const quintet_tuple *tuple, size_t *length);

/**
 * The type of a field, counted from 0; of a formal or a range the type of the values that it stands for.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field.
 */
quintet_status quintet_tuple_type(const quintet_tuple *tuple, size_t index, quintet_type *field_type);

/**
 * The tuple as a text for people: `("row", 3, f64[2,2])`. Long data are not in it. It is good until something is added to the tuple or it
 * is freed.
 */
quintet_status quintet_tuple_show(const quintet_tuple *tuple,
                                  const char **text);

/**
 * Adds a truth value.
 */
quintet_status quintet_tuple_add_bool(quintet_tuple *tuple, bool value);

/**
 * Adds a signed integer of 8 bits.
 */
quintet_status quintet_tuple_add_int8(quintet_tuple *tuple, int8_t value);

/**
 * Adds a signed integer of 16 bits.
 */
quintet_status quintet_tuple_add_int16(quintet_tuple *tuple, int16_t value);

/**
 * Adds a signed integer of 32 bits.
 */
quintet_status quintet_tuple_add_int32(quintet_tuple *tuple, int32_t value);

/**
 * Adds a signed integer of 64 bits: what an `int` is in Python.
 */
quintet_status quintet_tuple_add_int64(quintet_tuple *tuple, int64_t value);

/**
 * Adds an unsigned integer of 8 bits.
 */
quintet_status quintet_tuple_add_uint8(quintet_tuple *tuple, uint8_t value);

/**
 * Adds an unsigned integer of 16 bits.
 */
quintet_status quintet_tuple_add_uint16(quintet_tuple *tuple, uint16_t value);

/**
 * Adds an unsigned integer of 32 bits.
 */
quintet_status quintet_tuple_add_uint32(quintet_tuple *tuple, uint32_t value);

/**
 * Adds an unsigned integer of 64 bits.
 */
quintet_status quintet_tuple_add_uint64(quintet_tuple *tuple, uint64_t value);

/**
 * Adds a floating-point number of 32 bits.
 */
quintet_status quintet_tuple_add_float(quintet_tuple *tuple, float value);

/**
 * Adds a floating-point number of 64 bits: what a `float` is in Python.
 */
quintet_status quintet_tuple_add_double(quintet_tuple *tuple, double value);

/**
 * Adds a copy of a text of `length` bytes, or one that ends with NUL if that is `QUINTET_NUL_TERMINATED`.
 *
 * Fails with `QUINTET_BAD_VALUE` if it is not UTF-8.
 */
quintet_status quintet_tuple_add_string(quintet_tuple *tuple, const char *string, size_t length);

/**
 * Adds a copy of `length` bytes.
 */
quintet_status quintet_tuple_add_bytes(quintet_tuple *tuple, const void *data, size_t length);

/**
 * Adds a field of another tuple, or of this one: a value, a formal or a range. Large data are shared, not copied.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field.
 */
quintet_status quintet_tuple_add_field(quintet_tuple *tuple,
                                       const quintet_tuple *from,
                                       size_t index);

/**
 * Adds a formal: it stands for any value of this type, a scalar one, `QUINTET_TYPE_STRING` or `QUINTET_TYPE_BYTES`.
 *
 * Fails with `QUINTET_BAD_VALUE` for `QUINTET_TYPE_ARRAY`, for which `quintet_tuple_add_formal_array` is there, and for no type.
 */
quintet_status quintet_tuple_add_formal(quintet_tuple *tuple,
                                        int32_t field_type);

/**
 * Adds a formal array: it stands for any array of so many dimensions and elements of this type. A dimension in `shape` must be
 * equal, or any if it is `QUINTET_ANY_LENGTH`; with NULL for `shape` any shape of so many dimensions matches.
 *
 * Fails with `QUINTET_BAD_VALUE` for another type, and for more than `QUINTET_MAX_DIMENSIONS`.
 */
quintet_status quintet_tuple_add_formal_array(quintet_tuple *tuple,
                                              int32_t element_type,
                                              size_t dimensions,
                                              const uint64_t *shape);

/**
 * Adds a range: it stands for any value between two bounds, which are the fields of the tuple `bounds`: its first one that of the lower end, if
 * that has one, and the next that of the upper end, if that has one. `low` and `high` say what the ends are, as `quintet_bound`.
 *
 * The bounds have one type: integers and floats are ordered as numbers, where NaN is in no range and -0.0 lies where 0.0 does; strings and
 * bytes by their bytes. A range whose lower bound lies above its upper one has nothing in it.
 *
 * Fails with `QUINTET_BAD_VALUE` if `bounds` has not as many fields as there are bounds, for bounds of two types, for truth values, arrays,
 * formals and NaN, for more than 1024 bytes, and if both ends are open.
 */
quintet_status quintet_tuple_add_range(quintet_tuple *tuple,
                                       const quintet_tuple *bounds,
                                       int32_t low,
                                       int32_t high);

/**
 * Adds a prefix: it stands for any string that begins with these `length` bytes, or with those up to a NUL if that is `QUINTET_NUL_TERMINATED`.
 *
 * Fails with `QUINTET_BAD_VALUE` if they are not UTF-8, or more than 1024.
 */
quintet_status quintet_tuple_add_string_prefix(quintet_tuple *tuple,
                                               const char *prefix,
                                               size_t length);

/**
 * Adds a prefix: it stands for any bytes that begin with these.
 *
 * Fails with `QUINTET_BAD_VALUE` if they are more than 1024.
 */
quintet_status quintet_tuple_add_bytes_prefix(quintet_tuple *tuple, const void *prefix, size_t length);

/**
 * The truth value in a field, counted from 0.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is of another type.
 */
quintet_status quintet_tuple_get_bool(const quintet_tuple *tuple, size_t index, bool *value);

/**
 * The signed integer of 8 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_int8(const quintet_tuple *tuple, size_t index, int8_t *value);

/**
 * The signed integer of 16 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_int16(const quintet_tuple *tuple, size_t index, int16_t *value);

/**
 * The signed integer of 32 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_int32(const quintet_tuple *tuple, size_t index, int32_t *value);

/**
 * The signed integer of 64 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_int64(const quintet_tuple *tuple, size_t index, int64_t *value);

/**
 * The unsigned integer of 8 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_uint8(const quintet_tuple *tuple, size_t index, uint8_t *value);

/**
 * The unsigned integer of 16 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_uint16(const quintet_tuple *tuple, size_t index, uint16_t *value);

/**
 * The unsigned integer of 32 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_uint32(const quintet_tuple *tuple, size_t index, uint32_t *value);

/**
 * The unsigned integer of 64 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_uint64(const quintet_tuple *tuple, size_t index, uint64_t *value);

/**
 * The floating-point number of 32 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_float(const quintet_tuple *tuple, size_t index, float *value);

/**
 * The floating-point number of 64 bits in a field; as `quintet_tuple_get_bool`.
 */
quintet_status quintet_tuple_get_double(const quintet_tuple *tuple, size_t index, double *value);

/**
 * Lends the text in a field: UTF-8, with a NUL behind it. `length`, unless it is NULL, is its bytes without that; a text may have
 * NULs within.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is no text.
 */
quintet_status quintet_tuple_get_string(const quintet_tuple *tuple,
                                        size_t index,
                                        const char **string,
                                        size_t *length);

/**
 * Lends the bytes in a field, where they lie.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is not bytes.
 */
quintet_status quintet_tuple_get_bytes(const quintet_tuple *tuple,
                                       size_t index,
                                       const void **data,
                                       size_t *length);

/**
 * Adds a copy of an array: elements of a scalar type, in C order, `dimensions` lengths in `shape`. A bool is one byte, 0 or 1.
 *
 * Fails with `QUINTET_BAD_VALUE` for another type, for more than `QUINTET_MAX_DIMENSIONS`, and for a dimension above 2 GiB;
 * `QUINTET_TOO_LARGE` for more than 2 GiB of data.
 */
quintet_status quintet_tuple_add_array(quintet_tuple *tuple,
                                       int32_t element_type,
                                       size_t dimensions,
                                       const uint64_t *shape,
                                       const void *data);

/**
 * Adds an array whose elements lie in a buffer, from its beginning, without a copy: over shared memory it stays where it is, and its
 * taker sees it there. From now on nothing may be written to the buffer, also if this call or a later one fails; it may be freed.
 *
 * Fails as `quintet_tuple_add_array`, and with `QUINTET_BAD_VALUE` if the buffer is shorter than the array.
 */
quintet_status quintet_tuple_add_buffer(quintet_tuple *tuple,
                                        int32_t element_type,
                                        size_t dimensions,
                                        const uint64_t *shape,
                                        quintet_buffer *buffer);

/**
 * Lends the array in a field: see `quintet_array`. Nothing is copied, unless its data are not aligned where they came.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is no array.
 */
quintet_status quintet_tuple_get_array(const quintet_tuple *tuple,
                                       size_t index,
                                       quintet_array *array);

/**
 * Gives the data of a field, an array or bytes, as a buffer that outlives the tuple. Nothing is copied. To be freed with
 * `quintet_buffer_free`.
 *
 * Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is neither array nor bytes.
 */
quintet_status quintet_tuple_get_buffer(const quintet_tuple *tuple,
                                        size_t index,
                                        quintet_buffer **buffer);

/**
 * Makes a buffer of `length` bytes, of any content, aligned for every scalar type. From 4 KiB on it lies in memory that can be lent to
 * other processes, unless the system has too few descriptors.
 *
 * Fails with `QUINTET_TOO_LARGE` above 2 GiB, `QUINTET_RESOURCE` if there is no memory.
 */
quintet_status quintet_buffer_new(size_t length,
                                  quintet_buffer **buffer);

/**
 * Where to write: until the buffer is added to a tuple or freed.
 *
 * Fails with `QUINTET_BAD_VALUE` for a buffer that can only be read.
 */
quintet_status quintet_buffer_write(quintet_buffer *buffer, void **data);

/**
 * Lends the data, to be read until the buffer is freed. Data that the space gave may lie unaligned.
 */
quintet_status quintet_buffer_read(quintet_buffer *buffer, const void **data, size_t *length);

/**
 * Frees a buffer; tuples that share its data keep them. NULL is left alone.
 */
void quintet_buffer_free(quintet_buffer *buffer);

/**
 * Puts a tuple, which stays the program's: it may be changed, put again or freed. When this returns, the space has it. Waits while
 * the space is full.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no tuple, `QUINTET_TOO_LARGE` for one that can never fit, `QUINTET_SPACE_FULL` after
 * the timeout.
 */
quintet_status quintet_space_out(quintet_space *space,
                                 const quintet_tuple *tuple,
                                 int64_t timeout_ms);

/**
 * Puts a tuple that leaves the space by itself so many milliseconds after it was put, unless somebody has taken it by then. One that would return after
 * its time leaves instead. With a negative number it does not expire.
 *
 * Fails as `quintet_space_out`.
 */
quintet_status quintet_space_out_for(quintet_space *space,
                                     const quintet_tuple *tuple,
                                     int64_t expires_in_ms,
                                     int64_t timeout_ms);

/**
 * Puts all these tuples at one instant, or none.
 *
 * Fails as `quintet_space_out`.
 */
quintet_status quintet_space_out_many(quintet_space *space,
                                      const quintet_tuple *const *tuples,
                                      size_t count,
                                      int64_t timeout_ms);

/**
 * Takes the oldest matching tuple, waiting for one. To be freed with `quintet_tuple_free`.
 *
 * Fails with `QUINTET_TIMED_OUT`, whose text says what nearly matched; `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_take(quintet_space *space,
                                  const quintet_tuple *wanted,
                                  int64_t timeout_ms,
                                  quintet_tuple **tuple);

/**
 * Reads the oldest matching tuple, which stays, waiting for one. To be freed with `quintet_tuple_free`.
 *
 * Fails as `quintet_space_take`.
 */
quintet_status quintet_space_read(quintet_space *space,
                                  const quintet_tuple *wanted,
                                  int64_t timeout_ms,
                                  quintet_tuple **tuple);

/**
 * Takes the oldest matching tuple if there is one. Else `tuple` is NULL, and the status `QUINTET_OK`: at one instant there was none.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_take_if(quintet_space *space,
                                     const quintet_tuple *wanted,
                                     quintet_tuple **tuple);

/**
 * Reads the oldest matching tuple if there is one; as `quintet_space_take_if`, and it stays.
 */
quintet_status quintet_space_read_if(quintet_space *space,
                                     const quintet_tuple *wanted,
                                     quintet_tuple **tuple);

/**
 * How many tuples match now.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_count(quintet_space *space, const quintet_tuple *wanted, uint64_t *count);

/**
 * How the space is: see `quintet_state`.
 */
quintet_status quintet_space_status(quintet_space *space, quintet_state *state);

/**
 * Takes the oldest matching tuple and puts `count` others in its place, at one instant: nobody sees the space between the two. Waits for a match. A template
 * of values only is compare-and-swap. `tuple` is what was taken, to be freed with `quintet_tuple_free`. Interrupted, it has happened or it has not.
 *
 * Fails with `QUINTET_TIMED_OUT`; `QUINTET_SPACE_FULL` if there is no room for what would be put, and what matches stays; `QUINTET_TOO_LARGE` if there never is;
 * `QUINTET_BAD_VALUE` for what is no template or no tuple, and for no tuple at all; `QUINTET_MALFORMED` of a server from before replacements.
 */
quintet_status quintet_space_replace(quintet_space *space,
                                     const quintet_tuple *wanted,
                                     const quintet_tuple *const *tuples,
                                     size_t count,
                                     int64_t timeout_ms,
                                     Place tuple);

/**
 * As `quintet_space_replace` if there is a match. Else `tuple` is NULL, and the status `QUINTET_OK`: nothing was put.
 *
 * Fails as `quintet_space_replace`.
 */
quintet_status quintet_space_replace_if(quintet_space *space,
                                        const quintet_tuple *wanted,
                                        const quintet_tuple *const *tuples,
                                        size_t count,
                                        Place tuple);

/**
 * Takes the oldest tuple that matches one of `count` templates, 1 to 32, waiting for one. `which` counts the templates from 0; it is the first
 * that matches. The tuple is to be freed with `quintet_tuple_free`.
 *
 * Fails with `QUINTET_TIMED_OUT`, whose text says of each template what nearly matched; `QUINTET_BAD_VALUE` for what is no template, for none and for too
 * many; `QUINTET_MALFORMED` of a server from before selects.
 */
quintet_status quintet_space_select(quintet_space *space,
                                    const quintet_tuple *const *wanted,
                                    size_t count,
                                    int64_t timeout_ms,
                                    size_t *which,
                                    Place tuple);

/**
 * As `quintet_space_select`; the tuple stays.
 *
 * Fails as `quintet_space_select`.
 */
quintet_status quintet_space_select_read(quintet_space *space,
                                         const quintet_tuple *const *wanted,
                                         size_t count,
                                         int64_t timeout_ms,
                                         size_t *which,
                                         Place tuple);

/**
 * As `quintet_space_select` if there is such a tuple. Else `tuple` is NULL, and the status `QUINTET_OK`: at one instant there was none.
 *
 * Fails as `quintet_space_select`.
 */
quintet_status quintet_space_select_if(quintet_space *space,
                                       const quintet_tuple *const *wanted,
                                       size_t count,
                                       size_t *which,
                                       Place tuple);

/**
 * As `quintet_space_select_if`; the tuple stays.
 *
 * Fails as `quintet_space_select`.
 */
quintet_status quintet_space_select_read_if(quintet_space *space,
                                            const quintet_tuple *const *wanted,
                                            size_t count,
                                            size_t *which,
                                            Place tuple);

/**
 * As `quintet_space_select`, under a lease, to be freed with `quintet_lease_free`.
 *
 * Fails as `quintet_space_select`; `QUINTET_RESOURCE` if there is no thread to renew it.
 */
quintet_status quintet_space_select_lease(quintet_space *space,
                                          const quintet_tuple *const *wanted,
                                          size_t count,
                                          int64_t timeout_ms,
                                          size_t *which,
                                          quintet_lease **lease);

/**
 * Tells that every template of these types gives a value for this field, counted from 0, and not always the same: a space with several managers then has
 * their tuples at all of them from now on, each where the value says, and does not wait until templates have shown it. Of the template the types count.
 * It is no promise: where a template leaves the key out all the same, the tuples are gathered at one manager, as ever. In a space with one manager, and in a
 * named one, there is nothing to do.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, and if it has no such field.
 */
quintet_status quintet_space_declare_key(quintet_space *space,
                                         const quintet_tuple *types,
                                         size_t field);

/**
 * Opens the named space `name`, which somebody has created. It is freed with `quintet_space_free`.
 *
 * Fails with `QUINTET_NO_SUCH_SPACE`, whose message names those that are there, `QUINTET_NOT_ALLOWED` if its creation named others, or
 * `QUINTET_BAD_VALUE` for what is no name.
 */
quintet_status quintet_lab_open_space(quintet_lab *lab,
                                      const char *name,
                                      quintet_space **space);

/**
 * Creates the named space `name`, and opens it; `settings` may be NULL. One that is there with the same settings is as good: several processes may begin
 * with this. It is freed with `quintet_space_free`.
 *
 * Fails with `QUINTET_SPACE_EXISTS` if it is there with other settings, `QUINTET_SPACE_FULL` if the server has no room for its quota or for one more
 * space, `QUINTET_BAD_VALUE` for what is no name or no policy, or one that the server or the cluster cannot keep, for a machine that is none of the cluster, and if somebody is named while `is_restricted` is false, or `QUINTET_TOO_LARGE` for more than 128 identities;
 * `QUINTET_UNREACHABLE` in a cluster if this machine's agent does not run, too few machines are up, or the space is not served after ten seconds and the try that is under way then (ten more at most): then it stays agreed.
 */
quintet_status quintet_lab_create_space(quintet_lab *lab,
                                        const char *name,
                                        const quintet_space_settings *settings,
                                        quintet_space **space);

/**
 * Lets the programs of some machines, the `granted`, use the space `name` from now on, and those of others, the `revoked`, no more: names of machines of the lab's cluster, either of which may be NULL. It
 * is a space that machines of the cluster keep and that was created for some (`is_restricted`). What a program that may not any more waits for comes to `QUINTET_NOT_ALLOWED`.
 *
 * Fails with `QUINTET_NO_SUCH_SPACE`; `QUINTET_BAD_VALUE` if the space is for all machines, nobody would be left, a name is no machine's of the cluster, or the lab is no connection to one; `QUINTET_NOT_ALLOWED` if
 * it is for others than this machine; `QUINTET_UNREACHABLE` if this machine's agent does not run, or no majority agrees.
 */
quintet_status quintet_lab_allow_space(quintet_lab *lab,
                                       const char *name,
                                       const char *const *granted,
                                       size_t granted_count,
                                       const char *const *revoked,
                                       size_t revoked_count);

/**
 * Removes the named space `name` with its tuples. Who waits in it, and who asks it later, gets `QUINTET_NO_SUCH_SPACE`.
 *
 * Fails as `quintet_lab_open_space`.
 */
quintet_status quintet_lab_remove_space(quintet_lab *lab,
                                        const char *name);

/**
 * Lists the named spaces. It is freed with `quintet_spaces_free`.
 *
 * Fails with `QUINTET_CLOSED`, or as the connection does.
 */
quintet_status quintet_lab_list_spaces(quintet_lab *lab, quintet_spaces **list);

/**
 * Lists the spaces that machines of the lab's cluster keep on their disks, as this machine's agent knows them; none if the lab is no connection to a cluster. Nobody is asked: what is
 * in them is 0 in the rows, and `quintet_space_status` of each tells it. It is freed with `quintet_spaces_free`.
 *
 * Fails with `QUINTET_BAD_VALUE` if this machine is no member of the cluster any more, `QUINTET_BAD_FILE` for a file that cannot be read.
 */
quintet_status quintet_lab_list_kept_spaces(quintet_lab *lab,
                                            quintet_spaces **list);

/**
 * The next named space; false when there is none any more.
 *
 * Fails with `QUINTET_BAD_VALUE` only.
 */
quintet_status quintet_spaces_next(quintet_spaces *list, quintet_space_row *row, bool *is_there);

/**
 * Frees a list of spaces. NULL is left alone.
 */
void quintet_spaces_free(quintet_spaces *list);

/**
 * Frees a space that `quintet_lab_open_space` or `quintet_lab_create_space` gave; what it holds stays. That of `quintet_lab_space` is the lab's, and is not
 * freed. NULL is left alone.
 */
void quintet_space_free(quintet_space *space);

/**
 * Begins to list the tuples that match `wanted`, or all where that is NULL. Nothing is fetched so far; the template may be freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_list(quintet_space *space,
                                  const quintet_tuple *wanted,
                                  quintet_listing **listing);

/**
 * The next tuple, which is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is none any more. `row` may be NULL.
 *
 * Fails with `QUINTET_CLOSED`, or as the connection does; then the listing is over.
 */
quintet_status quintet_listing_next(quintet_listing *listing,
                                    quintet_row *row,
                                    quintet_tuple **tuple);

/**
 * Frees a listing. NULL is left alone.
 */
void quintet_listing_free(quintet_listing *listing);

/**
 * Begins to list the requests that wait in a space. Nothing is fetched so far. It is freed with `quintet_waiting_free`.
 */
quintet_status quintet_space_waiting(quintet_space *space,
                                     quintet_waiting **waiting);

/**
 * The next request that waits; false when there is none any more. `wanted` is the template that it asks for, which is freed with `quintet_tuple_free`; NULL if it puts tuples. It may be NULL itself.
 *
 * Fails with `QUINTET_CLOSED`, or as the connection does; then the list is over.
 */
quintet_status quintet_waiting_next(quintet_waiting *waiting,
                                    quintet_waiting_row *row,
                                    quintet_tuple **wanted,
                                    bool *is_there);

/**
 * Frees a list of requests that wait. NULL is left alone.
 */
void quintet_waiting_free(quintet_waiting *waiting);

/**
 * Begins to list the clients that are connected to a space. Nothing is fetched so far. Callers within the process of an embedded space have no link to it, and are not among them. It is freed
 * with `quintet_clients_free`.
 */
quintet_status quintet_space_clients(quintet_space *space,
                                     quintet_clients **clients);

/**
 * The next client; false when there is none any more.
 *
 * Fails with `QUINTET_CLOSED`, or as the connection does; then the list is over.
 */
quintet_status quintet_clients_next(quintet_clients *clients, quintet_client_row *row, bool *is_there);

/**
 * Frees a list of clients. NULL is left alone.
 */
void quintet_clients_free(quintet_clients *clients);

/**
 * Begins to list the partitions of a space. Where several managers have the space, a partition has their counts together, and shows the last of what happened at any of them. Nothing is fetched so far. It is freed with `quintet_partitions_free`.
 */
quintet_status quintet_space_partitions(quintet_space *space,
                                        quintet_partitions **partitions);

/**
 * The next partition, as a template that its tuples match: the text in front, if it has one, and a formal for each other field. It is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is
 * none any more. `row` may be NULL.
 *
 * Fails with `QUINTET_CLOSED`, `QUINTET_MALFORMED` of a server from before partitions, or as the connection does; then the list is over.
 */
quintet_status quintet_partitions_next(quintet_partitions *partitions,
                                       quintet_partition_row *row,
                                       quintet_tuple **types);

/**
 * Frees a list of partitions. NULL is left alone.
 */
void quintet_partitions_free(quintet_partitions *partitions);

/**
 * Begins to list the values that takes and reads ask for most in a space, the hottest first, 16 at most. Where several managers have the space, the counts of each weigh as much as the questions that it has had since it began. Nothing is fetched so far. It is freed with `quintet_hot_keys_free`.
 */
quintet_status quintet_space_hot_keys(quintet_space *space,
                                      quintet_hot_keys **keys);

/**
 * The next hot key, as the template that asked first. It is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is none any more. `row` may be NULL.
 *
 * Fails with `QUINTET_CLOSED`, `QUINTET_MALFORMED` of a server from before hot keys, or as the connection does; then the list is over.
 */
quintet_status quintet_hot_keys_next(quintet_hot_keys *keys,
                                     quintet_hot_key_row *row,
                                     quintet_tuple **wanted);

/**
 * Frees a list of hot keys. NULL is left alone.
 */
void quintet_hot_keys_free(quintet_hot_keys *keys);

/**
 * Asks each server of the lab's space, if that is replicated, what it does, over a connection of its own, all at once; of another space there are none. Signals are held back meanwhile, for a few seconds at most, or as long as the setting
 * link.silence_limit_ms says to one that listens and says nothing. Of a space that machines of a cluster keep ask a lab that is connected to "quintet://NAME/SPACE". It is freed with `quintet_replicas_free`.
 *
 * Fails with `QUINTET_BAD_VALUE` or `QUINTET_BAD_FILE` for an identity or a cluster that cannot be read. That a server cannot be asked stands in its row.
 */
quintet_status quintet_lab_replicas(quintet_lab *lab,
                                    quintet_replicas **replicas);

/**
 * The next server, by number; false when there is none any more.
 *
 * Fails with `QUINTET_BAD_VALUE` only.
 */
quintet_status quintet_replicas_next(quintet_replicas *replicas,
                                     quintet_replica_row *row,
                                     bool *is_there);

/**
 * Frees a list of replicas. NULL is left alone.
 */
void quintet_replicas_free(quintet_replicas *replicas);

/**
 * Collects the page that `quintet_space_begin_collect` or `quintet_space_begin_copy_collect` asked for: its tuples, perhaps none, and, if `has_more`, where the next page begins. May be called again, and gives another
 * collection of the same tuples. Each is freed with `quintet_collection_free`.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
 */
quintet_status quintet_pending_collection(quintet_pending *pending,
                                          quintet_collection **collection,
                                          quintet_page_start *next,
                                          bool *has_more);

/**
 * Collects the number that `quintet_space_begin_collect_into` or `quintet_space_begin_copy_collect_into` asked for: how many tuples went to the other space. If `is_done` is false nothing has happened so far, as the space builds an index for it:
 * begin it again. May be called again.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
 */
quintet_status quintet_pending_collected_into(quintet_pending *pending,
                                              uint64_t *count,
                                              bool *is_done);

/**
 * Takes all tuples that match. What it has taken before it failed or was interrupted is in the collection: that is there after a failure as well, if it has
 * any, and is freed in each case.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template; `QUINTET_TOO_LARGE` for a tuple that the link does not carry; `QUINTET_MALFORMED` of a server from before
 * collections.
 */
quintet_status quintet_space_collect(quintet_space *space,
                                     const quintet_tuple *wanted,
                                     quintet_collection **collection);

/**
 * Takes tuples that match, at most `most` of them, the oldest first and all at one instant. It does not wait; an empty collection says that at one instant there was none. There may be
 * fewer though there are more: as many as an answer carries, which are 1024 tuples, 64 KiB of short fields and 1 MiB of long ones, and one at least. After a failure, or interrupted, it has
 * taken nothing.
 *
 * Fails as `quintet_space_collect`.
 */
quintet_status quintet_space_take_up_to(quintet_space *space,
                                        size_t most,
                                        const quintet_tuple *wanted,
                                        quintet_collection **collection);

/**
 * As `quintet_space_collect`; the tuples stay. Each of several equal ones comes once.
 *
 * Fails as `quintet_space_collect`.
 */
quintet_status quintet_space_copy_collect(quintet_space *space,
                                          const quintet_tuple *wanted,
                                          quintet_collection **collection);

/**
 * How many tuples the collection still has; `QUINTET_OK` also for none.
 */
quintet_status quintet_collection_count(const quintet_collection *collection, uint64_t *count);

/**
 * The next tuple, which is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is none any more.
 */
quintet_status quintet_collection_next(const quintet_collection *collection,
                                       quintet_tuple **tuple);

/**
 * Frees a collection, and the tuples that it still has. NULL is left alone.
 */
void quintet_collection_free(quintet_collection *collection);

/**
 * Moves all tuples that match to the space `into` of the same lab, at one instant, all or none; `count` is how many. They are the youngest there, in their order.
 *
 * Fails with `QUINTET_SPACE_FULL` if there is no room for all of them now, `QUINTET_TOO_LARGE` if there never is, if it is about more than 65536 tuples, or if more
 * than 64 MiB were to go between several managers of the space without a name; `QUINTET_NOT_ALLOWED` of the rights of either space; `QUINTET_BAD_VALUE` for what is no
 * template, if both are one space, or are of two labs; `QUINTET_MALFORMED` of a server from before collections. Nothing is moved then.
 */
quintet_status quintet_space_collect_into(quintet_space *space,
                                          quintet_space *into,
                                          const quintet_tuple *wanted,
                                          uint64_t *count);

/**
 * As `quintet_space_collect_into`; the tuples stay where they are as well.
 *
 * Fails as `quintet_space_collect_into`.
 */
quintet_status quintet_space_copy_collect_into(quintet_space *space,
                                               quintet_space *into,
                                               const quintet_tuple *wanted,
                                               uint64_t *count);

/**
 * Begins to watch the tuples that match `wanted`, or all where that is NULL; the template may be freed at once. `since` is where: `QUINTET_SINCE_NOW`, and events count
 * from when this returns; `QUINTET_SINCE_START`, and the tuples that are there are gathered first; or the number of an event, behind which it goes on.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, and without one of a space with several managers; `QUINTET_TOO_OLD`; `QUINTET_MALFORMED` of a server from before watches.
 * Of a number the space says so to `quintet_watch_next`.
 */
quintet_status quintet_space_watch(quintet_space *space,
                                   const quintet_tuple *wanted,
                                   uint64_t since,
                                   quintet_watch **watch);

/**
 * The next event, and its tuple, which is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, if none comes within the timeout, and once the watch is over. With a timeout of 0
 * it does not wait: it gives what has come. `event` may be NULL.
 *
 * Fails with `QUINTET_TOO_OLD`, or as the connection does; then the watch is over. With `QUINTET_CANCELLED` if the program interrupted the wait; no event is lost.
 */
quintet_status quintet_watch_next(quintet_watch *watch,
                                  int64_t timeout_ms,
                                  quintet_event *event,
                                  quintet_tuple **tuple);

/**
 * Behind which number whoever comes back goes on: that of the last event which was given, or a later one up to which there was none. 0 until all tuples were given
 * that were there.
 */
quintet_status quintet_watch_number(quintet_watch *watch,
                                    uint64_t *number);

/**
 * The lab's descriptor for the program's own event loop, as `quintet_lab_descriptor` gives it: it is readable while `quintet_lab_progress` has something to do, an event that has
 * come for example. It is good until the lab is freed.
 *
 * Fails with `QUINTET_RESOURCE` if the system refuses a descriptor.
 */
quintet_status quintet_watch_descriptor(quintet_watch *watch,
                                        int *descriptor);

/**
 * Frees a watch. NULL is left alone.
 */
void quintet_watch_free(quintet_watch *watch);

/**
 * Takes the oldest matching tuple under a lease, waiting for one. To be freed with `quintet_lease_free`.
 *
 * Fails as `quintet_space_take`, and with `QUINTET_RESOURCE` if there is no thread to renew it.
 */
quintet_status quintet_space_lease(quintet_space *space,
                                   const quintet_tuple *wanted,
                                   int64_t timeout_ms,
                                   quintet_lease **lease);

/**
 * Lends the tuple: it is good until the lease is freed, also after it has ended, and is not freed itself.
 */
quintet_status quintet_lease_tuple(quintet_lease *lease, const quintet_tuple **tuple);

/**
 * How often the tuple has been leased, this time included: 1 is the first.
 */
quintet_status quintet_lease_attempt(quintet_lease *lease, uint32_t *attempt);

/**
 * Removes the tuple for good and puts `count` results at the same instant: either both happen or neither. Waits while the space has
 * no room for them. NULL and 0 for no results.
 *
 * Fails with `QUINTET_LEASE_LOST` if the lease has ended: somebody else does the task, and nothing was put; `QUINTET_BAD_VALUE` for a
 * result that is no tuple, and then the lease goes on; after any other error the tuple has returned to the space.
 */
quintet_status quintet_lease_acknowledge(quintet_lease *lease,
                                         const quintet_tuple *const *results,
                                         size_t count);

/**
 * As `quintet_lease_acknowledge`; so many milliseconds after they were put the results leave the space by themselves, as by `quintet_space_out_for`. With a
 * negative number they do not expire.
 *
 * Fails as `quintet_lease_acknowledge`.
 */
quintet_status quintet_lease_acknowledge_for(quintet_lease *lease,
                                             const quintet_tuple *const *results,
                                             size_t count,
                                             int64_t expires_in_ms);

/**
 * Begins `quintet_lease_acknowledge`. Cancelled or freed before it is done, the tuple returns to the space.
 *
 * Fails with `QUINTET_LEASE_LOST` if the lease has ended, `QUINTET_BAD_VALUE` for a result that is no tuple.
 */
quintet_status quintet_lease_begin_acknowledge(quintet_lease *lease,
                                               const quintet_tuple *const *results,
                                               size_t count,
                                               quintet_pending **pending);

/**
 * Begins `quintet_lease_acknowledge_for`, as `quintet_lease_begin_acknowledge`.
 *
 * Fails as `quintet_lease_begin_acknowledge`.
 */
quintet_status quintet_lease_begin_acknowledge_for(quintet_lease *lease,
                                                   const quintet_tuple *const *results,
                                                   size_t count,
                                                   int64_t expires_in_ms,
                                                   quintet_pending **pending);

/**
 * Returns the tuple to its place now; the attempt counts.
 *
 * Fails with `QUINTET_LEASE_LOST` if the lease has ended.
 */
quintet_status quintet_lease_release(quintet_lease *lease);

/**
 * Frees a lease. If it was not ended, its tuple returns to the space. NULL is left alone.
 */
void quintet_lease_free(quintet_lease *lease);

/**
 * Begins a group, which lasts so long at most: `QUINTET_FOREVER` without end. To be freed with `quintet_group_free`.
 */
quintet_status quintet_space_group(quintet_space *space,
                                   int64_t timeout_ms,
                                   quintet_group **group);

/**
 * Takes the oldest matching tuple, waiting for one while the group lasts. To be freed with `quintet_tuple_free`.
 *
 * Fails with `QUINTET_TIMED_OUT`, whose text says what nearly matched; `QUINTET_LEASE_LOST` if the group was told to end;
 * `QUINTET_TOO_LARGE` for more tuples than a group may take; `QUINTET_BAD_VALUE` for what is no template; `QUINTET_RESOURCE` if there is
 * no thread to renew what it has.
 */
quintet_status quintet_group_take(quintet_group *group,
                                  const quintet_tuple *wanted,
                                  int64_t timeout_ms,
                                  quintet_tuple **tuple);

/**
 * Takes the oldest matching tuple if there is one. Else `tuple` is NULL, and the status `QUINTET_OK`.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_take_if(quintet_group *group,
                                     const quintet_tuple *wanted,
                                     quintet_tuple **tuple);

/**
 * Reads the oldest matching tuple, waiting for one while the group lasts. It stays where it is, and has to be there at the end. To be freed with
 * `quintet_tuple_free`.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_read(quintet_group *group,
                                  const quintet_tuple *wanted,
                                  int64_t timeout_ms,
                                  quintet_tuple **tuple);

/**
 * Reads the oldest matching tuple if there is one; as `quintet_group_take_if`. That there is none is no promise for the end.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_read_if(quintet_group *group,
                                     const quintet_tuple *wanted,
                                     quintet_tuple **tuple);

/**
 * Puts a tuple when the group ends. It may be changed or freed at once.
 *
 * Fails with `QUINTET_LEASE_LOST` if the group was told to end; `QUINTET_BAD_VALUE` for what is no tuple.
 */
quintet_status quintet_group_out(quintet_group *group, const quintet_tuple *tuple);

/**
 * As `quintet_group_out`; so many milliseconds after the end of the group the tuple leaves the space by itself, as by `quintet_space_out_for`.
 *
 * Fails as `quintet_group_out`.
 */
quintet_status quintet_group_out_for(quintet_group *group,
                                     const quintet_tuple *tuple,
                                     int64_t expires_in_ms);

/**
 * Ends the group: what it took is gone and what it puts is there, at one instant. Waits while the space has no room for what it puts, and the
 * group lasts.
 *
 * Fails with `QUINTET_CONFLICT` if somebody else took what it has read, and with `QUINTET_LEASE_LOST` if its time was over: nothing of it has
 * happened, and it may be done again. `QUINTET_TIMED_OUT`, `QUINTET_SPACE_FULL` and `QUINTET_TOO_LARGE`: it has not happened either.
 */
quintet_status quintet_group_commit(quintet_group *group);

/**
 * Ends the group, which has not happened: what it took is back when this returns.
 *
 * Fails with `QUINTET_LEASE_LOST` if it was told to end before.
 */
quintet_status quintet_group_abort(quintet_group *group);

/**
 * Begins `quintet_group_take`; its tuple comes by `quintet_pending_tuple`, and is the group's from then on. Freed before, it returns.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_begin_take(quintet_group *group,
                                        const quintet_tuple *wanted,
                                        int64_t timeout_ms,
                                        PendingPlace pending);

/**
 * Begins `quintet_group_take_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_begin_take_if(quintet_group *group,
                                           const quintet_tuple *wanted,
                                           PendingPlace pending);

/**
 * Begins `quintet_group_read`; its tuple comes by `quintet_pending_tuple`, and has to be there at the end of the group from then on.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_begin_read(quintet_group *group,
                                        const quintet_tuple *wanted,
                                        int64_t timeout_ms,
                                        PendingPlace pending);

/**
 * Begins `quintet_group_read_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
 *
 * Fails as `quintet_group_take`.
 */
quintet_status quintet_group_begin_read_if(quintet_group *group,
                                           const quintet_tuple *wanted,
                                           PendingPlace pending);

/**
 * Begins `quintet_group_commit`, which `quintet_pending_result` collects. Cancelled or freed before it is done, the group has not happened.
 *
 * Fails with `QUINTET_LEASE_LOST` if the group was told to end, `QUINTET_TIMED_OUT` if its time is over.
 */
quintet_status quintet_group_begin_commit(quintet_group *group,
                                          PendingPlace pending);

/**
 * Frees a group. If it was not told to end, it is aborted; what was begun for it and is not collected returns when that is freed. NULL is left
 * alone.
 */
void quintet_group_free(quintet_group *group);

/**
 * Waits for the outcome, and says by `is_done` whether it is there. It stays to be collected.
 *
 * Fails with `QUINTET_CANCELLED` if the program interrupted the wait; the operation goes on.
 */
quintet_status quintet_pending_wait(quintet_pending *pending, int64_t timeout_ms, bool *is_done);

/**
 * Collects the outcome of what gives nothing: a put, an acknowledgement, or a declared key. May be called again.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
 */
quintet_status quintet_pending_result(quintet_pending *pending);

/**
 * Collects the tuple of a take or a read; NULL, with `QUINTET_OK`, if `quintet_space_begin_take_if` or its like found none. May be called
 * again, and gives another one of the same fields.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
 */
quintet_status quintet_pending_tuple(quintet_pending *pending,
                                     quintet_tuple **tuple);

/**
 * Collects the lease that `quintet_space_begin_lease` asked for; NULL, with `QUINTET_OK`, if `quintet_space_begin_lease_if` found no tuple. It is given once.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` if it was given before, and for another kind of operation.
 */
quintet_status quintet_pending_lease(quintet_pending *pending,
                                     quintet_lease **lease);

/**
 * Collects what `quintet_space_begin_select_lease` asked for: which of its templates matches, counted from 0, and the lease. It is given once.
 *
 * Fails as `quintet_pending_lease`.
 */
quintet_status quintet_pending_selected_lease(quintet_pending *pending,
                                              size_t *which,
                                              quintet_lease **lease);

/**
 * Collects the number that `quintet_space_begin_count` asked for. May be called again.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
 */
quintet_status quintet_pending_count(quintet_pending *pending, uint64_t *count);

/**
 * Collects what a select found: which of its templates matches, counted from 0, and the tuple; NULL, with `QUINTET_OK`, if
 * `quintet_space_begin_select_if` or its like found none. May be called again, and gives another one of the same fields.
 *
 * Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
 */
quintet_status quintet_pending_selected(quintet_pending *pending,
                                        size_t *which,
                                        quintet_tuple **tuple);

/**
 * Calls `callback(argument)` once, when the outcome is there: now, or on the thread that brings it, which is in a call of this lab or in
 * `quintet_lab_progress`. An operation that is freed before may never call. The callback may call the space, and collect
 * this outcome; it must not free the operation, throw or jump.
 */
quintet_status quintet_pending_notify(quintet_pending *pending,
                                      quintet_callback callback,
                                      void *argument);

/**
 * Asks for the operation's end. It still ends exactly once: with `QUINTET_CANCELLED`, or as it would have.
 */
quintet_status quintet_pending_cancel(quintet_pending *pending);

/**
 * Frees it; not collected, it is cancelled and undone. NULL is left alone.
 */
void quintet_pending_free(quintet_pending *pending);

/**
 * Begins `quintet_space_out_many`, of at least one tuple. The tuples may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no tuple, and for none; `QUINTET_TOO_LARGE`.
 */
quintet_status quintet_space_begin_out(quintet_space *space,
                                       const quintet_tuple *const *tuples,
                                       size_t count,
                                       int64_t timeout_ms,
                                       quintet_pending **pending);

/**
 * Begins `quintet_space_out_for`, of at least one tuple, as `quintet_space_begin_out`.
 *
 * Fails as `quintet_space_begin_out`.
 */
quintet_status quintet_space_begin_out_for(quintet_space *space,
                                           const quintet_tuple *const *tuples,
                                           size_t count,
                                           int64_t expires_in_ms,
                                           int64_t timeout_ms,
                                           quintet_pending **pending);

/**
 * Begins `quintet_space_take`; its tuple comes by `quintet_pending_tuple`.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_begin_take(quintet_space *space,
                                        const quintet_tuple *wanted,
                                        int64_t timeout_ms,
                                        quintet_pending **pending);

/**
 * Begins `quintet_space_read`; its tuple comes by `quintet_pending_tuple`.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_begin_read(quintet_space *space,
                                        const quintet_tuple *wanted,
                                        int64_t timeout_ms,
                                        quintet_pending **pending);

/**
 * Begins `quintet_space_take_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_begin_take_if(quintet_space *space,
                                           const quintet_tuple *wanted,
                                           quintet_pending **pending);

/**
 * Begins `quintet_space_read_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_begin_read_if(quintet_space *space,
                                           const quintet_tuple *wanted,
                                           quintet_pending **pending);

/**
 * Begins `quintet_space_lease`; its lease comes by `quintet_pending_lease`. It is renewed from its beginning, however late anybody looks.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, `QUINTET_RESOURCE` if there is no thread to renew it.
 */
quintet_status quintet_space_begin_lease(quintet_space *space,
                                         const quintet_tuple *wanted,
                                         int64_t timeout_ms,
                                         quintet_pending **pending);

/**
 * Begins to lease the oldest matching tuple if there is one, as `quintet_space_begin_lease`; its lease, or NULL, comes by `quintet_pending_lease`.
 *
 * Fails as `quintet_space_begin_lease`.
 */
quintet_status quintet_space_begin_lease_if(quintet_space *space,
                                            const quintet_tuple *wanted,
                                            quintet_pending **pending);

/**
 * Begins `quintet_space_declare_key`; `quintet_pending_result` collects it. A space with one manager is asked for an answer all the same.
 *
 * Fails as `quintet_space_declare_key`.
 */
quintet_status quintet_space_begin_declare_key(quintet_space *space,
                                               const quintet_tuple *types,
                                               size_t field,
                                               quintet_pending **pending);

/**
 * Begins one page of `quintet_space_collect`; it comes by `quintet_pending_collection`. `from` is where that said that the next page begins; NULL for the first one. Cancelled, or freed before it is collected,
 * its tuples are back.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_begin_collect(quintet_space *space,
                                           const quintet_tuple *wanted,
                                           const quintet_page_start *from,
                                           quintet_pending **pending);

/**
 * Begins `quintet_space_take_up_to`, of at least one tuple; it comes by `quintet_pending_collection`. `from` is NULL; where that gives no tuples and has more, nothing was found so far: begin it again with what that says.
 * Cancelled, or freed before it is collected, its tuples are back.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, and for no tuples.
 */
quintet_status quintet_space_begin_take_up_to(quintet_space *space,
                                              size_t most,
                                              const quintet_tuple *wanted,
                                              const quintet_page_start *from,
                                              quintet_pending **pending);

/**
 * Begins one page of `quintet_space_copy_collect`, as `quintet_space_begin_collect`.
 *
 * Fails as `quintet_space_begin_collect`.
 */
quintet_status quintet_space_begin_copy_collect(quintet_space *space,
                                                const quintet_tuple *wanted,
                                                const quintet_page_start *from,
                                                quintet_pending **pending);

/**
 * Begins `quintet_space_collect_into`; its number comes by `quintet_pending_collected_into`.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, and for a space of another lab.
 */
quintet_status quintet_space_begin_collect_into(quintet_space *space,
                                                quintet_space *into,
                                                const quintet_tuple *wanted,
                                                quintet_pending **pending);

/**
 * Begins `quintet_space_copy_collect_into`, as `quintet_space_begin_collect_into`.
 *
 * Fails as `quintet_space_begin_collect_into`.
 */
quintet_status quintet_space_begin_copy_collect_into(quintet_space *space,
                                                     quintet_space *into,
                                                     const quintet_tuple *wanted,
                                                     quintet_pending **pending);

/**
 * Begins `quintet_space_count`; its number comes by `quintet_pending_count`.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template.
 */
quintet_status quintet_space_begin_count(quintet_space *space,
                                         const quintet_tuple *wanted,
                                         quintet_pending **pending);

/**
 * Begins `quintet_space_replace`; what it took comes by `quintet_pending_tuple`. The tuples may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template or no tuple, and for no tuple at all; `QUINTET_TOO_LARGE`.
 */
quintet_status quintet_space_begin_replace(quintet_space *space,
                                           const quintet_tuple *wanted,
                                           const quintet_tuple *const *tuples,
                                           size_t count,
                                           int64_t timeout_ms,
                                           quintet_pending **pending);

/**
 * Begins `quintet_space_replace_if`; what it took, or NULL, comes by `quintet_pending_tuple`. The tuples may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template or no tuple, and for no tuple at all; `QUINTET_TOO_LARGE`.
 */
quintet_status quintet_space_begin_replace_if(quintet_space *space,
                                              const quintet_tuple *wanted,
                                              const quintet_tuple *const *tuples,
                                              size_t count,
                                              quintet_pending **pending);

/**
 * Begins `quintet_space_select`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
 */
quintet_status quintet_space_begin_select(quintet_space *space,
                                          const quintet_tuple *const *wanted,
                                          size_t count,
                                          int64_t timeout_ms,
                                          quintet_pending **pending);

/**
 * Begins `quintet_space_select_read`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
 */
quintet_status quintet_space_begin_select_read(quintet_space *space,
                                               const quintet_tuple *const *wanted,
                                               size_t count,
                                               int64_t timeout_ms,
                                               quintet_pending **pending);

/**
 * Begins `quintet_space_select_if`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
 */
quintet_status quintet_space_begin_select_if(quintet_space *space,
                                             const quintet_tuple *const *wanted,
                                             size_t count,
                                             quintet_pending **pending);

/**
 * Begins `quintet_space_select_read_if`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
 */
quintet_status quintet_space_begin_select_read_if(quintet_space *space,
                                                  const quintet_tuple *const *wanted,
                                                  size_t count,
                                                  quintet_pending **pending);

/**
 * Begins `quintet_space_select_lease`; what it found comes by `quintet_pending_selected_lease`. It is renewed from its beginning, however late anybody looks.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many; `QUINTET_RESOURCE` if there is no thread to renew it.
 */
quintet_status quintet_space_begin_select_lease(quintet_space *space,
                                                const quintet_tuple *const *wanted,
                                                size_t count,
                                                int64_t timeout_ms,
                                                quintet_pending **pending);

/**
 * Calls a handler of this name, and waits for its reply, `timeout_ms` at most. The reply is a buffer, to be read with `quintet_buffer_read` and
 * freed.
 *
 * Fails with `QUINTET_NO_HANDLER` if nobody handles calls of that name, `QUINTET_BUSY` if as many wait as the handlers allow,
 * `QUINTET_TOO_LARGE`, `QUINTET_TIMED_OUT`, whose message says whether a handler had begun, `QUINTET_TASK_FAILED` with the handler's own words,
 * `QUINTET_PEER_DIED` if the process that handled it has ended, or the broker, `QUINTET_CANCELLED` if the program's interrupt check ended the wait,
 * and `QUINTET_BAD_VALUE` for what is no name or rank.
 */
quintet_status quintet_messaging_call(quintet_lab *lab,
                                      const char *name,
                                      int64_t rank,
                                      const void *request,
                                      size_t length,
                                      int64_t timeout_ms,
                                      quintet_buffer **reply);

/**
 * Calls a handler of this name one-way: it is accepted when this returns, and handled later. It is lost with the process that has begun it, or
 * where no handler of the name is left.
 *
 * Fails as `quintet_messaging_call`, but for what a handler may do.
 */
quintet_status quintet_messaging_send(quintet_lab *lab,
                                      const char *name,
                                      int64_t rank,
                                      const void *request,
                                      size_t length);

/**
 * Waits until there is a handler of this name, `timeout_ms` at most: for a program that calls another one that was started at the same time.
 *
 * Fails with `QUINTET_TIMED_OUT`, `QUINTET_CANCELLED` if the program's interrupt check ended the wait, and `QUINTET_BAD_VALUE` for what is no name or
 * rank.
 */
quintet_status quintet_messaging_wait(quintet_lab *lab,
                                      const char *name,
                                      int64_t rank,
                                      int64_t timeout_ms);

/**
 * Handles calls of a name from now on: 1 to 128 bytes of text. `limits` may be NULL, for the defaults. This process has the rank that its job gave it, if
 * it is a worker. Until a thread takes calls they wait.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no name, limits that cannot be, or other ones than those of another handler of the name;
 * `QUINTET_BUSY` for more than 256 handlers of one process.
 */
quintet_status quintet_handler_new(quintet_lab *lab,
                                   const char *name,
                                   const quintet_handler_limits *limits,
                                   quintet_handler **handler);

/**
 * Handles calls on this thread, one after the other, with `handle(call, argument)`, until the handler leaves or the lab is closed: then it
 * succeeds. A call that `handle` ends without a reply fails.
 *
 * Fails with `QUINTET_PEER_DIED` or `QUINTET_PEER_SILENT` if the connection is over, `QUINTET_CANCELLED` if the program's interrupt check ended the
 * wait, `QUINTET_BAD_VALUE` if `handle` is NULL.
 */
quintet_status quintet_handler_serve(quintet_handler *handler,
                                     quintet_handle handle,
                                     void *argument);

/**
 * The next call, if one comes within `timeout_ms`; it is freed with `quintet_call_free`.
 *
 * Fails with `QUINTET_TIMED_OUT`, `QUINTET_CANCELLED` once the handler has left or if the program's interrupt check ended the wait,
 * `QUINTET_CLOSED` once the lab is closed.
 */
quintet_status quintet_handler_next(quintet_handler *handler,
                                    int64_t timeout_ms,
                                    quintet_call **call);

/**
 * Takes no more calls: threads that wait for one return, calls that were not begun go to other handlers of the name or fail with
 * `QUINTET_NO_HANDLER`. Those that were given may still be replied to. A second call does nothing.
 */
quintet_status quintet_handler_leave(quintet_handler *handler);

/**
 * Leaves, and frees the handler; no thread may use it then. NULL is left alone.
 */
void quintet_handler_free(quintet_handler *handler);

/**
 * Lends what the caller has sent, to be read until the call is freed.
 */
quintet_status quintet_call_request(quintet_call *call, const void **data, size_t *length);

/**
 * How long the caller still waits, in milliseconds: `QUINTET_FOREVER` if without end, or if the call is one-way.
 */
quintet_status quintet_call_remaining(quintet_call *call,
                                      int64_t *remaining_ms);

/**
 * Whether nobody waits for a reply.
 */
quintet_status quintet_call_is_one_way(quintet_call *call, bool *is_one_way);

/**
 * Replies. To a one-way call the reply is dropped.
 *
 * Fails with `QUINTET_TOO_LARGE`, and then its caller is told; `QUINTET_BAD_VALUE` if the call was ended before.
 */
quintet_status quintet_call_reply(quintet_call *call,
                                  const void *data,
                                  size_t length);

/**
 * Fails the call: its caller gets `QUINTET_TASK_FAILED` with this text, 1 KiB of it at most.
 *
 * Fails with `QUINTET_BAD_VALUE` if the call was ended before, and for what is no text.
 */
quintet_status quintet_call_fail(quintet_call *call, const char *text);

/**
 * Frees a call that `quintet_handler_next` gave; without a reply it fails. NULL is left alone.
 */
void quintet_call_free(quintet_call *call);

/**
 * Makes a set of functions, without any so far.
 */
quintet_status quintet_evals_new(quintet_evals **evals);

/**
 * Adds a function: `make(eval, argument)` is called for calls of this name whose arguments match `arguments`, a template with a field for each, or NULL if it has none. The
 * template may be freed at once. Several functions may have one name, if their arguments differ in number or type; of those that match a call the first makes it.
 *
 * Fails with `QUINTET_BAD_VALUE` if `function` or `make` is NULL, for more than 59 arguments, above 16 functions, and while they are served.
 */
quintet_status quintet_evals_add(quintet_evals *evals,
                                 const char *function,
                                 const quintet_tuple *arguments,
                                 quintet_make make,
                                 void *argument);

/**
 * Makes the live tuples of this space that there are functions for, on this thread, one after the other, the oldest first, until the space is gone or the lab is closed: then it
 * succeeds. A call that a function ends without a tuple fails.
 *
 * Fails with `QUINTET_CANCELLED` if the program's interrupt check ended a wait, and a call that was to be acknowledged then is another worker's; `QUINTET_BAD_VALUE` if no function
 * was added; `QUINTET_NOT_ALLOWED` in a cluster's space, for want of the grant `code`; `QUINTET_CLOSED` in a child of fork; `QUINTET_NO_SUCH_SPACE` once a named space was removed; `QUINTET_RESOURCE` if there
 * is no thread to renew leases; `QUINTET_MALFORMED` of a server from before selects.
 */
quintet_status quintet_evals_serve(quintet_evals *evals,
                                   quintet_space *space);

/**
 * Frees the functions; those who serve them go on. NULL is left alone.
 */
void quintet_evals_free(quintet_evals *evals);

/**
 * Lends the arguments of the call, counted from 0, to be read until the function returns. Their types are those that `quintet_evals_add` was told; they are not freed.
 */
quintet_status quintet_eval_arguments(quintet_eval *eval,
                                      const quintet_tuple **arguments);

/**
 * Gives the tuple, which is put when the function has returned, at the instant at which the call goes. It stays the program's: it may be changed, put or freed.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no tuple, and then the call may still be given one, or be failed; and if the call was ended before.
 */
quintet_status quintet_eval_give(quintet_eval *eval,
                                 const quintet_tuple *tuple);

/**
 * Fails the call: in the place of its tuple comes `("quintet.failed", function, text)`.
 *
 * Fails with `QUINTET_BAD_VALUE` if the call was ended before, and for what is no text.
 */
quintet_status quintet_eval_fail(quintet_eval *eval, const char *text);

/**
 * Asks workers for the tuple of a function, with these arguments: a tuple of them, which stays the program's, or NULL for none. When this returns the space has the call, and it is
 * done whether or not this process lives. Waits while the space is full.
 *
 * Fails with `QUINTET_BAD_VALUE` if `function` is NULL, for a formal or a range among the arguments, and for more than 59; otherwise as `quintet_space_out`. In a cluster's space
 * it fails with `QUINTET_NOT_ALLOWED` for want of the grant `code`.
 */
quintet_status quintet_space_eval_on_workers(quintet_space *space,
                                             const char *function,
                                             const quintet_tuple *arguments,
                                             int64_t timeout_ms);

/**
 * Begins to say what an isonet of this name shares, which others name alike: 1 to 100 bytes of text. To be freed with `quintet_isonet_free`.
 */
quintet_status quintet_isonet_new(quintet_lab *lab,
                                  const char *name,
                                  quintet_isonet **isonet);

/**
 * Says which member this process is, from 0, and of how many. Else it is the worker's rank, of the job's workers.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_set_member(quintet_isonet *isonet,
                                         uint16_t member,
                                         uint16_t members);

/**
 * Shares a variable of so many bytes, 1 to 4096, that begins as zeros, with a copy at every member.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined. What cannot be is found by `quintet_isonet_join`.
 */
quintet_status quintet_isonet_add_variable(quintet_isonet *isonet, uint32_t variable, size_t bytes);

/**
 * Takes messages for the handler of this number. What comes for another one ends this member, as it would not be where the others are.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_add_handler(quintet_isonet *isonet,
                                          uint32_t handler);

/**
 * A member of which nothing is heard for so long is lost to the others: a second without this.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined, and for a time that is none.
 */
quintet_status quintet_isonet_set_silence_limit(quintet_isonet *isonet, uint32_t silence_ms);

/**
 * Joins: waits until all members are there and linked to each other. The program's interrupt check is not asked meanwhile.
 *
 * Fails with `QUINTET_BAD_VALUE` for members, variables or handlers that cannot be, or if the members do not say the same; `QUINTET_TIMED_OUT`, whose text names who did not
 * come; `QUINTET_PEER_DIED` if a member has ended meanwhile.
 */
quintet_status quintet_isonet_join(quintet_isonet *isonet,
                                   int64_t timeout_ms);

/**
 * Which member this process is, and how many there are. Either pointer may be NULL.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined.
 */
quintet_status quintet_isonet_member(quintet_isonet *isonet, uint16_t *member, uint16_t *members);

/**
 * Whether a member is in the present view: it has not ended, or has come back.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined, and for a member that there is not.
 */
quintet_status quintet_isonet_is_present(quintet_isonet *isonet, uint16_t member, bool *is_present);

/**
 * Takes the next message, in the one order, if one comes within `timeout_ms`. Its data are good until the next is taken, or the isonet is freed. A program that shares its state also
 * takes that of another one, and is asked for its own; one that wants news of views or values takes those.
 *
 * Fails with `QUINTET_TIMED_OUT`; `QUINTET_BUSY` while this program is to give its state; `QUINTET_CANCELLED` if the program's interrupt check ended the wait; `QUINTET_PEER_SILENT` if this member
 * has stopped; `QUINTET_TASK_FAILED` if the program took nothing for so long that this member has left; `QUINTET_NO_HANDLER` if a message came for a handler that this member has not; `QUINTET_CLOSED` once it was closed.
 */
quintet_status quintet_isonet_next(quintet_isonet *isonet,
                                   int64_t timeout_ms,
                                   quintet_isonet_message *message);

/**
 * A descriptor for the program's own event loop (poll, epoll): it is readable while `quintet_isonet_next` with a timeout of 0 gives something, or says why nothing comes any more, and not while the program is to
 * give its state. It is the isonet's, and good until that is freed; the program polls it, and neither reads nor closes it.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined, `QUINTET_RESOURCE` if the system refuses a descriptor.
 */
quintet_status quintet_isonet_descriptor(quintet_isonet *isonet,
                                         int *descriptor);

/**
 * Where what was taken last stands in the one order: a message of an isochron, a value; or a view, which is before all that is executed in it.
 *
 * Fails with `QUINTET_BAD_VALUE` for a plain message or a state, which have no place, and where nothing was taken so far.
 */
quintet_status quintet_isonet_place(quintet_isonet *isonet,
                                    quintet_place *place);

/**
 * Waits until all isochrons of this member are executed and all members close, and ends. It takes no more messages: what comes meanwhile is dropped. The program's interrupt
 * check is not asked.
 *
 * Fails with `QUINTET_PEER_SILENT` if this member has stopped, `QUINTET_NO_HANDLER`, `QUINTET_CLOSED` if it was closed before.
 */
quintet_status quintet_isonet_close(quintet_isonet *isonet);

/**
 * Ends at once, if it was not closed, and frees the isonet; the others are told that this member is gone. Isochrons are freed on their own, before. NULL is left alone.
 */
void quintet_isonet_free(quintet_isonet *isonet);

/**
 * Shares a variable of so many bytes, 1 to 4096, with copies at these members alone: one at least. Others read it from the copy with the lowest number. All members say the same.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined. What cannot be is found by `quintet_isonet_join`.
 */
quintet_status quintet_isonet_add_variable_at(quintet_isonet *isonet,
                                              uint32_t variable,
                                              size_t bytes,
                                              const uint16_t *members,
                                              size_t count);

/**
 * Takes plain messages for the plain handler of this number: their numbers have nothing to do with those of `quintet_isonet_add_handler`. What comes for another one ends this member.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_add_plain_handler(quintet_isonet *isonet,
                                                uint32_t handler);

/**
 * Isochrons get their place as soon as their parts have left, and not once all receivers have said that they have them: faster, and where the machine of a sender dies then, some of the
 * others may lack a part of what the rest has executed, and stop with `QUINTET_PEER_SILENT` when the next view begins. All members say this, or none.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_set_agreed(quintet_isonet *isonet);

/**
 * Where this member listens for the others (see `quintet_lab_connect` for addresses; port 0 is a free one). Without this: where its job says that it is reached, and else in shared memory.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no address, and once it has joined. That it cannot be listened there is found by `quintet_isonet_join`.
 */
quintet_status quintet_isonet_set_listen(quintet_isonet *isonet,
                                         const char *address);

/**
 * Has this member look, whenever something has come, whether what is always so of it is so: a defect of this library, or of the memory, ends it then, and whatever is asked of it next fails with
 * `QUINTET_MISMATCH`, whose text says what is not so. It looks at all that waits in it, so that it is slower the more that is.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_check_invariants(quintet_isonet *isonet);

/**
 * Has `quintet_isonet_next` tell of each view that begins after the first: `QUINTET_ISONET_VIEW`, between what was executed before it and what is executed in it.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_tell_views(quintet_isonet *isonet);

/**
 * Has `quintet_isonet_next` tell of each value that an isochron gives a variable with a copy here: `QUINTET_ISONET_VALUE`, among the messages and in the one order with them. They take room as messages do. A
 * value for a reserved place behind which another one was reserved or written is none: nobody finds it in the variable.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_tell_values(quintet_isonet *isonet);

/**
 * Gives variables, each once, the values that `update` computes from what they have; nobody sees or changes them in between: who reads them waits. `update` is called once, on this
 * thread, by this call alone. Two such updates never wait for each other in a circle. A member's own updates of a variable follow each other. If a view begins meanwhile, it is done in that one.
 *
 * With `QUINTET_OK` it has happened, or happens if this member goes on, unless `update` gave false. Otherwise the variables keep what they have: `QUINTET_TIMED_OUT` if they were not this member's to
 * change within `timeout_ms`, `QUINTET_CANCELLED` if the program's interrupt check ended the wait, `QUINTET_BUSY` if messages fill their room and nobody takes them; `QUINTET_BAD_VALUE` for no variable,
 * one twice or one that there is not; `QUINTET_PEER_DIED` if a variable had no value (see `quintet_no_value`), and all of them are zeros now; `QUINTET_PEER_SILENT` and its kin as `quintet_isochron_wait`.
 */
quintet_status quintet_isonet_update(quintet_isonet *isonet,
                                     const uint32_t *variables,
                                     size_t count,
                                     quintet_update update,
                                     void *argument,
                                     int64_t timeout_ms);

/**
 * Gives a variable a value if it has the expected one, both of `length` bytes; `has_swapped` says whether it had.
 *
 * Fails with `QUINTET_BAD_VALUE` if they are not of the variable's size, and else as `quintet_isonet_update`.
 */
quintet_status quintet_isonet_compare_and_swap(quintet_isonet *isonet,
                                               uint32_t variable,
                                               const void *expected,
                                               const void *value,
                                               size_t length,
                                               int64_t timeout_ms,
                                               bool *has_swapped);

/**
 * Sends a plain message, 64 KiB at most, to the plain handler of a member, this one as well, and waits until it has arrived: that program takes it with `quintet_isonet_next`, before or
 * behind whatever isochrons do. What one member sends another in plain messages comes in the order in which it was sent.
 *
 * Fails with `QUINTET_BAD_VALUE` for no such member, `QUINTET_TOO_LARGE`; `QUINTET_BUSY` if 256 plain messages of this member have not arrived, and it was not sent; `QUINTET_BUSY`, too, while messages fill their
 * room here and nobody takes them, `QUINTET_TIMED_OUT` or `QUINTET_CANCELLED`, and then it goes on; `QUINTET_PEER_DIED` if that member has ended, and it may have arrived; `QUINTET_PEER_SILENT` and its kin as
 * `quintet_isochron_wait`.
 */
quintet_status quintet_isonet_send_plain(quintet_isonet *isonet,
                                         uint16_t member,
                                         uint32_t handler,
                                         const void *data,
                                         size_t length,
                                         int64_t timeout_ms);

/**
 * Sends it, and does not wait: whether it arrives is not told.
 *
 * Fails with `QUINTET_BUSY` if it would have to wait, as 256 plain messages of this member have not arrived, and it was not sent: try again later; `QUINTET_BAD_VALUE` for no such member, `QUINTET_TOO_LARGE`, `QUINTET_PEER_SILENT` and its kin.
 */
quintet_status quintet_isonet_begin_plain(quintet_isonet *isonet,
                                          uint16_t member,
                                          uint32_t handler,
                                          const void *data,
                                          size_t length);

/**
 * The present view: its number, from 1, and the numbers of its members, ascending, which are lent until this is asked again or the isonet is freed. One thread at a time asks.
 * `number` may be NULL.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined.
 */
quintet_status quintet_isonet_view(quintet_isonet *isonet,
                                   uint32_t *number,
                                   const uint16_t **members,
                                   size_t *count);

/**
 * Who was lost with the view of this number, that `quintet_isonet_view` has given, or `quintet_isonet_place` of a `QUINTET_ISONET_VIEW`: members of the view before that are not in it,
 * or not as the process that they were then, ascending, and for what each. They are lent until the isonet is freed.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined, and for a view that this member has not seen.
 */
quintet_status quintet_isonet_lost(quintet_isonet *isonet,
                                   uint32_t view,
                                   const quintet_lost **lost,
                                   size_t *count);

/**
 * Who has come back with the view of this number, that `quintet_isonet_view` has given, or `quintet_isonet_place` of a `QUINTET_ISONET_VIEW`: members of it, ascending. They are lent until
 * the isonet is freed.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined, and for a view that this member has not seen.
 */
quintet_status quintet_isonet_back(quintet_isonet *isonet,
                                   uint32_t view,
                                   const uint16_t **members,
                                   size_t *count);

/**
 * Lets members that have ended come back: this member answers them. All members should say so.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_set_rejoinable(quintet_isonet *isonet);

/**
 * The program makes something of the messages that it takes, and gives it to who comes back: `quintet_isonet_next` asks for it and gives another one's, as `kind` of a message says. All
 * members say this, or none.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_share_state(quintet_isonet *isonet);

/**
 * Comes back in place of a member that has ended, and waits until it is in the next view. If state is shared, the first that `quintet_isonet_next` gives is that of another member's
 * program. The program's interrupt check is not asked meanwhile.
 *
 * Fails with `QUINTET_NO_HANDLER` if no member is there that lets others come back; `QUINTET_TIMED_OUT` if those who are there do not let it in, as they are too few or do not reach it;
 * `QUINTET_BAD_VALUE` if this process does not share what they do; else as `quintet_isonet_join`.
 */
quintet_status quintet_isonet_rejoin(quintet_isonet *isonet,
                                     int64_t timeout_ms);

/**
 * Gives the state of this program, 16 MiB at most, which is copied: after `QUINTET_ISONET_STATE_WANTED`, as all messages have made it that were taken before. Until then this member
 * executes nothing; one that does not give it within the silence limit is lost to the others, and one that closes instead ends with `QUINTET_CLOSED`.
 *
 * Fails with `QUINTET_TOO_LARGE`, and then a shorter one may be given; `QUINTET_BAD_VALUE` if it was not asked for.
 */
quintet_status quintet_isonet_give_state(quintet_isonet *isonet,
                                         const void *data,
                                         size_t length);

/**
 * What this member has counted since it has joined; once it has ended, until then: see `quintet_counters`.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined.
 */
quintet_status quintet_isonet_counters(quintet_isonet *isonet, quintet_counters *counters);

/**
 * How far apart the pulses were of which `quintet_counters` has the number, as a histogram: the classes that are not empty, the shorter ones first, which are lent until this is asked again or the isonet is
 * freed. One thread at a time asks.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined.
 */
quintet_status quintet_isonet_pulse_intervals(quintet_isonet *isonet,
                                              const quintet_interval_class **classes,
                                              size_t *count);

/**
 * How each other member of the view keeps up: whom this member waits for comes first, of several the one of which nothing was heard for longest. So one that stands still, or whose program takes nothing,
 * is named before it is lost. None once this member has ended. They are lent until this is asked again or the isonet is freed; one thread at a time asks.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined, `QUINTET_TIMED_OUT` while this member itself stands still, as its program takes nothing.
 */
quintet_status quintet_isonet_peers(quintet_isonet *isonet,
                                    const quintet_peer_counters **peers,
                                    size_t *count);

/**
 * Has this member keep all that it does, for `quintet_isonet_take_witness`.
 *
 * Fails with `QUINTET_BAD_VALUE` once it has joined.
 */
quintet_status quintet_isonet_keep_witness(quintet_isonet *isonet);

/**
 * What this member has done since this was asked last, and the views that it knows: a *witness*, bytes that can be kept, or sent to whoever checks them. All there is once the isonet is closed; nothing is
 * told of what was done unless `quintet_isonet_keep_witness` was called. To be freed with `quintet_buffer_free`.
 *
 * Fails with `QUINTET_BAD_VALUE` before it has joined.
 */
quintet_status quintet_isonet_take_witness(quintet_isonet *isonet,
                                           quintet_buffer **witness);

/**
 * Does again all that `count` members have done, by a witness of each: whether it was done in one order, each isochron at one time at all its receivers, first in first out, causal, and each read
 * gave what was written last. `gone` are the `gone_count` members that have ended before the others, whose witness may end early or be left out. `has_ended`: all isochrons of the others are executed, as they are
 * once all have closed. The buffers can only be read from then on.
 *
 * Fails with `QUINTET_MISMATCH`, whose text says what is not as it has to be; `QUINTET_BAD_VALUE` for no witness, or two of one member.
 */
quintet_status quintet_isonet_check_witnesses(quintet_buffer *const *witnesses,
                                              size_t count,
                                              const uint16_t *gone,
                                              size_t gone_count,
                                              bool has_ended);

/**
 * Begins to put one together. To be freed with `quintet_isochron_free`.
 *
 * Fails with `QUINTET_PEER_SILENT` if this member has stopped, `QUINTET_CLOSED` once the isonet was closed, `QUINTET_BAD_VALUE` before
 * it was joined.
 */
quintet_status quintet_isochron_new(quintet_isonet *isonet,
                                    quintet_isochron **isochron);

/**
 * Sends a message to a handler of a member, this one as well.
 *
 * Fails with `QUINTET_BAD_VALUE` for no such member, `QUINTET_PEER_DIED` for one that has ended, `QUINTET_TOO_LARGE` if the isochron would become too large. It goes on without
 * the message.
 */
quintet_status quintet_isochron_send(quintet_isochron *isochron,
                                     uint16_t member,
                                     uint32_t handler,
                                     const void *data,
                                     size_t length);

/**
 * Sends a message to a handler of each member of the present view, this one as well. If a member comes back before it is executed it is not, and fails with `QUINTET_PEER_DIED`: a message to
 * all is one to all.
 *
 * Fails with `QUINTET_TOO_LARGE` if the isochron would become too large. It goes on without any of these messages.
 */
quintet_status quintet_isochron_send_all(quintet_isochron *isochron,
                                         uint32_t handler,
                                         const void *data,
                                         size_t length);

/**
 * Reads a variable, behind what the isochron does before. `index` is which of its values that is (`quintet_isochron_value`); it may be NULL.
 *
 * Fails with `QUINTET_BAD_VALUE` for no such variable, `QUINTET_PEER_DIED` if all members that had a copy have ended, `QUINTET_TOO_LARGE`.
 */
quintet_status quintet_isochron_read(quintet_isochron *isochron,
                                     uint32_t variable,
                                     size_t *index);

/**
 * Gives a variable a value, of its size.
 *
 * Fails with `QUINTET_BAD_VALUE` for no such variable or another size, `QUINTET_PEER_DIED` if all members that had a copy have ended, `QUINTET_TOO_LARGE`.
 */
quintet_status quintet_isochron_write(quintet_isochron *isochron,
                                      uint32_t variable,
                                      const void *data,
                                      size_t length);

/**
 * Reserves the place of a write: who reads the variable behind it waits for the value, which `quintet_isochron_assign` gives later, in another isochron. A member has one reserved place of a
 * variable at a time.
 *
 * Fails as `quintet_isochron_read`. That a place is reserved already is found when it is executed.
 */
quintet_status quintet_isochron_schedule(quintet_isochron *isochron,
                                         uint32_t variable);

/**
 * Gives the value for the place that this member has reserved.
 *
 * Fails as `quintet_isochron_write`. That no place is reserved is found when it is executed.
 */
quintet_status quintet_isochron_assign(quintet_isochron *isochron,
                                       uint32_t variable,
                                       const void *data,
                                       size_t length);

/**
 * Begins it, and does not wait. Isochrons are executed in the order in which their member has begun them.
 *
 * Fails with `QUINTET_BUSY` if it would have to wait, and then it is what it was before, to be begun again later: 240 isochrons of this member wait (256 for one that gives more reserved places their values than it
 * reserves), or 1008 have begun from the first that waits on. Fails with `QUINTET_BAD_VALUE` if it is empty, or was begun before; `QUINTET_PEER_SILENT` and its kin.
 */
quintet_status quintet_isochron_begin(quintet_isochron *isochron);

/**
 * Waits until it is executed by all its receivers, `timeout_ms` at most; what it came to may be asked for again.
 *
 * Fails with `QUINTET_TIMED_OUT` or `QUINTET_CANCELLED`, and then it goes on; `QUINTET_BUSY` while messages
 * fill their room and nobody takes them: take some (`quintet_isonet_next`) and wait again, it goes on; `QUINTET_BAD_VALUE` if it reserves a place twice, gives a value for none or was not
 * begun; `QUINTET_PEER_DIED` if a member has ended and none of those that are left has executed it: begin another one; `QUINTET_PEER_SILENT` if this member has
 * stopped, and it may have been executed.
 */
quintet_status quintet_isochron_wait(quintet_isochron *isochron,
                                     int64_t timeout_ms);

/**
 * Lends the value of a read, by its index from 0, until the isochron is freed: of an isochron that was waited for. It is NULL if there is none: `quintet_isochron_no_value` says why.
 *
 * Fails with `QUINTET_BAD_VALUE` before it was executed, and for no such index.
 */
quintet_status quintet_isochron_value(quintet_isochron *isochron,
                                      size_t index,
                                      const void **data,
                                      size_t *length);

/**
 * Says why a read of an isochron that was waited for has no value, by its index from 0: `QUINTET_HAS_VALUE` if it has one.
 *
 * Fails with `QUINTET_BAD_VALUE` before it was executed, and for no such index.
 */
quintet_status quintet_isochron_no_value(quintet_isochron *isochron,
                                         size_t index,
                                         quintet_no_value *why);

/**
 * Where an isochron that was waited for stands in the one order.
 *
 * Fails with `QUINTET_BAD_VALUE` before it was executed.
 */
quintet_status quintet_isochron_place(quintet_isochron *isochron, quintet_place *place);

/**
 * Frees it. NULL is left alone.
 */
void quintet_isochron_free(quintet_isochron *isochron);

/**
 * Serves a space at `address` (see `quintet_lab_connect`; port 0 is a free one). It holds `max_bytes` bytes of tuples at most and
 * `max_tuples` tuples; 0 for the default, 1 GiB and 16777216. The number of its cluster comes from the environment, as for those who
 * connect.
 *
 * Fails with `QUINTET_BAD_VALUE` for what is no address, `QUINTET_ADDRESS_IN_USE` if another process listens there, `QUINTET_NOT_ALLOWED`,
 * `QUINTET_BAD_FILE` or `QUINTET_RESOURCE`.
 */
quintet_status quintet_server_start(const char *address,
                                    uint64_t max_bytes,
                                    uint64_t max_tuples,
                                    quintet_server **server);

/**
 * As `quintet_server_start`, with all settings that a server has. NULL for `address` is the place of this server among its replicas or peers. Returns once the log, if it has one, is read.
 *
 * Fails as `quintet_server_start`; with `QUINTET_BAD_VALUE` for what does not go together, as a log and several managers; with `QUINTET_BAD_FILE` for a log that is damaged, of another version or of another cluster, which is left
 * as it is, and with `QUINTET_ADDRESS_IN_USE` for one that another process keeps.
 */
quintet_status quintet_server_start_with(const char *address,
                                         const quintet_server_settings *settings,
                                         quintet_server **server);

/**
 * Where it serves, as others may name it. It is good until the server is freed.
 */
quintet_status quintet_server_address(quintet_server *server, const char **address);

/**
 * Ends it, and its tuples with it unless it keeps a log. A second call does nothing, nor one in a child of fork(2).
 *
 * Fails with `QUINTET_RESOURCE` if the system refused to wait for links while it ran, or the disk of its log had failed.
 */
quintet_status quintet_server_stop(quintet_server *server);

/**
 * Stops it and frees it. NULL is left alone.
 */
void quintet_server_free(quintet_server *server);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QUINTET_H */
