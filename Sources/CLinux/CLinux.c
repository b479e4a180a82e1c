#include "CLinux.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

_Static_assert(sizeof(linux_event) == sizeof(struct epoll_event), "layout of an event");
_Static_assert(offsetof(linux_event, slot) == offsetof(struct epoll_event, data), "layout of an event");
_Static_assert((uint32_t)LINUX_READABLE == EPOLLIN && (uint32_t)LINUX_WRITABLE == EPOLLOUT, "values of epoll");
_Static_assert((uint32_t)LINUX_ERROR == EPOLLERR && (uint32_t)LINUX_HANGUP == EPOLLHUP, "values of epoll");
_Static_assert((uint32_t)LINUX_PEER_CLOSED == EPOLLRDHUP && (uint32_t)LINUX_EDGE == EPOLLET, "values of epoll");

static ptrdiff_t negated_errno(ptrdiff_t result) { return result < 0 ? -errno : result; }

#define RETRIED(call)                              \
    ({                                             \
        ptrdiff_t retried_result;                  \
        do {                                       \
            retried_result = (call);               \
        } while (retried_result < 0 && errno == EINTR); \
        negated_errno(retried_result);             \
    })

// epoll

int linux_epoll_create(void) { return (int)negated_errno(epoll_create1(EPOLL_CLOEXEC)); }

static int control(int epoll, int operation, int descriptor, uint32_t interest, uint32_t slot, uint32_t generation) {
    linux_event event = {.ready = interest, .slot = slot, .generation = generation};
    struct epoll_event native;
    memcpy(&native, &event, sizeof native);
    return (int)negated_errno(epoll_ctl(epoll, operation, descriptor, &native));
}

int linux_epoll_add(int epoll, int descriptor, uint32_t interest, uint32_t slot, uint32_t generation) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, interest, slot, generation);
}

int linux_epoll_modify(int epoll, int descriptor, uint32_t interest, uint32_t slot, uint32_t generation) {
    return control(epoll, EPOLL_CTL_MOD, descriptor, interest, slot, generation);
}

int linux_epoll_remove(int epoll, int descriptor) {
    return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0, 0);
}

int linux_epoll_wait(int epoll, linux_event *events, int capacity, int timeout_milliseconds) {
    int count = epoll_wait(epoll, (struct epoll_event *)events, capacity, timeout_milliseconds);
    return count < 0 && errno == EINTR ? 0 : (int)negated_errno(count);
}

int linux_eventfd(void) { return (int)negated_errno(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }

int linux_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    return (int)RETRIED(write(descriptor, &one, sizeof one));
}

// sockets

int linux_socket(int domain) {
    return (int)negated_errno(socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

int linux_bind(int descriptor, const void *address, uint32_t length) {
    return (int)negated_errno(bind(descriptor, address, length));
}

int linux_listen(int descriptor, int backlog) { return (int)negated_errno(listen(descriptor, backlog)); }

int linux_accept(int descriptor, void *address, uint32_t *length) {
    return (int)RETRIED(accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

// Not repeated on EINTR: the kernel goes on connecting.
int linux_connect(int descriptor, const void *address, uint32_t length) {
    int result = (int)negated_errno(connect(descriptor, address, length));
    return result == -EINTR ? -EINPROGRESS : result;
}

int linux_local_address(int descriptor, void *address, uint32_t *length) {
    return (int)negated_errno(getsockname(descriptor, address, length));
}

int linux_set_option(int descriptor, int level, int option, int value) {
    return (int)negated_errno(setsockopt(descriptor, level, option, &value, sizeof value));
}

int linux_get_option(int descriptor, int level, int option) {
    int value = 0;
    socklen_t length = sizeof value;
    int result = (int)negated_errno(getsockopt(descriptor, level, option, &value, &length));
    return result < 0 ? result : value;
}

int linux_reset_on_close(int descriptor) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    return (int)negated_errno(setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
}

int linux_shutdown(int descriptor) { return (int)negated_errno(shutdown(descriptor, SHUT_RDWR)); }
int linux_shutdown_output(int descriptor) { return (int)negated_errno(shutdown(descriptor, SHUT_WR)); }

ptrdiff_t linux_unsent(int descriptor) {
    int count = 0;
    return ioctl(descriptor, SIOCOUTQ, &count) == 0 ? count : 0;
}

int linux_acknowledged(int descriptor, uint64_t *bytes, uint32_t *milliseconds) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    int result = (int)negated_errno(getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length));
    *bytes = info.tcpi_bytes_acked;
    *milliseconds = info.tcpi_last_ack_recv;
    return result;
}

ptrdiff_t linux_receive(int descriptor, void *bytes, size_t count) {
    return RETRIED(recv(descriptor, bytes, count, 0));
}

ptrdiff_t linux_send(int descriptor, const void *bytes, size_t count) {
    return RETRIED(send(descriptor, bytes, count, MSG_NOSIGNAL));
}

void linux_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

long long linux_address_space_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur > LLONG_MAX) return LLONG_MAX;
    return (long long)limit.rlim_cur;
}

long long linux_physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    return pages > 0 && size > 0 ? (long long)pages * size : LLONG_MAX;
}

int linux_reserve_descriptor(void) { return (int)RETRIED(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// files

static int identity_by_stat(const char *path, uint64_t *device, uint64_t *inode) {
    struct stat found;
    ptrdiff_t result = RETRIED(stat(path, &found));
    if (result < 0) return (int)result;
    *device = found.st_dev;
    *inode = found.st_ino;
    return 0;
}

int linux_file_identity(const char *path, uint64_t *device, uint64_t *inode) {
    struct statx found;
    ptrdiff_t result = RETRIED(statx(AT_FDCWD, path, 0, STATX_INO, &found));
    // Older containers forbid the call.
    if (result == -EPERM || result == -ENOSYS) return identity_by_stat(path, device, inode);
    if (result < 0) return (int)result;
    *device = makedev(found.stx_dev_major, found.stx_dev_minor);
    *inode = found.stx_ino;
    return 0;
}

// threads and machine

void linux_set_thread_name(const char *name) {
    char cut[16] = {0};
    strncpy(cut, name, sizeof cut - 1);
    pthread_setname_np(pthread_self(), cut);
}

void linux_set_priority(int nice, bool has_short_slices) {
    // The C library declares neither the call nor the structure before version 2.41.
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {
        .size = sizeof attributes,
        .policy = SCHED_OTHER,
        // Of the first thread: others may have another value.
        .nice = getpriority(PRIO_PROCESS, (id_t)getpid()) + nice,
        .runtime = has_short_slices ? 100000 : 0,
    };
    if (attributes.nice > 19) attributes.nice = 19;
    // Zero names the calling thread. Raising its nice value is always allowed.
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void linux_return_free_memory(void) { malloc_trim(0); }

void linux_keep_little_free_memory(size_t bytes) {
    mallopt(M_MMAP_THRESHOLD, (int)bytes);
    mallopt(M_TRIM_THRESHOLD, (int)bytes);
}

void linux_block_broken_pipe_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int linux_open_pseudo_terminal(char *path, size_t capacity) {
    int descriptor = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    if (grantpt(descriptor) == 0 && unlockpt(descriptor) == 0 && ptsname_r(descriptor, path, capacity) == 0) {
        return descriptor;
    }
    int failure = errno;
    close(descriptor);
    return -failure;
}

int linux_spawn_close_from(void *actions, int descriptor) {
    return -posix_spawn_file_actions_addclosefrom_np(actions, descriptor);
}

int linux_semaphore_wait(void *semaphore, int64_t deadline_nanoseconds) {
    struct timespec deadline = {
        .tv_sec = deadline_nanoseconds / 1000000000,
        .tv_nsec = deadline_nanoseconds % 1000000000,
    };
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline) != 0) {
        if (errno != EINTR) return -errno;
    }
    return 0;
}

int linux_available_cpu_count(void) {
    // The kernel refuses a set smaller than its own, so a large machine needs a second, larger try.
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 8) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL) break;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int found = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        int too_small = found == 0 && errno == EINVAL;
        CPU_FREE(set);
        if (found > 0) return found;
        if (!too_small) break;
    }
    return 1;
}

int linux_random(void *bytes, size_t count) {
    uint8_t *next = bytes;
    while (count > 0) {
        ptrdiff_t got = RETRIED(getrandom(next, count, 0));
        if (got < 0) return (int)got;
        next += got;
        count -= (size_t)got;
    }
    return 0;
}

// signals

static volatile int signal_pipe = -1;

static void write_signal(int signal) {
    int saved = errno;
    unsigned char number = (unsigned char)signal;
    ssize_t ignored = write(signal_pipe, &number, 1);  // a full pipe means that the reader is awake already
    (void)ignored;
    errno = saved;
}

static int set_action(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    return (int)negated_errno(sigaction(signal, &action, NULL));
}

int linux_signal_to_pipe(int signal, int pipe) {
    signal_pipe = pipe;
    return set_action(signal, write_signal);
}

int linux_signal_default(int signal) { return set_action(signal, SIG_DFL); }

int linux_signal_ignore(int signal) { return set_action(signal, SIG_IGN); }

int linux_pipe(int ends[2]) { return (int)negated_errno(pipe2(ends, O_NONBLOCK | O_CLOEXEC)); }

ptrdiff_t linux_read(int descriptor, void *bytes, size_t count) { return RETRIED(read(descriptor, bytes, count)); }
