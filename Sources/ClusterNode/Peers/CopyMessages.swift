import HearthReplicatedLog

/// What a node's files need to follow the log of a database: the requirements on a copy of them.
package struct CopyNeed: Hashable, Sendable {
    /// How the files that are there and the log belong together.
    package enum Files: Hashable, Sendable {
        /// The copy has everything that they have.
        case behind
        /// They end where the history of the log begins: no copy is needed.
        case continued
        /// They have what the log has given up, as after a restore.
        case replaced
    }

    /// The history of the log.
    package var epoch: UInt64
    /// The first operation that etcd still has: the copy must have all before it.
    package var floor: UInt64
    package var files: Files

    package init(epoch: UInt64, floor: UInt64, files: Files = .behind) {
        self.epoch = epoch
        self.floor = floor
        self.files = files
    }

    /// Nil if no copy would help.
    init?(_ mismatch: LogMismatch, epoch: UInt64, floor: UInt64) {
        let files: Files? =
            switch mismatch {
            case .behind: .behind
            case .continued: .continued
            case .replaced: .replaced
            case .foreign, .ahead: nil
            }
        guard let files else { return nil }
        self.init(epoch: epoch, floor: floor, files: files)
    }
}

/// Why a copy was not made, sent or received: one line for operators.
package struct CopyFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// A node asks another one for a copy of a database, in place of a greeting (PeerConnection.swift).
///
/// ```
/// request = "COPY" epoch:8 floor:8 database                  never as long as a greeting, as names are not empty
/// ```
package struct CopyRequest: Hashable, Sendable {
    var database: String
    var need: CopyNeed

    private static let magic = Array("COPY".utf8)

    init(database: String, need: CopyNeed) { (self.database, self.need) = (database, need) }

    /// Asks how many bytes a copy has, in a form that earlier versions refuse: no copy reaches so far. The answer is
    /// eight bytes instead of the copy.
    init(sizeOf database: String, epoch: UInt64) {
        self.init(database: database, need: CopyNeed(epoch: epoch, floor: .max))
    }

    var asksForSize: Bool { need.floor == .max }

    package var bytes: [UInt8] {
        var bytes = Self.magic
        for number in [need.epoch, need.floor] { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
        return bytes + database.utf8
    }

    package init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.starts(with: Self.magic), bytes.count > Self.magic.count + 16 else { return nil }
        var rest = bytes.dropFirst(Self.magic.count)
        func takeNumber() -> UInt64 {
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        need = CopyNeed(epoch: takeNumber(), floor: takeNumber())
        guard let name = String(validating: rest, as: UTF8.self) else { return nil }
        database = name
    }
}

/// The other node's answer.
///
/// ```
/// piece = 0 reason | 1 bytes | 2 | 3          refused; the next bytes of the file; it is still being made; the end
/// ```
package enum CopyPiece: Hashable {
    case refused(String)
    case bytes([UInt8])
    case pending
    case end

    package var bytes: [UInt8] {
        switch self {
        case .refused(let reason): [0] + reason.utf8
        case .bytes(let bytes): [1] + bytes
        case .pending: [2]
        case .end: [3]
        }
    }

    package init?(_ bytes: ArraySlice<UInt8>) {
        let rest = bytes.dropFirst()
        switch bytes.first {
        case 0: self = .refused(String(decoding: rest, as: UTF8.self))
        case 1: self = .bytes(Array(rest))
        case 2 where rest.isEmpty: self = .pending
        case 3 where rest.isEmpty: self = .end
        default: return nil
        }
    }
}
