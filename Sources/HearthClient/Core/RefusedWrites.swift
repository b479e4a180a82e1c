import JSONTree
import Synchronization

/// Writes that the server has refused, for everybody who wants to hear of them. Until the first reader comes, the last
/// ones are kept for it: writes of an earlier process may be refused before the program has begun to listen.
final class RefusedWrites: Sendable {
    struct Refusal: Sendable {
        let paths: [Path]
        let error: DatabaseError
        let isRestored: Bool
    }

    static let keptMax = 1000

    private struct Content {
        var kept: [Refusal] = []
        var readers: [Int: AsyncStream<Refusal>.Continuation] = [:]
        var lastReader = 0
        var hasEnded = false
    }

    private let content = Mutex(Content())

    func add(_ refusal: Refusal) {
        content.withLock { content in
            if content.lastReader == 0 {
                content.kept.append(refusal)
                if content.kept.count > Self.keptMax { content.kept.removeFirst() }
            }
            // Within the lock, so that all readers hear of them in order.
            for reader in content.readers.values { reader.yield(refusal) }
        }
    }

    func end() {
        let readers = content.withLock { content in
            content.hasEnded = true
            defer { content.readers = [:] }
            return content.readers.values
        }
        for reader in readers { reader.finish() }
    }

    func refusals() -> AsyncStream<Refusal> {
        let (stream, reader) = AsyncStream.makeStream(
            of: Refusal.self, bufferingPolicy: .bufferingNewest(Self.keptMax))
        let number: Int? = content.withLock { content in
            for refusal in content.kept { reader.yield(refusal) }
            content.kept = []
            content.lastReader += 1
            if content.hasEnded { return nil }
            content.readers[content.lastReader] = reader
            return content.lastReader
        }
        guard let number else {
            reader.finish()
            return stream
        }
        reader.onTermination = { [weak self] _ in
            _ = self?.content.withLock { $0.readers.removeValue(forKey: number) }
        }
        return stream
    }
}
