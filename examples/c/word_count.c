/* Counts the words of a folder's files: a tuple for each file, workers that lease them, a tuple for each result.
 *
 *     cc word_count.c $(pkg-config --cflags --libs quintet) -o word_count
 *     quintet run -n 4 ./word_count [FOLDER]     # workers are processes
 *     ./word_count [FOLDER]                      # workers are threads of this process
 *
 * Afterwards the counts are compared with those of a serial run. */

#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <quintet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { THREADS = 4, SHOWN = 10 };

/* A word and how often it was seen. */
struct entry {
    char *word;
    int64_t count;
};

/* Words; merged, each stands there once, in the order of the alphabet. */
struct table {
    struct entry *entries;
    size_t length, room;
};

static void must(quintet_status status, const char *doing) {
    if (status != QUINTET_OK) {
        fprintf(stderr, "%s: %s\n", doing, quintet_error_message());
        exit(quintet_status_exit(status));
    }
}

static void *enough(void *memory) {
    if (memory == NULL) {
        perror("word_count");
        exit(71);
    }
    return memory;
}

static void add(struct table *table, const char *word, size_t length, int64_t count) {
    if (table->length == table->room) {
        table->room = table->room ? 2 * table->room : 1024;
        table->entries = enough(realloc(table->entries, table->room * sizeof *table->entries));
    }
    table->entries[table->length++] = (struct entry){enough(strndup(word, length)), count};
}

static int by_word(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->word, ((const struct entry *)b)->word);
}

static int by_count(const void *a, const void *b) {
    int64_t first = ((const struct entry *)a)->count, second = ((const struct entry *)b)->count;
    return first != second ? (first < second) - (first > second) : by_word(a, b);
}

static void merge(struct table *table) {
    size_t kept = 0;
    if (table->length > 0) qsort(table->entries, table->length, sizeof *table->entries, by_word);
    for (size_t i = 0; i < table->length; i++) {
        if (kept > 0 && strcmp(table->entries[kept - 1].word, table->entries[i].word) == 0) {
            table->entries[kept - 1].count += table->entries[i].count;
            free(table->entries[i].word);
        } else {
            table->entries[kept++] = table->entries[i];
        }
    }
    table->length = kept;
}

static void release(struct table *table) {
    for (size_t i = 0; i < table->length; i++) free(table->entries[i].word);
    free(table->entries);
}

/* Adds the words of a file: runs of letters of the alphabet, in lower case. */
static void count_file(struct table *table, const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    char word[256];
    size_t length = 0;
    int next;
    do {
        next = fgetc(file);
        if (next != EOF && next < 128 && isalpha(next) && length < sizeof word) {
            word[length++] = (char)tolower(next);
        } else if (length > 0) {
            add(table, word, length, 1);
            length = 0;
        }
    } while (next != EOF);
    fclose(file);
    merge(table);
}

/* The result of a file: ("counts", words, one a line, and their counts beside them). */
static quintet_tuple *result_of(const struct table *table) {
    quintet_tuple *result;
    size_t length = 0;
    for (size_t i = 0; i < table->length; i++) length += strlen(table->entries[i].word) + 1;
    char *words = enough(malloc(length + 1)), *end = words;
    int64_t *counts = enough(malloc((table->length + 1) * sizeof *counts));
    for (size_t i = 0; i < table->length; i++) {
        end = stpcpy(stpcpy(end, table->entries[i].word), "\n");
        counts[i] = table->entries[i].count;
    }
    must(quintet_tuple_new(&result), "make a result");
    quintet_tuple_add_string(result, "counts", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_string(result, words, length);
    quintet_tuple_add_array(result, QUINTET_TYPE_INT64, 1, (uint64_t[]){table->length}, counts);
    free(words);
    free(counts);
    return result;
}

static void add_result(struct table *table, const quintet_tuple *result) {
    const char *words;
    quintet_array counts;
    must(quintet_tuple_get_string(result, 1, &words, NULL), "read the words");
    must(quintet_tuple_get_array(result, 2, &counts), "read the counts");
    for (uint64_t i = 0; i < counts.shape[0]; i++) {
        size_t length = strcspn(words, "\n");
        add(table, words, length, ((const int64_t *)counts.data)[i]);
        words += length + 1;
    }
}

/* ("file", path); the empty path says that there are no more. */
static void put_file(quintet_space *space, const char *path) {
    quintet_tuple *task;
    must(quintet_tuple_new(&task), "make a task");
    quintet_tuple_add_string(task, "file", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_string(task, path, QUINTET_NUL_TERMINATED);
    must(quintet_space_out(space, task, QUINTET_FOREVER), "put a task");
    quintet_tuple_free(task);
}

/* A worker: takes a file at a time. Should it die meanwhile, another worker takes that file. */
static void *work(void *argument) {
    quintet_space *space = argument;
    quintet_tuple *any_file;
    must(quintet_tuple_new(&any_file), "make a template");
    quintet_tuple_add_string(any_file, "file", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(any_file, QUINTET_TYPE_STRING);
    for (bool is_last = false; !is_last;) {
        quintet_lease *lease;
        const quintet_tuple *task;
        const char *path;
        must(quintet_space_lease(space, any_file, QUINTET_FOREVER, &lease), "lease a task");
        must(quintet_lease_tuple(lease, &task), "read a task");
        must(quintet_tuple_get_string(task, 1, &path, NULL), "read a path");
        is_last = *path == '\0';
        if (is_last) {
            must(quintet_lease_acknowledge(lease, NULL, 0), "acknowledge");
        } else {
            struct table table = {0};
            count_file(&table, path);
            quintet_tuple *result = result_of(&table);
            /* The task goes and its result comes at one instant. */
            must(quintet_lease_acknowledge(lease, (const quintet_tuple *[]){result}, 1), "put a result");
            quintet_tuple_free(result);
            release(&table);
        }
        quintet_lease_free(lease);
    }
    quintet_tuple_free(any_file);
    return NULL;
}

/* The regular files of a folder, links left out. */
static struct table files_of(const char *folder) {
    struct table files = {0};
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        perror(folder);
        exit(1);
    }
    for (struct dirent *next; (next = readdir(directory)) != NULL;) {
        char *path;
        struct stat found;
        if (asprintf(&path, "%s/%s", folder, next->d_name) < 0) enough(NULL);
        if (lstat(path, &found) == 0 && S_ISREG(found.st_mode)) add(&files, path, strlen(path), 1);
        free(path);
    }
    closedir(directory);
    merge(&files);
    return files;
}

/* The master: tasks go out, counts come back. Then every worker is told to stop. */
static struct table count_words(quintet_space *space, const struct table *files, uint32_t workers) {
    struct table total = {0};
    quintet_tuple *any_result;
    must(quintet_tuple_new(&any_result), "make a template");
    quintet_tuple_add_string(any_result, "counts", QUINTET_NUL_TERMINATED);
    quintet_tuple_add_formal(any_result, QUINTET_TYPE_STRING);
    quintet_tuple_add_formal_array(any_result, QUINTET_TYPE_INT64, 1, NULL);
    for (size_t i = 0; i < files->length; i++) put_file(space, files->entries[i].word);
    for (size_t i = 0; i < files->length; i++) {
        quintet_tuple *result;
        must(quintet_space_take(space, any_result, QUINTET_FOREVER, &result), "take a result");
        add_result(&total, result);
        quintet_tuple_free(result);
    }
    for (uint32_t i = 0; i < workers; i++) put_file(space, "");
    quintet_tuple_free(any_result);
    merge(&total);
    return total;
}

/* Whether the counts are those of a serial run. */
static bool is_right(const struct table *total, const struct table *files) {
    struct table serial = {0};
    for (size_t i = 0; i < files->length; i++) count_file(&serial, files->entries[i].word);
    bool same = total->length > 0 && total->length == serial.length;
    for (size_t i = 0; same && i < total->length; i++) {
        same = by_word(&total->entries[i], &serial.entries[i]) == 0 && total->entries[i].count == serial.entries[i].count;
    }
    release(&serial);
    return same;
}

int main(int count, char **arguments) {
    int64_t rank;
    uint32_t workers;
    quintet_lab *lab;
    quintet_space *space;
    must(quintet_job_rank(&rank), "learn the rank");
    must(quintet_job_workers(&workers), "learn the number of workers");
    must(quintet_lab_connect(NULL, &lab), "connect");
    must(quintet_lab_space(lab, &space), "find the space");
    if (rank >= 0) {
        work(space);
        quintet_lab_free(lab);
        return 0;
    }
    pthread_t threads[THREADS];
    uint32_t started = workers > 0 ? 0 : THREADS;
    for (uint32_t i = 0; i < started; i++) pthread_create(&threads[i], NULL, work, space);
    struct table files = files_of(count > 1 ? arguments[1] : "/usr/share/common-licenses");
    struct table total = count_words(space, &files, workers + started);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    quintet_lab_free(lab);
    bool right = is_right(&total, &files);
    size_t different = total.length;
    if (different > 0) qsort(total.entries, different, sizeof *total.entries, by_count);
    for (size_t i = 0; i < SHOWN && i < different; i++) {
        printf("%8lld %s\n", (long long)total.entries[i].count, total.entries[i].word);
    }
    release(&total);
    release(&files);
    if (right) {
        printf("main job: ok, %zu different words, the same counts as a serial run\n", different);
    } else {
        printf("main job: FAILED, other counts than a serial run, or no words\n");
    }
    return right ? 0 : 1;
}
