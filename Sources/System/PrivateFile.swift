import HearthPlatform

/// A small file that only its owner may read, replaced as a whole: `HearthPlatform`'s, for modules that use this one.
package enum PrivateFile {
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// The largest file that is read.
    package static let byteCountMax = HearthPlatform.PrivateFile.byteCountMax

    /// The whole file, or nil if there is no file. A file of more than 1 MiB is an error, and so is one that others may
    /// read or write.
    package static func read(_ path: String) throws(Failure) -> [UInt8]? {
        try attempt { () throws(HearthPlatform.PrivateFile.Failure) in try HearthPlatform.PrivateFile.read(path) }
    }

    /// Replaces the file, durably: after a crash it is the old one or the new one. One writer at a time.
    ///
    /// - parameter keepsOwner: a file of the superuser belongs to the owner of the old file, or else to that of the
    ///   folder, whose programs have to read it.
    package static func replace(_ path: String, with bytes: [UInt8], keepsOwner: Bool = true) throws(Failure) {
        try attempt { () throws(HearthPlatform.PrivateFile.Failure) in
            try HearthPlatform.PrivateFile.replace(path, with: bytes, keepsOwner: keepsOwner)
        }
    }

    /// Removes the file, if there is one.
    package static func remove(_ path: String) throws(Failure) {
        try attempt { () throws(HearthPlatform.PrivateFile.Failure) in try HearthPlatform.PrivateFile.remove(path) }
    }

    private static func attempt<Result>(
        _ work: () throws(HearthPlatform.PrivateFile.Failure) -> Result
    ) throws(Failure) -> Result {
        do throws(HearthPlatform.PrivateFile.Failure) { return try work() } catch {
            throw Failure(description: error.description)
        }
    }
}
