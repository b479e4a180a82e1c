/// Which node takes the writes of a database.
package enum Ownership: Hashable, Sendable {
    /// The database has a log of its own.
    case alone
    /// This node does.
    case owner
    /// This node does until now, and is handing the log over to another one. Then that one does, or still this one.
    case handingOver
    /// The log was given to this node, which will take the writes in a moment.
    case takingOver
    /// The node of this name does; nil while none does, or if it is unknown.
    case elsewhere(node: String?)

    /// The connections of this process are the ones to which writes are owed.
    var isOwn: Bool {
        switch self {
        case .alone, .owner, .handingOver: true
        case .takingOver, .elsewhere: false
        }
    }
}
