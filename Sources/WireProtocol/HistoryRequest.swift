package import HearthJSONTree

/// A request to the history of a place (additions.md 9): the body of the action `h`, an addition to the protocol.
package struct HistoryRequest: Hashable, Sendable {
    package enum Moment: Hashable, Sendable {
        /// Milliseconds since 1970.
        case time(Int64)
        /// The number of an operation.
        case sequence(UInt64)
    }

    package enum Command: Hashable, Sendable {
        /// `get`: the value at a moment.
        case get(Moment)
        /// `log`: the operations before a number, the newest first, so many at most.
        case log(before: UInt64?, limit: Int?)
        /// `diff`: where the values at two moments differ; the second is now if it is missing.
        case difference(from: Moment, to: Moment?, limit: Int?)
        /// `restore`: the value at a moment is written again.
        case restore(Moment)
    }

    package var path: Path
    package var command: Command

    package init(_ path: Path, _ command: Command) { (self.path, self.command) = (path, command) }
}

extension HistoryRequest {
    /// Appends the members of the body, without its braces.
    func appendBody(to out: inout [UInt8]) {
        out.append(literal: #""p":"#)
        out.append(quoted: path)
        out.append(literal: #","c":"#)
        switch command {
        case .get(let moment):
            out.append(literal: #""get""#)
            Self.append(moment, "at", "seq", to: &out)
        case .restore(let moment):
            out.append(literal: #""restore""#)
            Self.append(moment, "at", "seq", to: &out)
        case .log(let before, let limit):
            out.append(literal: #""log""#)
            if let before { Self.append("before", Int64(clamping: before), to: &out) }
            if let limit { Self.append("n", Int64(limit), to: &out) }
        case .difference(let from, let to, let limit):
            out.append(literal: #""diff""#)
            Self.append(from, "at", "seq", to: &out)
            if let to { Self.append(to, "to", "toSeq", to: &out) }
            if let limit { Self.append("n", Int64(limit), to: &out) }
        }
    }

    private static func append(
        _ moment: Moment, _ time: StaticString, _ sequence: StaticString, to out: inout [UInt8]
    ) {
        switch moment {
        case .time(let value): append(time, value, to: &out)
        case .sequence(let value): append(sequence, Int64(clamping: value), to: &out)
        }
    }

    private static func append(_ name: StaticString, _ value: Int64, to out: inout [UInt8]) {
        out.append(literal: ",\"")
        out.append(literal: name)
        out.append(literal: "\":")
        out.append(decimal: value)
    }
}
