package import HearthEtcdMessages

/// The keys of one database in the store.
///
/// ```
/// /hearth/1/db/NAME/owner              lease of the owner    OwnerRecord; its mod revision is the term
/// /hearth/1/db/NAME/head                                     LogHead
/// /hearth/1/db/NAME/floor                                    8 bytes: the first sequence number that the log still has
/// /hearth/1/db/NAME/log/FIRST                                LogBatch; FIRST in 20 digits
/// /hearth/1/db/NAME/past                                     LogPast: the histories before that of the head
/// /hearth/1/part/NAME/FIRST/TERM-NUMBER/INDEX                a part of a batch that is too large for one value
/// /hearth/1/kept/NAME/NODE             lease of the node     8 bytes: the last sequence number in the node's own files
/// /hearth/1/held/NAME/NODE             lease of the node     HeldFiles: what the node has in its own files
/// /hearth/1/tail/NAME                                        TailMeasure: the bytes of the log, for trimming
/// /hearth/1/move/NAME                  lease of the asker    MoveRequest: another node is to own the log
/// /hearth/1/files/NAME/NODE            lease of the node     LogPast of the node's files, the last end being theirs; there
///                                                            while etcd does not have the log that they are of
/// ```
/// The names of databases and nodes have letters, digits, `-`, `_` and `.` only.
package struct LogKeys: Hashable, Sendable {
    package let database: String
    private let folder: String

    package init(database: String) {
        self.database = database
        folder = "/hearth/1/db/\(database)/"
    }

    /// What followers watch: everything but parts.
    package var watched: EtcdKeyRange { .prefix(Array(folder.utf8)) }

    package var owner: [UInt8] { Array("\(folder)owner".utf8) }
    package var head: [UInt8] { Array("\(folder)head".utf8) }
    package var floor: [UInt8] { Array("\(folder)floor".utf8) }
    package var past: [UInt8] { Array("\(folder)past".utf8) }

    package func batch(_ first: UInt64) -> [UInt8] { Array("\(folder)log/\(Self.digits(first))".utf8) }

    package var batchesEnd: [UInt8] { EtcdKeyRange.end(ofPrefix: Array("\(folder)log/".utf8)) }

    /// The batches that begin in `first..<end`.
    package func batches(from first: UInt64, upTo end: UInt64) -> EtcdKeyRange {
        .keys(from: batch(first), upTo: batch(end))
    }

    package func isBatch(_ key: [UInt8]) -> Bool { key.starts(with: "\(folder)log/".utf8) }

    package func parts(of batch: UInt64, _ id: AppendID) -> EtcdKeyRange {
        .prefix(Array("/hearth/1/part/\(database)/\(Self.digits(batch))/\(id.term)-\(id.number)/".utf8))
    }

    package func part(_ index: Int, of batch: UInt64, _ id: AppendID) -> [UInt8] {
        parts(of: batch, id).start + Self.digits(UInt64(index)).suffix(6).utf8
    }

    /// The parts of all batches that begin in `first..<end`; without an end, of all from `first` on.
    package func parts(from first: UInt64, upTo end: UInt64?) -> EtcdKeyRange {
        let folder = "/hearth/1/part/\(database)/"
        return .keys(
            from: Array("\(folder)\(Self.digits(first))".utf8),
            upTo: end.map { Array("\(folder)\(Self.digits($0))".utf8) }
                ?? EtcdKeyRange.end(ofPrefix: Array(folder.utf8)))
    }

    /// The parts of batches that begin at a sequence number, except those of a term.
    func parts(of batch: UInt64, exceptOf term: Int64) -> [EtcdKeyRange] {
        let folder = Array("/hearth/1/part/\(database)/\(Self.digits(batch))/".utf8)
        let own = folder + "\(term)-".utf8
        return [
            .keys(from: folder, upTo: own),
            .keys(from: EtcdKeyRange.end(ofPrefix: own), upTo: EtcdKeyRange.end(ofPrefix: folder)),
        ]
    }

    package func kept(by node: String) -> [UInt8] { Array("/hearth/1/kept/\(database)/\(node)".utf8) }

    package var move: [UInt8] { Array("/hearth/1/move/\(database)".utf8) }

    package var tail: [UInt8] { Array("/hearth/1/tail/\(database)".utf8) }

    package var allKept: EtcdKeyRange { .prefix(Array("/hearth/1/kept/\(database)/".utf8)) }

    package func files(of node: String) -> [UInt8] { Array("/hearth/1/files/\(database)/\(node)".utf8) }

    package var allFiles: EtcdKeyRange { .prefix(Array("/hearth/1/files/\(database)/".utf8)) }

    private static let filesFolder = Array("/hearth/1/files/".utf8)

    /// What all nodes say of files whose log is not there.
    package static var filesOfAll: EtcdKeyRange { .prefix(filesFolder) }

    /// Which database and which node a key of that folder is of.
    package static func filesOwner(of key: [UInt8]) -> (database: String, node: String)? {
        guard key.starts(with: filesFolder) else { return nil }
        let names = String(decoding: key.dropFirst(filesFolder.count), as: UTF8.self).split(separator: "/")
        return names.count == 2 ? (String(names[0]), String(names[1])) : nil
    }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number)
        return String(repeating: "0", count: 20 - text.count) + text
    }
}
