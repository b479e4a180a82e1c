import HearthEventLoop
package import Glibc
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

/// The `hearth` program that was built with the tests, running.
package final class HearthProcess: Sendable {
    private let process: ChildProcess
    private let input: Int32
    private let output: LineReader
    private let errors: LineReader

    /// Next to the program that runs the tests, or at `HEARTH_BINARY`.
    private static let built =
        getenv("HEARTH_BINARY").map { String(cString: $0) } ?? BuiltProgram.path("hearth")

    package static var binary: String {
        get throws { try #require(built, "hearth is not built") }
    }

    /// Starts it with these words and this environment, nothing else of the tests' own.
    package convenience init(_ words: [String], environment: [String: String] = [:]) throws {
        try self.init(
            program: try HearthProcess.binary, words, environment: environment)
    }

    /// Starts another program.
    package init(program binary: String, _ words: [String], environment: [String: String] = [:]) throws {
        // Writing to a program that has ended is an error and nothing else.
        Signals.ignoreFailedWrites()
        try #require(access(binary, X_OK) == 0, "\(binary) is not built")
        let (process, pipes) = try HearthProcess.spawning.withLock { _ in
            try HearthProcess.spawn(binary, words, environment)
        }
        self.process = try ChildProcess(process)
        input = pipes[1]
        output = try LineReader(pipes[2])
        errors = try LineReader(pipes[4])
    }

    /// One at a time, so that no other process is started while the ends of these pipes could be inherited.
    private static let spawning = Mutex(())

    private static func spawn(
        _ binary: String, _ words: [String], _ environment: [String: String]
    ) throws -> (pid_t, [Int32]) {
        var pipes: [Int32] = []
        for _ in 0..<3 {
            var ends: [Int32] = [-1, -1]
            try #require(pipe(&ends) == 0)
            for end in ends { try #require(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
            pipes += ends
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, pipes[3], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, pipes[5], STDERR_FILENO)
        let arguments = ([binary] + words).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var process: pid_t = 0
        let code = withSpawnAttributes { posix_spawn(&process, binary, &actions, $0, arguments, variables) }
        for end in [pipes[0], pipes[3], pipes[5]] { close(end) }
        try #require(code == 0)
        return (process, pipes)
    }

    /// How it ended, and all it said that was not read as lines.
    package struct Outcome: Equatable {
        /// The exit code, or the signal that ended it as a negative number.
        package var code: Int32
        package var output: String
        package var errors: String

        package init(code: Int32, output: String, errors: String) {
            self.code = code
            self.output = output
            self.errors = errors
        }
    }

    /// Gives it all its input.
    package func write(_ text: String) {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
            if count <= 0 { break }
            written += count
        }
    }

    /// The number of the process.
    package var number: Int32 { process.number }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Ends it as a loss of power would, except that the system's caches stay. Returns after its end.
    package func kill() { process.kill() }

    package var hasEnded: Bool { process.hasEnded }

    /// Lets no file of it grow beyond so many bytes, as if the disk were full; nil for as large as it likes.
    package func limitFiles(to bytes: UInt64?) throws { try limit(RLIMIT_FSIZE, to: bytes) }

    /// Sets a limit of the system for it; nil for as much as the system allows.
    package func limit(_ resource: __rlimit_resource, to value: UInt64?) throws {
        // Glibc's module does not have it.
        typealias Call = @convention(c) (pid_t, Int32, UnsafePointer<rlimit>?, UnsafeMutablePointer<rlimit>?) -> Int32
        let prlimit = unsafeBitCast(try #require(dlsym(nil, "prlimit")), to: Call.self)
        var limit = rlimit()
        try #require(prlimit(process.number, Int32(resource.rawValue), nil, &limit) == 0)
        limit.rlim_cur = value.map { rlim_t($0) } ?? limit.rlim_max
        try #require(prlimit(process.number, Int32(resource.rawValue), &limit, nil) == 0)
    }

    /// Descriptors that it has open.
    package var descriptorCount: Int { TemporaryFolder.files(in: "/proc/\(process.number)/fd").count }

    /// Its address space, in bytes.
    package var addressSpace: Int {
        let pages = String(decoding: TemporaryFolder.contents(of: "/proc/\(process.number)/statm"), as: UTF8.self)
        return (Int(pages.prefix { $0 != " " }) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    // A test that fails half-way leaves nothing running.
    deinit { process.kill() }

    /// The next line of output; nil at its end, and if none comes within `Patience.limit`.
    package func line() async -> String? { await output.line() }

    /// Ends its input and waits for it.
    package func outcome() async throws -> Outcome {
        close(input)
        let output = await output.rest()
        let errors = await errors.rest()
        return Outcome(code: await process.exitCode(), output: output, errors: errors)
    }

    /// Runs it to its end.
    package static func run(
        _ words: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> Outcome {
        let process = try HearthProcess(words, environment: environment)
        if !input.isEmpty { try await onThread { process.write(input) } }
        return try await process.outcome()
    }
}

/// Runs what blocks on a thread of its own, so that the tasks of other tests go on.
package func onThread<Success: Sendable>(_ body: @escaping @Sendable () throws -> Success) async throws -> Success {
    try await withCheckedThrowingContinuation { continuation in
        do {
            _ = try NamedThread(name: "blocking") { continuation.resume(with: Result(catching: body)) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Reads the lines of a pipe as they come.
private final class LineReader: Sendable {
    private let lines: AsyncStream<String>

    init(_ descriptor: Int32) throws {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        _ = try NamedThread(name: "lines") {
            var line: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                for byte in buffer[..<count] {
                    line.append(byte)
                    guard byte == UInt8(ascii: "\n") else { continue }
                    continuation.yield(String(decoding: line, as: UTF8.self))
                    line = []
                }
            }
            if !line.isEmpty { continuation.yield(String(decoding: line, as: UTF8.self)) }
            continuation.finish()
            close(descriptor)
        }
    }

    func line() async -> String? {
        await withTaskGroup(of: String?.self) { group in
            group.addTask { [lines] in
                for await line in lines { return line }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: Patience.limit)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    func rest() async -> String {
        var text = ""
        for await line in lines { text += line }
        return text
    }
}
