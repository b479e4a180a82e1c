/// A connection of some event loop, for as long as the process runs: numbers are never used again.
package struct ConnectionID: Hashable, Sendable {
    /// How the connection wants to be answered.
    package enum Kind: UInt64, Sendable {
        case realtime = 0
        case http = 1
    }

    /// `loop:8 link:6 flags:2 serial:48`; the flags are the kind, and 2 for a connection of another node.
    package let raw: UInt64

    package init(loop: Int, kind: Kind, serial: UInt64) {
        precondition(loop >= 0 && loop < Self.loopsMax && serial < 1 << 48)
        raw = UInt64(loop) << 56 | kind.rawValue << 48 | serial
    }

    /// Represents a connection of another node, which forwards its writes. No event loop owns it.
    ///
    /// - parameter link: the number of the link over which that node sends them.
    package init(forwarded kind: Kind, link: Int, serial: UInt64) {
        precondition(link >= 0 && link < Self.linksMax && serial < 1 << 48)
        raw = UInt64(link) << 50 | (Self.forwardedFlag | kind.rawValue) << 48 | serial
    }

    package init(raw: UInt64) { self.raw = raw }

    private static let forwardedFlag: UInt64 = 2

    /// The index of the event loop that owns the connection.
    package var loop: Int { Int(raw >> 56) }

    package var kind: Kind { raw >> 48 & Kind.http.rawValue == 0 ? .realtime : .http }

    /// Whether it is a connection of another node.
    package var isForwarded: Bool { raw >> 48 & Self.forwardedFlag != 0 }

    /// The number of the link to the node that has the connection; 0 for a connection of this node.
    package var link: Int { Int(raw >> 50 & UInt64(Self.linksMax - 1)) }

    /// So that a set of loops fits in one word.
    package static let loopsMax = 64
    /// Links to other nodes have numbers below this one, for the same reason.
    package static let linksMax = 64
}
