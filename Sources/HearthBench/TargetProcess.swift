import CHearthBench
import CHearthLinux
import Glibc

/// A target that runs as a child of this process.
final class TargetProcess {
    let target: Target
    /// From the start of the process until it said that it is ready, in nanoseconds of the monotonic clock.
    let startedAt: Int64
    private let process: Int32
    private var hasEnded = false

    /// Starts `hearth`, or another program, with these arguments and waits until it prints where it is ready.
    ///
    /// - parameter address: where a line of its output says that it serves.
    init(
        _ kind: Target.Kind, _ program: String? = nil, arguments: [String], cpu: Int?,
        address: (_ line: String) -> IPv4Address? = ReadyLine.address
    ) throws(BenchError) {
        let executable = if let program { program } else { try Self.executable() }
        var ends: [Int32] = [0, 0]
        let result = linux_pipe(&ends)
        guard result == 0 else { throw BenchError("make a pipe", code: Int(result)) }
        defer { close(ends[0]) }
        let startedAt = Clock.now
        process = try Self.start(executable, arguments, cpu: cpu, output: ends[1])
        self.startedAt = startedAt
        do throws(BenchError) {
            let address = try Self.waitUntilReady(ends[0], kind.rawValue, address)
            target = Target(kind: kind, address: address, process: process, cpu: cpu)
        } catch {
            kill(process, SIGKILL)
            _ = bench_wait(process, 5000)
            throw error
        }
    }

    /// Runs `hearth` with these arguments, without its output, until it ends.
    static func run(_ arguments: [String]) throws(BenchError) {
        let process = try start(executable(), arguments, cpu: nil, output: open("/dev/null", O_WRONLY | O_CLOEXEC))
        guard bench_wait(process, 60_000) > 0 else { throw BenchError("hearth \(arguments[0]) does not end") }
    }

    /// Takes over `output`. Answers the process.
    private static func start(
        _ program: String, _ arguments: [String], cpu: Int?, output: Int32
    ) throws(BenchError) -> Int32 {
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let process = bench_spawn(program, &words, Int32(cpu ?? -1), output)
        close(output)
        guard process > 0 else { throw BenchError("start \(program)", code: Int(process)) }
        return process
    }

    deinit { stop() }

    /// Ends the process in good order and waits for it; kills it when it takes too long.
    func stop() {
        guard !hasEnded else { return }
        hasEnded = true
        kill(process, target.isFloor ? SIGKILL : SIGTERM)
        if bench_wait(process, 60_000) > 0 { return }
        kill(process, SIGKILL)
        _ = bench_wait(process, 5000)
    }

    private static func executable() throws(BenchError) -> String {
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

    /// Reads lines until one says where the target serves.
    private static func waitUntilReady(
        _ descriptor: Int32, _ name: String, _ address: (_ line: String) -> IPv4Address?
    ) throws(BenchError) -> IPv4Address {
        var text = ""
        while true {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 120_000) > 0 else { throw BenchError("\(name) did not get ready") }
            let piece = withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                return count <= 0
                    ? "" : String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self)
            }
            if piece.isEmpty { throw BenchError("\(name) ended before it was ready") }
            text += piece
            for line in text.split(separator: "\n") where text.hasSuffix("\n") {
                if let address = address(String(line)) { return address }
            }
        }
    }
}

/// How a target says where it serves.
package enum ReadyLine {
    private static let words = "ready on "

    package static func text(port: UInt16) -> String { "floor: \(words)127.0.0.1:\(port)\n" }

    package static func address(in line: String) -> IPv4Address? {
        guard let range = line.range(of: words) else { return nil }
        return IPv4Address(String(line[range.upperBound...]))
    }
}

extension String {
    /// The position of another text in this one.
    fileprivate func range(of other: String) -> Range<String.Index>? { ranges(of: other).first }
}
