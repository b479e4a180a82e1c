import HearthPlatform

/// A small file of a program's own that only its owner may read, such as one with a session. It is replaced as a whole:
/// after a crash it is the old one or the new one.
public struct SecretFile: Hashable, Sendable {
    /// A file that cannot be used.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What was tried, and why it failed.
        public let description: String
    }

    /// Where it is.
    public let path: String

    /// The file at a path, which need not be there.
    public init(path: String) { self.path = path }

    /// All of it; nil if there is none.
    ///
    /// - throws: also if others may read it, or if it is larger than 1 MiB.
    public func read() throws(Failure) -> [UInt8]? {
        do throws(PrivateFile.Failure) { return try PrivateFile.read(path) } catch { throw Failure(error) }
    }

    /// Replaces it, or makes it.
    public func replace(with bytes: [UInt8]) throws(Failure) {
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: bytes) } catch { throw Failure(error) }
    }

    /// Removes it, if it is there.
    public func remove() throws(Failure) {
        do throws(PrivateFile.Failure) { try PrivateFile.remove(path) } catch { throw Failure(error) }
    }
}

extension SecretFile.Failure {
    fileprivate init(_ failure: PrivateFile.Failure) { self.init(description: failure.description) }
}
