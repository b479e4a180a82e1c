#ifndef CFAULTS_H
#define CFAULTS_H

#include <stddef.h>
#include <stdint.h>

/// System calls on files whose paths begin with this are shown to the observer.
#define FAULTS_PREFIX "/tmp/hearth-disk-"

enum faults_call {
    FAULTS_OPEN,        // count: the flags
    FAULTS_READ,
    FAULTS_WRITE,       // bytes, count, offset
    FAULTS_TRUNCATE,    // count: the new length
    FAULTS_SYNC,
    FAULTS_RENAME,      // other: the new path
    FAULTS_REMOVE,      // a file or a folder
    FAULTS_MAKE_FOLDER
};

/// Called before a system call, on its thread. Another answer than 0 is the error number with which it fails.
typedef int (*faults_before)(enum faults_call call, const char *path);

/// Called after one that succeeded. `isNew`: an open has made the file.
typedef void (*faults_after)(
    enum faults_call call, const char *path, const char *other, const void *bytes, size_t count, int64_t offset,
    int isNew);

/// Sets the observer of the whole process, for good.
void faults_observe(faults_before before, faults_after after);

/// Cuts the power of a mounted ext4: what it has not written to its device yet is lost, and nothing is written any more.
/// Answers 0 or an error number.
int faults_cut_power(const char *path);

/// Finds the socket at the calling end of a TCP connection on 127.0.0.1, by the ports of both ends. Answers its inode, 0
/// if there is none any more, or the negative of an error number.
int64_t faults_calling_socket(uint16_t caller, uint16_t called);

/// Lets the clock of the time of day differ by so many seconds, for the calling thread.
void faults_set_clock(int64_t seconds);

/// Look-ups of names with this end do not return before `faults_end_lookups`, and then find nothing.
#define FAULTS_HANGING ".hanging.test"

/// How many of them are under way.
int faults_lookup_count(void);
void faults_end_lookups(void);

#endif
