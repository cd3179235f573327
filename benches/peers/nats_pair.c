/* Peer: a work queue of NATS JetStream used as a tuple space: a publication puts a message, a consumer takes it and acknowledges it.
 *
 * Three servers on this machine, which keep the queue and each consumer three times and sync what they write, below TMPDIR, or /tmp. Each client
 * has a thread, a connection to the server that leads the queue, a subject and a consumer of its own: nobody meets anybody. A publication is
 * acknowledged by the stream, and so is the acknowledgement by the consumer: both when a majority has them. No processor is chosen for anybody. */
#define _GNU_SOURCE
#include "crowd.h"
#include "nats_cluster.h"

#define PEER "nats-jetstream-3"
#define STREAM "pairs"

enum { SERVERS = 3, SMALL_BYTES = 64, CLIENT_WAITS_S = 20 };

static const char value[SMALL_BYTES] = "0123456789012345678901234567890123456789012345678901234567890";

struct client {
    struct nats nats;
    char put[32], take[64]; /* subjects */
};

/* Its consumer hands out what has its subject, and forgets it when that is acknowledged. */
static void prepare_client(struct client *client, int port, long index)
{
    char inbox[32], subject[LINE_BYTES], request[LINE_BYTES];
    snprintf(inbox, sizeof inbox, "answers.%ld", index);
    if (!begin_nats(&client->nats, port, inbox, true))
        fail_system("connect to nats-server");
    limit_waiting(&client->nats, CLIENT_WAITS_S);
    snprintf(client->put, sizeof client->put, STREAM ".%ld", index);
    snprintf(client->take, sizeof client->take, "$JS.API.CONSUMER.MSG.NEXT." STREAM ".c%ld", index);
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.DURABLE.CREATE." STREAM ".c%ld", index);
    snprintf(request, sizeof request,
             "{\"stream_name\":\"" STREAM "\",\"config\":{\"durable_name\":\"c%ld\",\"ack_policy\":\"explicit\",\"filter_subject\":\"%s\","
             "\"num_replicas\":%d}}",
             index, client->put, SERVERS);
    ask(&client->nats, subject, request);
}

static void put(struct client *client)
{
    publish(&client->nats, client->put, value, SMALL_BYTES);
    struct nats_message message = next_message(&client->nats);
    require_success(&client->nats, &message);
}

static void take(struct client *client)
{
    struct nats_message message = answer_to(&client->nats, client->take, "1");
    if (message.bytes != SMALL_BYTES || memcmp(message.payload, value, SMALL_BYTES) != 0)
        fail_nats("what was taken is not what was put");
    /* It is answered when the message is taken for good. */
    message = answer_to(&client->nats, client->nats.reply, "+ACK");
    if (message.bytes != 0)
        fail_nats("an acknowledgement was refused");
}

static void exchange(void *argument)
{
    struct client *client = argument;
    put(client);
    take(client);
}

/* The port of the server that leads it. */
static int make_queue(const struct nats_cluster *cluster)
{
    char request[LINE_BYTES];
    snprintf(request, sizeof request,
             "{\"name\":\"" STREAM "\",\"subjects\":[\"" STREAM ".*\"],\"retention\":\"workqueue\",\"storage\":\"file\","
             "\"num_replicas\":%d}",
             SERVERS);
    return make_stream(cluster, STREAM, request);
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    struct nats_cluster cluster = {.count = SERVERS};
    static struct client clients[CROWD];
    make_folder_on_disk(cluster.folder);
    start_cluster(&cluster);
    int leader = make_queue(&cluster);
    for (long index = 0; index < CROWD; index++)
        prepare_client(&clients[index], leader, index);
    report_one_and_crowd(PEER, "replicated", "pairs/s", exchange, clients, sizeof *clients, &options);
    stop_cluster(&cluster);
    return 0;
}
