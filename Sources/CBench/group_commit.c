#include "group_commit.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// groups

group *group_make(void) { return calloc(1, sizeof(group)); }

void group_clear(group *group) {
    group->byte_count = 0;
    group->end_count = 0;
    group->debt_count = 0;
    group->changes = 0;
}

void group_add_bytes(group *group, const uint8_t *bytes, size_t count) {
    if (group->byte_count + count > group->byte_capacity) {
        group->byte_capacity = (group->byte_count + count) * 2;
        group->bytes = realloc(group->bytes, group->byte_capacity);
    }
    memcpy(group->bytes + group->byte_count, bytes, count);
    group->byte_count += count;
}

void group_end_row(group *group, size_t end) {
    if (group->end_count == group->end_capacity) {
        group->end_capacity = group->end_capacity == 0 ? 1024 : group->end_capacity * 2;
        group->ends = realloc(group->ends, group->end_capacity * sizeof *group->ends);
    }
    group->ends[group->end_count++] = end;
}

void group_add_debt(group *group, uint32_t connection, uint32_t frames) {
    if (group->debt_count == group->debt_capacity) {
        group->debt_capacity = group->debt_capacity == 0 ? 64 : group->debt_capacity * 2;
        group->debts = realloc(group->debts, group->debt_capacity * sizeof(debt));
    }
    group->debts[group->debt_count++] = (debt){.connection = connection, .frames = frames};
}

// the thread

struct committer {
    sqlite3 *database;
    sqlite3_stmt *begin, *insert, *commit;
    int done;               // an event descriptor
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    group *job;             // under the mutex
    group *under_way;       // the event thread's: what was handed over and did not come back
    group *spare;           // the event thread's
};

static void require(int result, const char *what, sqlite3 *database) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    fprintf(stderr, "floor: %s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void step(committer *committer, sqlite3_stmt *statement) {
    require(sqlite3_step(statement), "commit", committer->database);
    sqlite3_reset(statement);
}

static void insert(committer *committer, const uint8_t *bytes, size_t count) {
    sqlite3_bind_blob(committer->insert, 1, bytes, (int)count, SQLITE_STATIC);
    step(committer, committer->insert);
}

static void *run(void *argument) {
    committer *committer = argument;
    for (;;) {
        pthread_mutex_lock(&committer->mutex);
        while (committer->job == NULL) pthread_cond_wait(&committer->filled, &committer->mutex);
        group *job = committer->job;
        committer->job = NULL;
        pthread_mutex_unlock(&committer->mutex);

        step(committer, committer->begin);
        size_t start = 0;
        for (size_t row = 0; row < job->end_count; start = job->ends[row++]) {
            insert(committer, job->bytes + start, job->ends[row] - start);
        }
        // Without ends of rows, all of it.
        if (start < job->byte_count) insert(committer, job->bytes + start, job->byte_count - start);
        step(committer, committer->commit);
        uint64_t one = 1;
        if (write(committer->done, &one, sizeof one) < 0) exit(1);
    }
    return NULL;
}

committer *committer_start(const char *path) {
    committer *committer = calloc(1, sizeof *committer);
    if (sqlite3_open(path, &committer->database) != SQLITE_OK) return NULL;
    sqlite3 *database = committer->database;
    const char *setup =
        "PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA wal_autocheckpoint = 4096;"
        "CREATE TABLE log (first INTEGER PRIMARY KEY, body BLOB NOT NULL)";
    if (sqlite3_exec(database, setup, NULL, NULL, NULL) != SQLITE_OK) return NULL;
    require(sqlite3_prepare_v2(database, "BEGIN", -1, &committer->begin, NULL), "prepare", database);
    require(sqlite3_prepare_v2(database, "COMMIT", -1, &committer->commit, NULL), "prepare", database);
    const char *insert = "INSERT INTO log (body) VALUES (?)";
    require(sqlite3_prepare_v2(database, insert, -1, &committer->insert, NULL), "prepare", database);
    committer->done = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    committer->spare = group_make();
    pthread_mutex_init(&committer->mutex, NULL);
    pthread_cond_init(&committer->filled, NULL);
    return pthread_create(&committer->thread, NULL, run, committer) == 0 ? committer : NULL;
}

int committer_descriptor(committer *committer) { return committer->done; }

bool committer_is_busy(const committer *committer) { return committer->under_way != NULL; }

void committer_commit(committer *committer, group *group) {
    committer->under_way = group;
    pthread_mutex_lock(&committer->mutex);
    committer->job = group;
    pthread_cond_signal(&committer->filled);
    pthread_mutex_unlock(&committer->mutex);
}

group *committer_finished(committer *committer) {
    uint64_t count;
    if (read(committer->done, &count, sizeof count) < 0) return NULL;
    group *finished = committer->under_way;
    committer->under_way = NULL;
    return finished;
}

group *committer_take_spare(committer *committer) {
    group *spare = committer->spare;
    committer->spare = NULL;
    return spare != NULL ? spare : group_make();
}

void committer_give_spare(committer *committer, group *group) { committer->spare = group; }
