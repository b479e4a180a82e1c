import Synchronization

/// A value that one thread changes and any number of threads and tasks read.
final class SharedState<Value: Sendable & Equatable>: Sendable {
    private struct Content {
        var value: Value
        /// Readers of the sequence, by number.
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
        var lastReader = 0
        var hasEnded = false
    }

    private let content: Mutex<Content>

    init(_ value: Value) { content = Mutex(Content(value: value)) }

    var value: Value { content.withLock { $0.value } }

    func set(_ value: Value) {
        let readers = content.withLock { content in
            if content.hasEnded || content.value == value { return [] as [AsyncStream<Value>.Continuation] }
            content.value = value
            return Array(content.readers.values)
        }
        for reader in readers { reader.yield(value) }
    }

    /// Nothing changes any more.
    func end() {
        let readers = content.withLock { content in
            content.hasEnded = true
            defer { content.readers = [:] }
            return content.readers.values
        }
        for reader in readers { reader.finish() }
    }

    /// The value now and after each change. A slow reader skips values, but never the last one.
    func values() -> AsyncStream<Value> {
        let (stream, reader) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let number: Int? = content.withLock { content in
            // Within the lock, so that a later value does not come before this one.
            reader.yield(content.value)
            if content.hasEnded { return nil }
            content.lastReader += 1
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
