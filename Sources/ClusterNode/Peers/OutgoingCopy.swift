import Glibc
import HearthStorageErrors
import HearthSystem
import Synchronization
import HearthTreeStorage

/// A copy of a database for another node: an open file without a name, which goes with this object; or a few bytes.
final class OutgoingCopy: Sendable {
    private let descriptor: Int32?
    private let bytes: Mutex<[UInt8]>

    /// Takes over a descriptor.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        bytes = Mutex([])
    }

    private init(bytes: [UInt8]) {
        descriptor = nil
        self.bytes = Mutex(bytes)
    }

    deinit { if let descriptor { close(descriptor) } }

    /// The next bytes; none at the end. Used by one thread.
    func read(maximum: Int) throws(CopyFailure) -> [UInt8] {
        guard let descriptor else {
            return bytes.withLock { bytes in
                defer { bytes = [] }
                return bytes
            }
        }
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, count in
            let result = Glibc.read(descriptor, buffer.baseAddress, maximum)
            if result < 0 { code = errno }
            count = max(result, 0)
        }
        guard code == 0 else {
            throw CopyFailure(description: "its copy cannot be read: \(String(cString: strerror(code)))")
        }
        return bytes
    }

    /// Makes a copy, unless it would be of no use. Waits for the disk.
    static func make(_ request: CopyRequest, _ folder: DataFolder) -> Result<OutgoingCopy, CopyFailure> {
        let (name, need) = (request.database, request.need)
        guard DataFolder.isFileName(name), folder.hasDatabase(name) else { return refusal("it has no such database") }
        do throws(StorageError) {
            guard let end = try folder.logEnd(of: name), end.epoch == need.epoch else {
                return refusal("its files are of another history")
            }
            if request.asksForSize { return size(folder.byteCount(of: name)) }
            guard end.sequence + 1 >= need.floor else {
                return refusal("its own files end at \(end.sequence), and etcd has the commits from \(need.floor) on")
            }
        } catch {
            return refusal(error.message)
        }
        let needed = folder.byteCount(of: name)
        if let space = DiskSpace(of: folder.path), space.available < needed {
            return refusal("its disk has no room for a copy: \(needed >> 20) MiB are needed")
        }
        let path = folder.outgoingCopyPath(of: name)
        do throws(BackupError) {
            _ = try Backup.make(of: name, in: folder.path, to: path, .history)
        } catch {
            return refusal(error.message)
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let code = errno
        unlink(path)
        if descriptor < 0 { return refusal("cannot open \(path): \(String(cString: strerror(code)))") }
        return .success(OutgoingCopy(descriptor: descriptor))
    }

    /// Eight bytes in place of a copy.
    static func size(_ bytes: Int64) -> Result<OutgoingCopy, CopyFailure> {
        .success(OutgoingCopy(bytes: withUnsafeBytes(of: bytes.bigEndian) { Array($0) }))
    }

    private static func refusal(_ text: String) -> Result<OutgoingCopy, CopyFailure> {
        .failure(CopyFailure(description: text))
    }
}
