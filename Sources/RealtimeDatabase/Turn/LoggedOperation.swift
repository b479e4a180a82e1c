package import HearthJSONTree

/// One operation of a record of the commit log.
package struct LoggedOperation: Hashable, Sendable {
    package var sequence: UInt64
    /// When it was committed, in milliseconds since 1970.
    package var time: Int64
    package var uid: [UInt8]
    package var content: Content

    package init(sequence: UInt64, time: Int64, uid: [UInt8], content: Content) {
        self.sequence = sequence
        self.time = time
        self.uid = uid
        self.content = content
    }

    /// Its changes of the tree.
    package var assignments: [Assignment] {
        if case .change(let change) = content { change.assignments } else { [] }
    }

    package enum Content: Hashable, Sendable {
        case change(Change)
        case owe([Assignment], connection: UInt64, by: Principal)
        case cancelOwed(Path, connection: UInt64)
        case outbox(OutboxChange)
    }
}
