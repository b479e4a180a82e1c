import HearthJSONTree

/// A sequence of events. Each loop over it has its own observer, from its beginning to its end. A cancelled task ends
/// its loop without an error.
public struct DatabaseEvents<Element: Sendable>: AsyncSequence, Sendable {
    /// Why a loop ends early.
    public typealias Failure = DatabaseError

    /// The events kept for a slow reader.
    enum Waiting {
        case newest(Int)
        case oldest(Int)
    }

    /// Begins to observe.
    typealias Begin =
        @Sendable (
            DatabaseHandle, _ onCancel: @escaping @Sendable (DatabaseError) -> Void,
            _ onEvent: @escaping @Sendable (ObservedEvent) -> Void
        ) -> Void

    private let query: DatabaseQuery
    private let waiting: Waiting
    private let begin: Begin
    private let transform: @Sendable (ObservedEvent) throws(DatabaseError) -> Element

    init(
        _ query: DatabaseQuery, _ kinds: EventKinds, _ waiting: Waiting,
        _ transform: @escaping @Sendable (ObservedEvent) throws(DatabaseError) -> Element
    ) {
        let begin: Begin = { query.observe(kinds, $0, onCancel: $1, onEvent: $2) }
        self.init(query, waiting, begin: begin, transform)
    }

    init(
        _ query: DatabaseQuery, _ waiting: Waiting, begin: @escaping Begin,
        _ transform: @escaping @Sendable (ObservedEvent) throws(DatabaseError) -> Element
    ) {
        self.query = query
        self.waiting = waiting
        self.begin = begin
        self.transform = transform
    }

    /// Begins to observe.
    public func makeAsyncIterator() -> Iterator {
        typealias Events = AsyncThrowingStream<ObservedEvent, any Error>
        let policy: Events.Continuation.BufferingPolicy =
            switch waiting {
            case .newest(let count): .bufferingNewest(count)
            case .oldest(let count): .bufferingOldest(count)
            }
        let (stream, continuation) = Events.makeStream(bufferingPolicy: policy)
        let isLossless = if case .oldest = waiting { true } else { false }
        let handle = DatabaseHandle(number: query.ref.database.makeObserverNumber())
        // Set first, since the observer may end the events immediately.
        continuation.onTermination = { [query] _ in query.removeObserver(withHandle: handle) }
        begin(handle, { continuation.finish(throwing: $0) }) { event in
            if case .dropped = continuation.yield(event), isLossless {
                continuation.finish(throwing: DatabaseError.slowReader)
            }
        }
        return Iterator(base: stream.makeAsyncIterator(), database: query.ref.database, transform: transform)
    }

    /// One loop over the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<ObservedEvent, any Error>.Iterator
        /// Kept alive while a loop reads.
        fileprivate let database: Database
        fileprivate let transform: @Sendable (ObservedEvent) throws(DatabaseError) -> Element

        /// The next event; nil when the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DatabaseError) -> Element? {
            do {
                guard let event = try await base.next(isolation: actor) else { return nil }
                return try transform(event)
            } catch let error as DatabaseError {
                throw error
            } catch {
                throw .cancelled
            }
        }
    }
}

@available(*, unavailable)
extension DatabaseEvents.Iterator: Sendable {}
