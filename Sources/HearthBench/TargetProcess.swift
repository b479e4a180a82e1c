import CHearthLinux
import Glibc

/// A target that runs as a child of this process.
final class TargetProcess {
    let target: Target
    /// From the start of the process until it said that it is ready, in nanoseconds of the monotonic clock.
    let startedAt: Int64
    private let process: ChildProcess

    /// Starts `hearth`, or another program, with these arguments and waits until it prints where it is ready.
    ///
    /// - parameter address: where a line of its output says that it serves.
    init(
        _ kind: Target.Kind, _ program: String? = nil, arguments: [String], cpu: Int?,
        address: (_ line: String) -> IPv4Address? = ReadyLine.address
    ) throws(BenchError) {
        let executable = if let program { program } else { try ChildProcess.ownProgram() }
        var ends: [Int32] = [0, 0]
        let result = linux_pipe(&ends)
        guard result == 0 else { throw BenchError("make a pipe", code: Int(result)) }
        defer { close(ends[0]) }
        startedAt = Clock.now
        process = try ChildProcess(executable, arguments, cpu: cpu, output: ends[1])
        let address = try Self.waitUntilReady(ends[0], kind.rawValue, address)
        target = Target(kind: kind, address: address, process: process.number, cpu: cpu)
    }

    /// Runs `hearth` with these arguments, without its output, until it ends.
    static func run(_ arguments: [String]) throws(BenchError) {
        let process = try ChildProcess(ChildProcess.ownProgram(), arguments)
        guard process.wait(milliseconds: 60_000) else { throw BenchError("hearth \(arguments[0]) does not end") }
    }

    deinit { stop() }

    var number: Int32 { process.number }

    /// Ends the process in good order and waits for it; kills it when it takes too long.
    func stop() { process.end(target.isFloor ? SIGKILL : SIGTERM) }

    /// Ends the process as a loss of power would, except that the system's caches stay.
    func kill() { process.end(SIGKILL) }

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
