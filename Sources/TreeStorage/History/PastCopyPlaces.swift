package import HearthStorageErrors
import Synchronization

/// Counts the copies of the past that wait, are made or are sent (``PastCopy``): each keeps the history's files as they
/// were, or takes the room of its value on the disk.
package final class PastCopyPlaces: Sendable {
    private static let countMax = 8
    private static let countOfClientMax = 2

    /// How many each client has.
    private let counts = Mutex<[UInt64: Int]>([:])

    package init() {}

    /// Counts one more until it is let go.
    package func place(for client: UInt64) throws(StorageError) -> Place {
        let refusal = counts.withLock { counts -> String? in
            guard counts.values.reduce(0, +) < Self.countMax else {
                return "\(Self.countMax) large reads of the past are under way, as many as may be"
            }
            guard counts[client, default: 0] < Self.countOfClientMax else {
                return "this client has \(Self.countOfClientMax) large reads of the past under way, as many as may be"
            }
            counts[client, default: 0] += 1
            return nil
        }
        if let refusal { throw .overloaded("\(refusal): try again later") }
        return Place(in: self, client)
    }

    private func leave(_ client: UInt64) {
        counts.withLock { counts in
            let count = counts[client, default: 1] - 1
            counts[client] = count > 0 ? count : nil
        }
    }

    package final class Place: Sendable {
        private let places: PastCopyPlaces
        private let client: UInt64

        fileprivate init(in places: PastCopyPlaces, _ client: UInt64) { (self.places, self.client) = (places, client) }

        deinit { places.leave(client) }
    }
}
