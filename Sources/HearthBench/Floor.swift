import CHearthBench
import Glibc

/// A floor: the least that any server must do for the same load, as a process of its own.
package struct Floor: Sendable {
    static let name = "floor"

    /// Payload bytes of an answer.
    package var replySize: Int
    /// Payload bytes of a change that listeners get; 0 for none. Its number is `pushTail` bytes before the end.
    package var pushSize = 0
    package var pushTail = 0
    /// The SQLite file for commits; nil to commit nothing.
    package var log: String?
    /// One row for each request; otherwise one for each group.
    package var hasRows = false

    package init(replySize: Int, pushSize: Int = 0, pushTail: Int = 0, log: String? = nil, hasRows: Bool = false) {
        self.replySize = replySize
        self.pushSize = pushSize
        self.pushTail = pushTail
        self.log = log
        self.hasRows = hasRows
    }

    /// The same with a row for each request.
    var withRows: Floor {
        var floor = self
        floor.hasRows = true
        return floor
    }

    /// Serves until the process is killed.
    package func run() throws(BenchError) {
        let result = log.withOptionalCString { log in
            var floor = bench_floor(
                reply_size: replySize, push_size: pushSize, push_tail: pushTail, log: log, has_rows: hasRows)
            return bench_floor_run(&floor) { port in
                var line = ReadyLine.text(port: port)
                line.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            }
        }
        throw BenchError("the floor failed", code: Int(result))
    }

    /// The words of a command line that runs this floor.
    var arguments: [String] {
        var words = ["bench", Floor.name, "--reply-bytes", "\(replySize)"]
        words += ["--push-bytes", "\(pushSize)", "--push-tail", "\(pushTail)"]
        if let log { words += ["--log", log] }
        if hasRows { words.append("--rows") }
        return words
    }
}

extension String? {
    fileprivate func withOptionalCString<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        if let self { return self.withCString { body($0) } }
        return body(nil)
    }
}
