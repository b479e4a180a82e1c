/// Comparing a large value with a client's copy, part by part (Protocol.md 4.2), so that only differing parts are sent.
///
/// The client cuts the leaves of its value, in tree order, after certain places, the *posts*, and sends a hash of each
/// part. The last part, after the last post, has no end.
package enum CompoundHash {
    /// A client's statement of its value: `hashes` has one more element than `posts`.
    package struct Parts: Hashable, Sendable {
        package var hashes: [[UInt8]]
        package var posts: [Path]

        package init(hashes: [[UInt8]], posts: [Path]) {
            self.hashes = hashes
            self.posts = posts
        }
    }
}
