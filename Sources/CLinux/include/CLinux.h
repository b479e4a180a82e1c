#pragma once
// Linux calls that Swift's Glibc module does not carry, or whose errno Swift code cannot read safely, because a release
// between the call and the read may change it. Wrappers only: this header must not define _GNU_SOURCE, which changes
// system types and breaks the module map of debug builds.
//
// Every call returns its result, or the negated errno. Calls that the kernel may interrupt are repeated on EINTR,
// except linux_epoll_wait, which then reports no events.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// epoll

enum {
    LINUX_READABLE = 0x001,     // EPOLLIN
    LINUX_WRITABLE = 0x004,     // EPOLLOUT
    LINUX_ERROR = 0x008,        // EPOLLERR, always reported
    LINUX_HANGUP = 0x010,       // EPOLLHUP, always reported
    LINUX_PEER_CLOSED = 0x2000, // EPOLLRDHUP
    LINUX_EDGE = 1u << 31,      // EPOLLET
};

// struct epoll_event with its 64 bits of user data in two halves, which gives natural alignment to the packed layout
// of x86-64 too.
typedef struct linux_event {
    uint32_t ready;
#ifndef __x86_64__
    uint32_t padding;
#endif
    uint32_t slot;
    uint32_t generation;
} linux_event;

int linux_epoll_create(void);
int linux_epoll_add(int epoll, int descriptor, uint32_t interest, uint32_t slot, uint32_t generation);
int linux_epoll_modify(int epoll, int descriptor, uint32_t interest, uint32_t slot, uint32_t generation);
int linux_epoll_remove(int epoll, int descriptor);
int linux_epoll_wait(int epoll, linux_event *events, int capacity, int timeout_milliseconds);

// A non-blocking event descriptor, and one count added to it.
int linux_eventfd(void);
int linux_eventfd_signal(int descriptor);

// sockets; all are non-blocking and closed on exec, and writing never raises SIGPIPE

int linux_socket(int domain);
int linux_bind(int descriptor, const void *address, uint32_t length);
int linux_listen(int descriptor, int backlog);
int linux_accept(int descriptor, void *address, uint32_t *length);
int linux_connect(int descriptor, const void *address, uint32_t length);
int linux_local_address(int descriptor, void *address, uint32_t *length);
int linux_set_option(int descriptor, int level, int option, int value);
int linux_get_option(int descriptor, int level, int option);
// Makes the next close discard unsent bytes and answer the peer with a reset.
int linux_reset_on_close(int descriptor);
int linux_shutdown(int descriptor);
int linux_shutdown_output(int descriptor);
// The bytes in the send buffer that the peer's kernel has not received; 0 if that is unknown.
ptrdiff_t linux_unsent(int descriptor);
// The bytes that the peer's kernel has acknowledged in all, 0 if that is unknown, and the time since its last
// acknowledgement of anything.
int linux_acknowledged(int descriptor, uint64_t *bytes, uint32_t *milliseconds);
ptrdiff_t linux_receive(int descriptor, void *bytes, size_t count);
ptrdiff_t linux_send(int descriptor, const void *bytes, size_t count);
// A descriptor that is only worth closing: it keeps one entry of the descriptor table in reserve.
int linux_reserve_descriptor(void);
// Raises the soft limit of open descriptors to the hard one.
void linux_raise_descriptor_limit(void);
// Bytes of address space that the process may have, LLONG_MAX for any number.
long long linux_address_space_limit(void);
// Bytes of the machine's memory, LLONG_MAX if unknown.
long long linux_physical_memory(void);

// files

// The device and the inode that a path leads to. Asks for nothing else: a kernel that keeps times of files in
// nanoseconds (6.13 and later) sets a new time of change at the first write after somebody has read it, and some file
// systems then write the inode with the next fdatasync, which takes half as long again.
int linux_file_identity(const char *path, uint64_t *device, uint64_t *inode);

// threads and machine

// The name is cut to the 15 bytes that Linux keeps.
void linux_set_thread_name(const char *name);
// This thread has this nice value, on top of that of the process: each step is a fifth less CPU time when there is not
// enough for all. With short slices it runs as soon as it becomes ready, before threads that may keep a CPU for longer;
// kernels before 6.12 ignore that. Threads that it starts are the same until they call this.
void linux_set_priority(int nice, bool has_short_slices);
// A write of this thread to a closed pipe or socket then fails with EPIPE and raises nothing.
void linux_block_broken_pipe_signal(void);
// Waits for a POSIX semaphore (sem_t *) up to a time of the monotonic clock. 0, or -ETIMEDOUT.
int linux_semaphore_wait(void *semaphore, int64_t deadline_nanoseconds);
// CPUs that this process may run on; at least 1.
int linux_available_cpu_count(void);
// Fills the buffer from the kernel's generator.
int linux_random(void *bytes, size_t count);

// Returns to the kernel the whole pages that the allocator keeps free. Takes the lock of one arena at a time.
void linux_return_free_memory(void);
// Has the allocator return a block of at least this size to the kernel as soon as it is freed, and keep no more than
// this at the end of an arena. By default both limits grow to 32 and 64 MiB with the blocks that a process has freed,
// and linux_return_free_memory does not return the ends of arenas.
void linux_keep_little_free_memory(size_t bytes);

// terminals

// A new pseudo-terminal: the descriptor of the side that is not the program's. The path of the other one goes to `path`.
int linux_open_pseudo_terminal(char *path, size_t capacity);

// programs

// A program that is started with these actions (posix_spawn_file_actions_t *) inherits no descriptor from this number up.
int linux_spawn_close_from(void *actions, int descriptor);

// signals

// From now on each arrival of the signal writes its number as one byte to the pipe. One pipe serves the process.
int linux_signal_to_pipe(int signal, int pipe);
int linux_signal_default(int signal);
int linux_signal_ignore(int signal);
int linux_pipe(int ends[2]);
ptrdiff_t linux_read(int descriptor, void *bytes, size_t count);
