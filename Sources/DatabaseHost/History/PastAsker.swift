/// A client that waits for an answer about the past. The answer is wanted as long as this exists.
package final class PastAsker: Sendable {
    /// The client's number.
    let client: UInt64

    package init(client: UInt64) { self.client = client }

    /// A reference for the work on its behalf, which does not keep it.
    package var weak: Weak { Weak(self) }

    package struct Weak: Sendable {
        package let client: UInt64
        private let exists: @Sendable () -> Bool

        fileprivate init(_ asker: PastAsker) {
            client = asker.client
            exists = { [weak asker] in asker != nil }
        }

        var isWaiting: Bool { exists() }
    }
}
