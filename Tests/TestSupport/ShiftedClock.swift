import Glibc
import HearthSystem

/// A clock for the time of day of other processes, which the test sets: those that are started with its environment
/// have it. Needs a C compiler.
package final class ShiftedClock: Sendable {
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <time.h>

        static const volatile long *shift;

        __attribute__((constructor)) static void begin(void) {
            int descriptor = open(getenv("CLOCK_SHIFT"), O_RDONLY | O_CLOEXEC);
            shift = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, descriptor, 0);
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            static int (*real)(clockid_t, struct timespec *);
            if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
            int result = real(clock, time);
            if (result == 0 && clock == CLOCK_REALTIME && shift != NULL) time->tv_sec += *shift;
            return result;
        }
        """

    /// Whether there is a compiler. Says on stderr if not.
    package static let isAvailable: Bool = {
        if (try? ChildProcess.run(["cc", "--version"], output: "/dev/null")) == 0 { return true }
        let text = Array("there is no C compiler: the test of clocks that jump is skipped\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        return false
    }()

    private let folder = TemporaryFolder()

    package init() throws {
        set(0)
        TemporaryFolder.write(Array(Self.source.utf8), to: "\(folder.path)/clock.c")
        let words = ["cc", "-shared", "-fPIC", "-O1", "-o", library, "\(folder.path)/clock.c"]
        guard try ChildProcess.run(words) == 0 else { throw WaitedInVain(description: "the clock cannot be compiled") }
    }

    private var library: String { "\(folder.path)/clock.so" }

    package var environment: [String: String] {
        ["LD_PRELOAD": library, "CLOCK_SHIFT": "\(folder.path)/shift"]
    }

    /// From now on the clock differs from the machine's by so many seconds.
    package func set(_ seconds: Int64) {
        // In place, since processes have it mapped.
        let path = "\(folder.path)/shift"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { preconditionFailure("cannot write \(path): \(errno)") }
        defer { close(descriptor) }
        let bytes = withUnsafeBytes(of: seconds) { Array($0) }
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            preconditionFailure("cannot write \(path): \(errno)")
        }
    }
}
