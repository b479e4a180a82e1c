/// A set of links to other nodes, in one word.
package struct LinkSet: Hashable, Sendable {
    private var bits: UInt64 = 0

    package init() {}

    package init(word: UInt64) { bits = word }

    package var word: UInt64 { bits }

    package var isEmpty: Bool { bits == 0 }

    package mutating func insert(_ link: Int) { bits |= 1 << UInt64(link) }

    package mutating func remove(_ link: Int) { bits &= ~(1 << UInt64(link)) }

    /// Whether a connection is one of another node, over one of the links.
    package func contains(_ connection: ConnectionID) -> Bool {
        connection.isForwarded && bits >> UInt64(connection.link) & 1 != 0
    }

    package func subtracting(_ other: LinkSet) -> LinkSet { LinkSet(word: bits & ~other.bits) }
}
