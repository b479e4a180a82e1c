/// A sequence of events. Each loop over it has its own observer, from its beginning to its end. A cancelled task ends
/// its loop without an error.
public struct DatabaseEvents<Element: Sendable>: AsyncSequence, Sendable {
    /// Why a loop ends early.
    public typealias Failure = DatabaseError

    typealias Events = AsyncThrowingStream<ObservedEvent, any Error>

    /// The events kept for a slow reader.
    typealias Waiting = Events.Continuation.BufferingPolicy

    /// Begins to observe, as the observer with a number.
    typealias Begin =
        @Sendable (
            _ number: Int, _ onCancel: @escaping @Sendable (DatabaseError) -> Void,
            _ onEvent: @escaping @Sendable (ObservedEvent) -> Void
        ) -> Void

    private let database: Database
    private let waiting: Waiting
    private let begin: Begin
    private let transform: @Sendable (ObservedEvent) throws(DatabaseError) -> Element

    init(
        _ database: Database, _ waiting: Waiting, begin: @escaping Begin,
        _ transform: @escaping @Sendable (ObservedEvent) throws(DatabaseError) -> Element
    ) {
        self.database = database
        self.waiting = waiting
        self.begin = begin
        self.transform = transform
    }

    /// Begins to observe.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = Events.makeStream(bufferingPolicy: waiting)
        let isLossless = if case .bufferingOldest = waiting { true } else { false }
        let number = database.makeObserverNumber()
        // Set first, since the observer may end the events immediately.
        continuation.onTermination = { [database] _ in database.run { $0.removeObserver(number) } }
        begin(number, { continuation.finish(throwing: $0) }) { event in
            if case .dropped = continuation.yield(event), isLossless {
                continuation.finish(throwing: DatabaseError.slowReader)
            }
        }
        return Iterator(base: stream.makeAsyncIterator(), database: database, transform: transform)
    }

    /// One loop over the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Events.Iterator
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
