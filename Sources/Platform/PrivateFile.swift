#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A small file that only its owner may read, replaced as a whole.
package enum PrivateFile {
    package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ attempt: String, _ code: Int32) { description = "\(attempt): \(String(cString: strerror(code)))" }

        init(_ description: String) { self.description = description }
    }

    /// The largest file that is read.
    package static let byteCountMax = 1 << 20

    /// The whole file, or nil if there is no file. A file of more than 1 MiB is an error, and so is one that others may
    /// read or write.
    package static func read(_ path: String) throws(Failure) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw Failure("cannot open \(path)", errno) }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw Failure("cannot read \(path)", errno) }
        guard information.st_mode & 0o077 == 0 else {
            throw Failure("others may read \(path), which holds secrets: chmod 600 it")
        }
        guard information.st_size <= byteCountMax else { throw Failure("\(path) is too large") }
        var bytes = [UInt8](repeating: 0, count: Int(information.st_size))
        var count = 0
        while count < bytes.count {
            let part = bytes.withUnsafeMutableBytes { readPart(descriptor, $0, from: count) }
            if part < 0, errno == EINTR { continue }
            guard part > 0 else { throw Failure("cannot read \(path)", part < 0 ? errno : EIO) }
            count += part
        }
        return bytes
    }

    /// Replaces the file, durably: after a crash it is the old one or the new one. One writer at a time.
    ///
    /// - parameter keepsOwner: a file of the superuser belongs to the owner of the old file, or else to that of the
    ///   folder, whose programs have to read it.
    package static func replace(
        _ path: String, with bytes: [UInt8], keepsOwner: Bool = true
    ) throws(Failure) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("cannot make \(temporary)", errno) }
        var failure: Failure?
        do throws(Failure) {
            if keepsOwner { try giveToOwner(of: path, descriptor) }
            try write(bytes, to: descriptor, path: temporary)
        } catch { failure = error }
        close(descriptor)
        if failure == nil, rename(temporary, path) != 0 { failure = Failure("cannot replace \(path)", errno) }
        if let failure {
            unlink(temporary)
            throw failure
        }
        try syncFolder(of: path)
    }

    /// Removes the file, if there is one, durably.
    package static func remove(_ path: String) throws(Failure) {
        if unlink(path) == 0 { return try syncFolder(of: path) }
        guard errno == ENOENT else { throw Failure("cannot remove \(path)", errno) }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(Failure) {
        var count = 0
        while count < bytes.count {
            let part = bytes.withUnsafeBytes { writePart(descriptor, $0, from: count) }
            if part < 0, errno == EINTR { continue }
            guard part > 0 else { throw Failure("cannot write \(path)", part < 0 ? errno : EIO) }
            count += part
        }
        guard fsync(descriptor) == 0 else { throw Failure("cannot write \(path)", errno) }
    }

    private static func giveToOwner(of path: String, _ descriptor: Int32) throws(Failure) {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard lstat(path, &status) == 0 || stat(folder(of: path), &status) == 0 else { return }
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
            throw Failure("cannot give \(path) to its owner", errno)
        }
    }

    private static func folder(of path: String) -> String { path.lastIndex(of: "/").map { String(path[...$0]) } ?? "." }

    /// The new name is durable when the folder is.
    private static func syncFolder(of path: String) throws(Failure) {
        let folder = folder(of: path)
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("cannot open \(folder)", errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Failure("cannot write \(folder)", errno) }
    }
}

// The enum's own functions have the names of the system's.

private func readPart(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, from start: Int) -> Int {
    read(descriptor, bytes.baseAddress! + start, bytes.count - start)
}

private func writePart(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    write(descriptor, bytes.baseAddress! + start, bytes.count - start)
}
