/// Calls that wait until the server has answered all earlier writes. Lives on the database's loop.
final class Flushes {
    enum Write: Hashable {
        /// The number of a request.
        case request(Int)
        /// The number of a transaction, which all of its attempts have.
        case transaction(Int)
    }

    private struct Flush {
        var unsettled: Set<Write>
        /// Whether nobody waits any more.
        let isAbandoned: () -> Bool
        let completion: () -> Void
    }

    private var flushes: [Flush] = []

    /// The number of calls, including abandoned ones.
    var count: Int { flushes.count }

    /// Calls `completion` once all of `writes` are settled; immediately if there are none.
    func wait(for writes: Set<Write>, isAbandoned: @escaping () -> Bool, completion: @escaping () -> Void) {
        if writes.isEmpty { return completion() }
        // Without a connection, abandoned calls would accumulate.
        flushes.removeAll { $0.isAbandoned() }
        flushes.append(Flush(unsettled: writes, isAbandoned: isAbandoned, completion: completion))
    }

    func settled(_ write: Write) {
        guard !flushes.isEmpty else { return }
        for index in flushes.indices { flushes[index].unsettled.remove(write) }
        let done = flushes.filter(\.unsettled.isEmpty)
        flushes.removeAll(where: \.unsettled.isEmpty)
        for flush in done { flush.completion() }
    }

    /// Drops all: the database is closed, and its callers get an error in another way.
    func removeAll() { flushes = [] }
}
