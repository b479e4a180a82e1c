import Synchronization

/// Values that one thread sends to any number of readers. Readers may start and stop on any thread. Each reader gets
/// the values in the order in which they were sent.
final class Broadcast<Value: Sendable>: Sendable {
    private enum Kind {
        /// A state: a reader begins with the latest value, and a slow reader skips values.
        case state
        /// Events: each reader gets every value. They are kept until the first reader starts.
        case events(keptMax: Int)
    }

    private struct Content {
        /// For the next reader: the latest value of a state, the events that nobody has read.
        var kept: [Value]
        var readers: [Int: AsyncStream<Value>.Continuation] = [:]
        var lastReader = 0
        var hasEnded = false
    }

    private let kind: Kind
    private let content: Mutex<Content>

    private init(_ kind: Kind, _ kept: [Value]) {
        self.kind = kind
        content = Mutex(Content(kept: kept))
    }

    /// Events of which the last `keptMax` wait for the first reader, and as many for each slow reader.
    convenience init(keptMax: Int) { self.init(.events(keptMax: keptMax), []) }

    func send(_ value: Value) {
        content.withLock { content in
            if content.hasEnded { return }
            switch kind {
            case .state: content.kept = [value]
            case .events(let keptMax) where content.lastReader == 0:
                content.kept.append(value)
                if content.kept.count > keptMax { content.kept.removeFirst() }
            case .events: break
            }
            // Under the lock, so that a reader that starts meanwhile gets each value once and in order.
            for reader in content.readers.values { reader.yield(value) }
        }
    }

    /// Ends the sequences of all readers. Later values are ignored.
    func end() {
        let readers = content.withLock { content in
            content.hasEnded = true
            defer { content.readers = [:] }
            return content.readers.values
        }
        // Outside the lock, which `onTermination` takes.
        for reader in readers { reader.finish() }
    }

    /// The kept values, then each value that is sent.
    func values() -> AsyncStream<Value> {
        let bufferMax =
            switch kind {
            case .state: 1
            case .events(let keptMax): keptMax
            }
        let (stream, reader) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(bufferMax))
        let number: Int? = content.withLock { content in
            for value in content.kept { reader.yield(value) }
            if case .events = kind { content.kept = [] }
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

extension Broadcast where Value: Equatable {
    /// A state, which always has a value.
    convenience init(state: Value) { self.init(.state, [state]) }

    /// The value of a state.
    var value: Value {
        content.withLock { content in
            guard let value = content.kept.last else { preconditionFailure("events have no value") }
            return value
        }
    }

    /// Changes a state. Readers get only values that differ. One thread sets all values.
    func set(_ value: Value) { if value != self.value { send(value) } }
}
