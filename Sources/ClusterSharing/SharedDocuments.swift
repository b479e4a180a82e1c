import HearthSystem

/// The small texts that all nodes of a cluster have: signing keys, administrators' keys, providers, and the rules and
/// settings that databases have of their own. The cluster's database has each at `documents/NAME`.
///
/// A node applies documents that another one has put there, and then confirms that they are in force. Changes in the
/// files of a node are noticed within a second, and put there. On a separate thread, which waits for the database.
package final class SharedDocuments: Sendable {
    private enum Message: Sendable {
        case begin(whenLoaded: @Sendable () -> Void)
        case arrived
        case look
        case put([(name: String, text: [UInt8])], then: @Sendable (SharingFailure?) -> Void)
    }

    private let worker: Worker<Message>
    private let isStopping: StopFlag

    /// The state of the thread.
    protocol Table {
        func begin(_ whenLoaded: @escaping @Sendable () -> Void)
        func catchUp()
        func look()
        func put(_ texts: [(name: String, text: [UInt8])]) -> SharingFailure?
    }

    /// - parameter makeTable: makes the state of the thread. It gives up waiting once the flag is set.
    init(_ makeTable: @escaping @Sendable (StopFlag) -> any Table) throws(SystemError) {
        let isStopping = StopFlag()
        self.isStopping = isStopping
        worker = try Worker(name: "documents") {
            let table = makeTable(isStopping)
            return { Self.work(off: $0, table, isStopping) }
        }
    }

    /// While no node takes writes, each look waits for one, and meanwhile many others are asked for. One does for all,
    /// and those who want something put do not wait for it.
    private static func work(off messages: [Message], _ table: any Table, _ isStopping: StopFlag) {
        var (mustLook, hasArrived) = (false, false)
        for message in messages {
            switch message {
            case .begin(let whenLoaded): if !isStopping.isSet { table.begin(whenLoaded) }
            case .arrived: hasArrived = true
            case .look: mustLook = true
            case .put(let texts, let then): then(table.put(texts))
            }
        }
        if isStopping.isSet { return }
        // This catches up as well.
        if mustLook { table.look() } else if hasArrived { table.catchUp() }
    }

    /// Reads the documents of the cluster, and gives it those that only this node has.
    ///
    /// - parameter whenLoaded: called on the thread when that is done, which takes until a node takes writes.
    func begin(whenLoaded: @escaping @Sendable () -> Void) { worker.post(.begin(whenLoaded: whenLoaded)) }

    /// The cluster's database has more.
    func arrived() { worker.post(.arrived) }

    /// To be called about once a second.
    func look() { worker.post(.look) }

    /// Puts texts in force at all nodes that run, with one commit. Calls back on the thread once they have confirmed
    /// that.
    package func put(_ texts: [(name: String, text: [UInt8])], then: @escaping @Sendable (SharingFailure?) -> Void) {
        let isTaken = worker.post(.put(texts, then: then))
        if !isTaken { then(SharingFailure(description: "the server is shutting down")) }
    }

    /// Waiting calls end soon.
    func beginToStop() { isStopping.set() }

    /// Ends the thread.
    func stop() {
        beginToStop()
        worker.stop()
    }
}
