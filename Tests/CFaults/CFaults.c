// Overrides functions of the C library in the program that runs the tests: calls of this program, of SQLite and of
// Swift's own libraries come here first. The code under test is unchanged.

#include "CFaults.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#undef open
#undef open64
#undef pread
#undef pread64
#undef pwrite
#undef pwrite64
#undef ftruncate
#undef ftruncate64

#define DESCRIPTORS 65536

static _Atomic(faults_before) before_call;
static _Atomic(faults_after) after_call;
// The paths of open files that are watched.
static _Atomic(char *) paths[DESCRIPTORS];

#define REAL(name, type)                                              \
    static _Atomic(type) real_;                                       \
    type real = atomic_load_explicit(&real_, memory_order_relaxed);   \
    if (real == NULL) {                                               \
        real = (type)dlsym(RTLD_NEXT, #name);                         \
        atomic_store_explicit(&real_, real, memory_order_relaxed);    \
    }

void faults_observe(faults_before before, faults_after after) {
    atomic_store(&after_call, after);
    atomic_store(&before_call, before);
}

static int is_watched(const char *path) {
    if (path == NULL || atomic_load_explicit(&before_call, memory_order_relaxed) == NULL) return 0;
    if (strncmp(path, FAULTS_PREFIX, strlen(FAULTS_PREFIX)) != 0) return 0;
    // Shared memory is only a cache, and SQLite holds a lock of the whole process while it makes or removes it.
    size_t length = strlen(path);
    return length < 4 || strcmp(path + length - 4, "-shm") != 0;
}

static const char *path_of(int descriptor) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return NULL;
    return atomic_load_explicit(&paths[descriptor], memory_order_relaxed);
}

// 0, or -1 with errno set.
static int begin(enum faults_call call, const char *path) {
    int code = atomic_load(&before_call)(call, path);
    if (code == 0) return 0;
    errno = code;
    return -1;
}

static void end(
    enum faults_call call, const char *path, const char *other, const void *bytes, size_t count, int64_t offset,
    int isNew
) {
    int code = errno;
    atomic_load(&after_call)(call, path, other, bytes, count, offset, isNew);
    errno = code;
}

// MARK: Files

typedef int (*open_call)(const char *, int, ...);

static int opened(open_call real, const char *path, int flags, mode_t mode) {
    if (!is_watched(path)) return real(path, flags, mode);
    if (begin(FAULTS_OPEN, path) != 0) return -1;
    struct stat status;
    int isNew = (flags & O_CREAT) != 0 && stat(path, &status) != 0;
    int descriptor = real(path, flags, mode);
    if (descriptor < 0) return descriptor;
    if (descriptor < DESCRIPTORS) atomic_store(&paths[descriptor], strdup(path));
    end(FAULTS_OPEN, path, NULL, NULL, (size_t)flags, 0, isNew);
    return descriptor;
}

#define MODE(flags)                          \
    mode_t mode = 0;                         \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list arguments;                   \
        va_start(arguments, flags);          \
        mode = va_arg(arguments, mode_t);    \
        va_end(arguments);                   \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    REAL(open, open_call)
    return opened(real, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    REAL(open64, open_call)
    return opened(real, path, flags, mode);
}

int close(int descriptor) {
    typedef int (*call)(int);
    REAL(close, call)
    if (descriptor >= 0 && descriptor < DESCRIPTORS && path_of(descriptor) != NULL) {
        free(atomic_exchange(&paths[descriptor], NULL));
    }
    return real(descriptor);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    typedef ssize_t (*call)(int, void *, size_t);
    REAL(read, call)
    const char *path = path_of(descriptor);
    if (path != NULL && begin(FAULTS_READ, path) != 0) return -1;
    return real(descriptor, bytes, count);
}

#define PREAD(name, offset_type)                                                       \
    ssize_t name(int descriptor, void *bytes, size_t count, offset_type offset) {      \
        typedef ssize_t (*call)(int, void *, size_t, offset_type);                     \
        REAL(name, call)                                                               \
        const char *path = path_of(descriptor);                                        \
        if (path != NULL && begin(FAULTS_READ, path) != 0) return -1;                  \
        return real(descriptor, bytes, count, offset);                                 \
    }

PREAD(pread, off_t)
PREAD(pread64, off64_t)

ssize_t write(int descriptor, const void *bytes, size_t count) {
    typedef ssize_t (*call)(int, const void *, size_t);
    REAL(write, call)
    const char *path = path_of(descriptor);
    if (path == NULL) return real(descriptor, bytes, count);
    if (begin(FAULTS_WRITE, path) != 0) return -1;
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    ssize_t written = real(descriptor, bytes, count);
    if (written > 0) end(FAULTS_WRITE, path, NULL, bytes, (size_t)written, offset, 0);
    return written;
}

#define PWRITE(name, offset_type)                                                        \
    ssize_t name(int descriptor, const void *bytes, size_t count, offset_type offset) {  \
        typedef ssize_t (*call)(int, const void *, size_t, offset_type);                 \
        REAL(name, call)                                                                 \
        const char *path = path_of(descriptor);                                          \
        if (path == NULL) return real(descriptor, bytes, count, offset);                 \
        if (begin(FAULTS_WRITE, path) != 0) return -1;                                   \
        ssize_t written = real(descriptor, bytes, count, offset);                        \
        if (written > 0) end(FAULTS_WRITE, path, NULL, bytes, (size_t)written, offset, 0); \
        return written;                                                                  \
    }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, length_type)                                              \
    int name(int descriptor, length_type length) {                                \
        typedef int (*call)(int, length_type);                                    \
        REAL(name, call)                                                          \
        const char *path = path_of(descriptor);                                   \
        if (path == NULL) return real(descriptor, length);                        \
        if (begin(FAULTS_TRUNCATE, path) != 0) return -1;                         \
        int result = real(descriptor, length);                                    \
        if (result == 0) end(FAULTS_TRUNCATE, path, NULL, NULL, (size_t)length, 0, 0); \
        return result;                                                            \
    }

FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

// The real sync costs time and proves nothing: the observer knows what is durable.
#define FSYNC(name)                                       \
    int name(int descriptor) {                            \
        typedef int (*call)(int);                         \
        REAL(name, call)                                  \
        const char *path = path_of(descriptor);           \
        if (path == NULL) return real(descriptor);        \
        if (begin(FAULTS_SYNC, path) != 0) return -1;     \
        end(FAULTS_SYNC, path, NULL, NULL, 0, 0, 0);      \
        return 0;                                         \
    }

FSYNC(fsync)
FSYNC(fdatasync)

// MARK: Names

int rename(const char *path, const char *other) {
    typedef int (*call)(const char *, const char *);
    REAL(rename, call)
    if (!is_watched(path)) return real(path, other);
    if (begin(FAULTS_RENAME, path) != 0) return -1;
    int result = real(path, other);
    if (result == 0) end(FAULTS_RENAME, path, other, NULL, 0, 0, 0);
    return result;
}

#define REMOVE(name)                                              \
    int name(const char *path) {                                  \
        typedef int (*call)(const char *);                        \
        REAL(name, call)                                          \
        if (!is_watched(path)) return real(path);                 \
        if (begin(FAULTS_REMOVE, path) != 0) return -1;           \
        int result = real(path);                                  \
        if (result == 0) end(FAULTS_REMOVE, path, NULL, NULL, 0, 0, 0); \
        return result;                                            \
    }

REMOVE(unlink)
REMOVE(rmdir)

int mkdir(const char *path, mode_t mode) {
    typedef int (*call)(const char *, mode_t);
    REAL(mkdir, call)
    if (!is_watched(path)) return real(path, mode);
    if (begin(FAULTS_MAKE_FOLDER, path) != 0) return -1;
    int result = real(path, mode);
    if (result == 0) end(FAULTS_MAKE_FOLDER, path, NULL, NULL, 0, 0, 0);
    return result;
}

// MARK: The power

int faults_cut_power(const char *path) {
    // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, which no header has that programs may include.
    uint32_t flags = 2;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    int code = ioctl(descriptor, _IOR('X', 125, uint32_t), &flags) == 0 ? 0 : errno;
    close(descriptor);
    return code;
}

// MARK: Connections

// Asks for one socket. /proc/net/tcp has all of the machine, which are many while tests run.
int64_t faults_calling_socket(uint16_t caller, uint16_t called) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX},
    };
    struct inet_diag_sockid *id = &request.body.id;
    id->idiag_sport = htons(caller);
    id->idiag_dport = htons(called);
    id->idiag_src[0] = id->idiag_dst[0] = htonl(INADDR_LOOPBACK);
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (descriptor < 0) return -errno;
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    ssize_t size = -1;
    if (send(descriptor, &request, sizeof request, 0) >= 0) size = recv(descriptor, &answer, sizeof answer, 0);
    int64_t result = size < 0 ? -errno : -EPROTO;
    if (size >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && answer.header.nlmsg_type == NLMSG_ERROR) {
        int code = ((struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
        result = code == -ENOENT ? 0 : code;
    } else if (size >= (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg))
               && answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
        result = ((struct inet_diag_msg *)NLMSG_DATA(&answer.header))->idiag_inode;
    }
    close(descriptor);
    return result;
}

// MARK: The time of day

static _Thread_local int64_t clock_offset;

void faults_set_clock(int64_t seconds) { clock_offset = seconds; }

int clock_gettime(clockid_t clock, struct timespec *time) {
    typedef int (*call)(clockid_t, struct timespec *);
    REAL(clock_gettime, call)
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += clock_offset;
    return result;
}

// Names

static pthread_mutex_t lookup_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t lookups_end = PTHREAD_COND_INITIALIZER;
static int lookup_count;
static int lookup_generation;

int faults_lookup_count(void) {
    pthread_mutex_lock(&lookup_lock);
    int count = lookup_count;
    pthread_mutex_unlock(&lookup_lock);
    return count;
}

void faults_end_lookups(void) {
    pthread_mutex_lock(&lookup_lock);
    lookup_generation++;
    pthread_cond_broadcast(&lookups_end);
    pthread_mutex_unlock(&lookup_lock);
}

typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(
    const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
    struct addrinfo **restrict found) {
    REAL(getaddrinfo, lookup)
    size_t length = name == NULL ? 0 : strlen(name), end = strlen(FAULTS_HANGING);
    if (length < end || strcmp(name + length - end, FAULTS_HANGING) != 0) return real(name, service, hints, found);
    pthread_mutex_lock(&lookup_lock);
    lookup_count++;
    int generation = lookup_generation;
    while (lookup_generation == generation) pthread_cond_wait(&lookups_end, &lookup_lock);
    lookup_count--;
    pthread_mutex_unlock(&lookup_lock);
    return EAI_AGAIN;
}
