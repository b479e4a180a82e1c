/// Where a child of a collection holds the time at which it expires.
package struct ExpiryTime: Hashable, Sendable {
    /// Below the child; the root if the child itself is the time. A number of milliseconds since 1970.
    package let path: Path
    /// How long after that time the child expires, in milliseconds.
    package let after: Int64

    package init(_ path: Path, after: Int64) { (self.path, self.after) = (path, after) }
}
