#include "CBench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static cpu_set_t all_cpus;
static int is_pinned;

int bench_pin(int cpu) {
    cpu_set_t set;
    if (!is_pinned && sched_getaffinity(0, sizeof all_cpus, &all_cpus) < 0) return -errno;
    is_pinned = 1;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}

int bench_unpin(void) {
    if (!is_pinned) return 0;
    is_pinned = 0;
    return sched_setaffinity(0, sizeof all_cpus, &all_cpus) < 0 ? -errno : 0;
}

int bench_spawn(const char *path, char *const *arguments, int cpu, int output) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child < 0 ? -errno : child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before that.
    if (getppid() != parent) _exit(126);
    // The parent may wait for signals, and blocks them.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (cpu >= 0 && bench_pin(cpu) < 0) _exit(126);
    if (dup2(output, STDOUT_FILENO) < 0) _exit(126);
    execv(path, arguments);
    _exit(127);
}

long bench_raise_descriptor_limit(long wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -errno;
    if (limit.rlim_max < (rlim_t)wanted) {
        struct rlimit raised = {.rlim_cur = (rlim_t)wanted, .rlim_max = (rlim_t)wanted};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return wanted;
    }
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : (long)limit.rlim_cur;
}
