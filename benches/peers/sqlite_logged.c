/* Peer: a table of SQLite used as a queue, each change in its log on the disk before it is acknowledged (WAL, synchronous=FULL).
 *
 * A pair is an INSERT and a DELETE of the oldest row that returns it, each a transaction of its own by a prepared statement. Each client is a
 * thread with a connection of its own. They take turns at writing by a mutex of this program: SQLite has one writer at a time, and its own busy
 * handler sleeps between tries (that was not measured). No processor is chosen for them. The database lies below TMPDIR, or /tmp. */
#define _GNU_SOURCE
#include <sqlite3.h>

#include "crowd.h"
#include "folder.h"

#define PEER "sqlite-full"

enum { SMALL_BYTES = 64 };

static const char value[SMALL_BYTES];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* A connection, and what it does. */
struct client {
    sqlite3 *database;
    sqlite3_stmt *put;
    sqlite3_stmt *take;
};

__attribute__((noreturn)) static void fail_sqlite(sqlite3 *database, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
    exit(EXIT_BROKEN);
}

static void execute(sqlite3 *database, const char *text)
{
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_sqlite(database, text);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *text)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(database, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        fail_sqlite(database, text);
    return statement;
}

static struct client open_client(const char *path)
{
    struct client client = {0};
    if (sqlite3_open(path, &client.database) != SQLITE_OK)
        fail_sqlite(client.database, path);
    execute(client.database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                             "CREATE TABLE IF NOT EXISTS pair(id INTEGER PRIMARY KEY, value BLOB NOT NULL)");
    client.put = prepare(client.database, "INSERT INTO pair(value) VALUES(?)");
    client.take = prepare(client.database, "DELETE FROM pair WHERE id = (SELECT min(id) FROM pair) RETURNING value");
    return client;
}

static void close_client(struct client *client)
{
    sqlite3_finalize(client->put);
    sqlite3_finalize(client->take);
    sqlite3_close(client->database);
}

static void put(struct client *client)
{
    sqlite3_bind_blob(client->put, 1, value, SMALL_BYTES, SQLITE_STATIC);
    if (sqlite3_step(client->put) != SQLITE_DONE || sqlite3_reset(client->put) != SQLITE_OK)
        fail_sqlite(client->database, "put");
}

static void take(struct client *client)
{
    if (sqlite3_step(client->take) != SQLITE_ROW || sqlite3_column_bytes(client->take, 0) != SMALL_BYTES ||
        sqlite3_step(client->take) != SQLITE_DONE || sqlite3_reset(client->take) != SQLITE_OK)
        fail_sqlite(client->database, "take");
}

static void exchange(void *argument)
{
    struct client *client = argument;
    void (*const halves[])(struct client *) = {put, take};
    for (size_t half = 0; half < 2; half++) {
        pthread_mutex_lock(&turn);
        halves[half](client);
        pthread_mutex_unlock(&turn);
    }
}

int main(int count, char **arguments)
{
    const struct extra_option extra[] = {{.name = NULL}};
    struct peer_options options = parse_options(count, arguments, extra);
    char folder[PATH_BYTES], path[PATH_BYTES + 16];
    make_folder_on_disk(folder);
    snprintf(path, sizeof path, "%s/pairs.db", folder);
    struct client clients[CROWD];
    for (size_t index = 0; index < CROWD; index++)
        clients[index] = open_client(path);
    report_one_and_crowd(PEER, "logged", "pairs/s", exchange, clients, sizeof *clients, &options);
    for (size_t index = 0; index < CROWD; index++)
        close_client(&clients[index]);
    remove_folder(folder);
    return 0;
}
