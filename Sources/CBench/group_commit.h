#pragma once
// Groups of requests, and the thread that commits them to SQLite one after the other.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Frames of one connection that are to be answered.
typedef struct debt {
    uint32_t connection;
    uint32_t frames;
} debt;

typedef struct group {
    uint8_t *bytes;
    size_t byte_count, byte_capacity;
    // Where the bytes of each row end; none if the group is one row.
    size_t *ends;
    size_t end_count, end_capacity;
    debt *debts;
    size_t debt_count, debt_capacity;
    // Frames among them that all other connections get.
    uint32_t changes;
} group;

group *group_make(void);
void group_clear(group *group);
void group_add_bytes(group *group, const uint8_t *bytes, size_t count);
void group_end_row(group *group, size_t end);
void group_add_debt(group *group, uint32_t connection, uint32_t frames);

typedef struct committer committer;

// Write-ahead log, synchronous=FULL, as large steps between checkpoints as the server's; NULL if the file cannot be made.
committer *committer_start(const char *path);
// Readable when a group was committed.
int committer_descriptor(committer *committer);
bool committer_is_busy(const committer *committer);
void committer_commit(committer *committer, group *group);
group *committer_finished(committer *committer);
// An empty group, while another one is under way.
group *committer_take_spare(committer *committer);
void committer_give_spare(committer *committer, group *group);
