import HearthPlatform

/// A small file that only its owner may read, such as one with a session. It is replaced as a whole: after a crash it
/// is the old one or the new one.
public struct SecretFile: Hashable, Sendable {
    /// A file that cannot be used.
    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The failed operation and the reason.
        public let description: String
    }

    /// Its path.
    public let path: String

    /// The file at a path, which need not exist.
    public init(path: String) { self.path = path }

    /// The whole contents; nil if the file does not exist.
    ///
    /// - throws: also if other users may read it, or if it is larger than 1 MiB.
    public func read() throws(Failure) -> [UInt8]? {
        do throws(PrivateFile.Failure) { return try PrivateFile.read(path) } catch { throw Failure(error) }
    }

    /// Replaces or creates it.
    public func replace(with bytes: [UInt8]) throws(Failure) {
        do throws(PrivateFile.Failure) { try PrivateFile.replace(path, with: bytes) } catch { throw Failure(error) }
    }

    /// Removes it, if it exists.
    public func remove() throws(Failure) {
        do throws(PrivateFile.Failure) { try PrivateFile.remove(path) } catch { throw Failure(error) }
    }
}

extension SecretFile.Failure {
    fileprivate init(_ failure: PrivateFile.Failure) { self.init(description: failure.description) }
}
