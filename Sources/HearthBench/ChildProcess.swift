import CHearthBench
import Glibc

/// A program that runs as a child of this process. It is killed with it, and with this object.
final class ChildProcess {
    let number: Int32
    /// As `waitpid` gave it; nil while the process runs.
    private var status: Int32?

    /// How long a process may take to end in good order.
    private static let endMilliseconds = 60_000

    /// - parameters:
    ///   - cpu: the only one that it runs on; nil for those of this process.
    ///   - output: a descriptor for its standard output, which is closed here; nil for none.
    init(_ program: String, _ arguments: [String], cpu: Int? = nil, output: Int32? = nil) throws(BenchError) {
        let output = output ?? open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(output) }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        number = Remains.begin { bench_spawn(program, &words, Int32(cpu ?? -1), output) }
        guard isStarted else { throw BenchError("start \(program)", code: Int(number)) }
    }

    deinit { if isStarted { end(SIGKILL) } }

    private var isStarted: Bool { number > 0 }

    /// Whether it has ended, and how: the exit code, or the negated number of the signal that ended it.
    var exitCode: Int32? {
        status = status ?? Remains.status(of: number)
        return status.map { $0 & 0x7F == 0 ? $0 >> 8 & 0xFF : -($0 & 0x7F) }
    }

    /// Waits for its end. False if it takes longer.
    func wait(milliseconds: Int) -> Bool {
        for _ in 0..<milliseconds where exitCode == nil { usleep(1_000) }
        return exitCode != nil
    }

    /// Sends it a signal if it runs.
    func signal(_ signal: Int32) { if exitCode == nil { kill(number, signal) } }

    /// Ends it with a signal and waits for it; kills it when it takes too long.
    func end(_ signal: Int32) {
        self.signal(signal)
        if wait(milliseconds: Self.endMilliseconds) { return }
        self.signal(SIGKILL)
        _ = wait(milliseconds: 5_000)
    }

    /// The path of this program.
    static func ownProgram() throws(BenchError) -> String {
        let path = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            let count = readlink("/proc/self/exe", buffer.baseAddress!, buffer.count - 1)
            return count <= 0
                ? ""
                : String(
                    decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]), as: UTF8.self)
        }
        if path.isEmpty { throw BenchError("cannot find the path of this program") }
        return path
    }
}
