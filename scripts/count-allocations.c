/* Counts the calls of malloc and its kin that a process makes, in the first eight bytes of the file that
   ALLOCATION_COUNTER names. For scripts/allocation-budgets, which loads this library into a server. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The ones of glibc, under the names that are not replaced here. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

/* Until the file is mapped. */
static _Atomic unsigned long early;
static _Atomic unsigned long *counter = &early;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("ALLOCATION_COUNTER");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(0, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) counter = page;
}

static void count(void) { atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *pointer, size_t size) {
    count();
    return __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    void *found = memalign(alignment, size);
    if (!found) return ENOMEM;
    *pointer = found;
    return 0;
}
