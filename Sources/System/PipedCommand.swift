import CHearthLinux
import Glibc

/// A program that is started for one task: it reads a text from its standard input, and its status tells whether it
/// succeeded. Its output goes to this process's standard error, where operators look for errors.
package struct PipedCommand: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let path: String
    private let arguments: [String]
    private let environment: [String]

    /// - parameter environment: lines `NAME=value`, besides `PATH`, `HOME` and `LANG` of this process.
    package init(_ path: String, _ arguments: [String] = [], environment: [String] = []) {
        (self.path, self.arguments, self.environment) = (path, arguments, environment)
    }

    /// Runs it to its end, or ends it after some seconds. Waits for that: not for a loop's thread.
    package func run(_ input: [UInt8], secondsMax: Int) throws(Failure) {
        var ends: [Int32] = [0, 0]
        // A socket, so that a command which does not read cannot end this process with a signal.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Failure(description: "no input for the command: \(String(cString: strerror(errno)))")
        }
        let process: pid_t
        do throws(Failure) {
            process = try spawn(input: ends[1])
        } catch {
            close(ends[0])
            close(ends[1])
            throw error
        }
        close(ends[1])
        Self.send(input, to: ends[0], secondsMax)
        close(ends[0])
        try Self.wait(for: process, secondsMax)
    }

    private func spawn(input: Int32) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        // Libraries open descriptors that the program would inherit.
        _ = linux_spawn_close_from(&actions, STDERR_FILENO + 1)
        let kept = ["PATH", "HOME", "LANG"].compactMap { (name: String) -> String? in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
            var pointers: [UnsafeMutablePointer<CChar>?] = []
            for text in texts { pointers.append(strdup(text)) }
            return pointers + [nil]
        }
        var arguments = strings([path] + arguments)
        var environment = strings(kept + environment)
        defer { for pointer in arguments + environment { free(pointer) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, path, &actions, nil, &arguments, &environment)
        guard code == 0 else {
            throw Failure(description: "the command does not start: \(String(cString: strerror(code)))")
        }
        return process
    }

    private static func send(_ input: [UInt8], to descriptor: Int32, _ secondsMax: Int) {
        var limit = timeval(tv_sec: secondsMax, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var rest = input[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            // A command need not read all of it; how it ends tells whether it was content.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func wait(for process: pid_t, _ secondsMax: Int) throws(Failure) {
        var status: Int32 = 0
        for _ in 0..<secondsMax * 50 {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process {
                guard status == 0 else {
                    throw Failure(description: "the command failed with status \(status >> 8)")
                }
                return
            }
            if ended < 0, errno != EINTR { throw Failure(description: "the command cannot be waited for") }
            usleep(20_000)
        }
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        throw Failure(description: "the command took more than \(secondsMax) s")
    }
}
