#pragma once
// The parts of the benchmarks that are C: the floors, which must not owe anything to Swift, and children with a CPU of
// their own. Every call returns its result, or the negated errno.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// floors

// What a floor does with the WebSocket frames it gets. It looks at their lengths and at nothing else.
typedef struct bench_floor {
    // Payload bytes of the ready-made frame that answers each frame.
    size_t reply_size;
    // Payload bytes of the ready-made frame that every other connection gets for each frame of the first connection; 0
    // for none. It ends in the running number of the frame, ten digits from 1000000000 on, and `push_tail` bytes.
    size_t push_size;
    size_t push_tail;
    // The path of a SQLite file into which all bytes received are committed, in groups, before they are answered; NULL
    // to answer at once.
    const char *log;
    // One row for each frame; otherwise one for each group.
    bool has_rows;
} bench_floor;

// Serves on a port of 127.0.0.1 that the system chooses and tells to `ready`, on the calling thread, until it fails.
int bench_floor_run(const bench_floor *floor, void (*ready)(uint16_t port));

// processes

// This process, or a child, runs on this CPU only.
int bench_pin(int cpu);
// This process runs again on the CPUs that it had before the first `bench_pin`.
int bench_unpin(void);
// Starts a program with arguments that end in NULL. Its standard output goes to `output`; it is killed when this process
// ends. `cpu` is negative for any. Returns the process id.
int bench_spawn(const char *path, char *const *arguments, int cpu, int output);
// Allows this process and its children as many descriptors as it may have, at least `wanted` if the system can be asked
// for that. Returns how many there are.
long bench_raise_descriptor_limit(long wanted);
