import Glibc

/// A shell command that sends a mail, which it finds at its standard input; `HEARTH_MAIL_TO` has the address.
struct MailCommand {
    private let command: String
    private static let secondsMax = 30

    init(_ command: String) { self.command = command }

    func run(_ message: String, recipient: String) throws(MailError) {
        var ends: [Int32] = [0, 0]
        // A socket, so that a command which does not read cannot end this process with a signal.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw MailError(reason: "no input for the command: \(String(cString: strerror(errno)))")
        }
        let process: pid_t
        do throws(MailError) {
            process = try spawn(input: ends[1], recipient: recipient)
        } catch {
            close(ends[0])
            close(ends[1])
            throw error
        }
        close(ends[1])
        Self.send(message, to: ends[0])
        close(ends[0])
        try Self.wait(for: process)
    }

    private func spawn(input: Int32, recipient: String) throws(MailError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        // Standard output becomes the log's, where operators look for what went wrong.
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        let kept = ["PATH", "HOME", "LANG"].compactMap { (name: String) -> String? in
            getenv(name).map { "\(name)=\(String(cString: $0))" }
        }
        func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
            var pointers: [UnsafeMutablePointer<CChar>?] = []
            for text in texts { pointers.append(strdup(text)) }
            return pointers + [nil]
        }
        var arguments = strings(["/bin/sh", "-c", command])
        var environment = strings(kept + ["HEARTH_MAIL_TO=\(recipient)"])
        defer { for pointer in arguments + environment { free(pointer) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, "/bin/sh", &actions, nil, &arguments, &environment)
        guard code == 0 else {
            throw MailError(reason: "the command does not start: \(String(cString: strerror(code)))")
        }
        return process
    }

    private static func send(_ message: String, to descriptor: Int32) {
        var limit = timeval(tv_sec: secondsMax, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var rest = Array(message.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            // A command need not read all of it; how it ends tells whether it was content.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func wait(for process: pid_t) throws(MailError) {
        var status: Int32 = 0
        for _ in 0..<secondsMax * 50 {
            let ended = waitpid(process, &status, WNOHANG)
            if ended == process {
                guard status == 0 else { throw MailError(reason: "the command failed with status \(status >> 8)") }
                return
            }
            if ended < 0, errno != EINTR { throw MailError(reason: "the command cannot be waited for") }
            usleep(20_000)
        }
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        throw MailError(reason: "the command took more than \(secondsMax) s")
    }
}
