/// Which requests for the node that takes the writes wait because the log changes hands.
package enum HeldWrites: Hashable, Sendable {
    case none
    /// Those of other nodes' connections: this node will do them in a moment.
    case ofOtherNodes
    /// All: another node will do them, or this one if the log stays.
    case all
}
