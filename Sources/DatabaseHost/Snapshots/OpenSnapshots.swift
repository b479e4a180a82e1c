import HearthRealtimeDatabase
import HearthStorageErrors
import Synchronization

/// Counts the snapshots that are open.
final class OpenSnapshots: Sendable {
    private struct State {
        var clients: Shares<UInt64>
        var users: Shares<[UInt8]>
    }

    private let countMax: Int
    private let state: Mutex<State>

    init(of countMax: Int) {
        self.countMax = countMax
        state = Mutex(State(clients: Shares(of: countMax), users: Shares(of: countMax)))
    }

    /// Counts one more until it is let go.
    func place(for read: SnapshotRead) throws(StorageError) -> Place {
        let refusal = state.withLock { state -> String? in
            if state.clients.isFull { return "\(countMax) large reads are under way, as many as may be" }
            let mayTake = state.clients.mayTake(read.client) && (read.uid.isEmpty || state.users.mayTake(read.uid))
            guard mayTake else { return "this client has as many large reads under way as it may have" }
            state.clients.take(read.client)
            if !read.uid.isEmpty { state.users.take(read.uid) }
            return nil
        }
        if let refusal { throw .overloaded("\(refusal): try again later") }
        return Place(in: self, read)
    }

    private func leave(_ client: UInt64, _ uid: [UInt8]) {
        state.withLock { state in
            state.clients.give(client)
            if !uid.isEmpty { state.users.give(uid) }
        }
    }

    final class Place: Sendable {
        private let snapshots: OpenSnapshots
        private let client: UInt64
        private let uid: [UInt8]

        fileprivate init(in snapshots: OpenSnapshots, _ read: SnapshotRead) {
            self.snapshots = snapshots
            (client, uid) = (read.client, read.uid)
        }

        deinit { snapshots.leave(client, uid) }
    }
}
