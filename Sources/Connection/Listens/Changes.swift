package import HearthClientSession

/// The changes at and below a place, as they come from the server, in the order of its commits.
///
///     for try await change in try await connection.listen(path) { … }
///
/// The first change is the whole value, null if there is nothing, unless the listen resumes. The sequence is read once,
/// by one task. It ends without an error when the task that reads is cancelled, and with one when the server revokes
/// the listen, when too much waits for the reader, or when the connection ends. The server is told to stop when the
/// sequence and its iterator are gone.
package struct Changes: AsyncSequence, Sendable {
    package typealias Element = Change
    package typealias Failure = ConnectionError

    private let listen: Listen

    /// Whether the listen began at the position that it was given: the first change then tells the changes since, if
    /// there are any, and not everything.
    package let isResumed: Bool

    init(_ listen: Listen, isResumed: Bool) {
        self.listen = listen
        self.isResumed = isResumed
    }

    /// Where in the order of commits the reader is: after the last change that it got. Nil if the server does not say
    /// so, or nothing came yet.
    package var position: [UInt8]? { listen.buffer.position }

    package func makeAsyncIterator() -> Iterator { Iterator(listen: listen) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let listen: Listen

        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ConnectionError) -> Change? {
            try await listen.buffer.next()
        }
    }
}

/// A listen while somebody is interested in it.
final class Listen: Sendable {
    let buffer: ChangeBuffer
    private let end: @Sendable () -> Void

    /// - parameter end: ends it at the server. It keeps the connection open.
    init(_ buffer: ChangeBuffer, end: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.end = end
    }

    deinit { end() }
}
