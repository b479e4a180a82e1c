package import HearthEtcdMessages

/// The forms of values that the nodes of a cluster may write into the store. A program reads all forms up to its own
/// latest one, and cannot follow a log with later ones. A new cluster has the latest format, unless nodes of an earlier
/// program run. In another one, an operator raises it once all nodes have the new program.
///
/// ```
/// /hearth/1/format                              1 byte; 1 without it
/// /hearth/1/reads/NODE       lease of the node  1 byte: the latest one that the node reads; 1 without it
/// ```
package enum StoreFormat: UInt8, Comparable, Sendable {
    case plain = 1
    /// The records of a batch may be compressed (``LogBatch``).
    case compressed = 2

    package static let latest = Self.compressed

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// - parameter value: of one of the keys; nil if it is not there. A later format than is known here counts as the
    ///   latest one.
    package init(_ value: EtcdKeyValue?) {
        guard let value, value.value.count == 1 else {
            self = .plain
            return
        }
        self = Self(rawValue: value.value[0]) ?? (value.value[0] > Self.latest.rawValue ? .latest : .plain)
    }

    package static let key = Array("/hearth/1/format".utf8)

    static let statements = EtcdKeyRange.prefix(Array("/hearth/1/reads/".utf8))

    /// States what a node reads.
    static func statement(of node: String, lease: Int64) -> EtcdTransaction.Operation {
        .put(key: statements.start + node.utf8, value: [latest.rawValue], lease: lease)
    }
}
