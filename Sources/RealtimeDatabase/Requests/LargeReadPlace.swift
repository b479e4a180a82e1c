/// That a large read is under way. It ends with the last reference to its place.
package final class LargeReadPlace: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
