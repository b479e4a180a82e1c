import CHearthSQLite
import Glibc
import HearthSQLite
import HearthStorageErrors

/// Makes the write-ahead file of a commit log longer before commits need the room. A commit that makes a file longer
/// has the disk take its new length as well, which takes half as long as a small commit (docs/decisions/0009).
///
/// The room is zeros after the end of the file. SQLite ends where the salts of a frame are not those of the file's
/// header (its File Format, section 4.1), so they mean nothing to it. Room that the disk does not have is made by the
/// commits themselves, which report that.
final class WriteAheadRoom {
    /// Bytes of an extension: as many as are in use, within these.
    private static let extensions = 65_536...262_144
    /// With fewer bytes left, there is an extension.
    private static let reserve = 32_768
    /// With as many frames, the file is copied into the main file.
    private static let checkpoint: Int32 = 4096

    private let connection: Connection
    private let descriptor: Int32
    private let frameSize: Int
    /// Frames in use, after the last commit.
    private var frames: Int32 = 0
    private var used: Int { 32 + Int(frames) * frameSize }
    /// Bytes of the file, when it was looked at, and those that were in use then.
    private var length = 0
    private var usedThen = 0

    /// - parameter connection: in write-ahead mode, and has read something. Its automatic checkpoints, of which it has
    ///   no others, are made from here from now on.
    init(_ connection: Connection) throws(StorageError) {
        frameSize = 24 + Int(try connection.integer("PRAGMA page_size") ?? 4096)
        // Beside the file that a link leads to.
        let name = sqlite3_filename_wal(sqlite3_db_filename(connection.handle, "main"))
        let path = name.map { String(cString: $0) } ?? ""
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw .inputOutput("open \(path): \(String(cString: strerror(errno)))") }
        self.connection = connection
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = sqlite3_wal_hook(
            connection.handle,
            { context, handle, name, frames in
                // `deinit` removes the hook, so the object is there.
                Unmanaged<WriteAheadRoom>.fromOpaque(context!).takeUnretainedValue().frames = frames
                // As SQLite does by itself: the next commit tries again.
                if frames >= WriteAheadRoom.checkpoint { sqlite3_wal_checkpoint(handle, name) }
                return SQLITE_OK
            }, context)
    }

    deinit {
        _ = sqlite3_wal_hook(connection.handle, nil, nil)
        close(descriptor)
    }

    /// To be called after a commit. Costs a system call or two in a few commits of a hundred, and only until the file
    /// has the length at which it is copied and begins again.
    func extend() {
        let used = used
        // It begins again after a checkpoint, and was perhaps emptied.
        if used < usedThen || used + Self.reserve > length {
            // Not `fstat`, which asks for times too: see ``FileIdentity``.
            length = Int(lseek(descriptor, 0, SEEK_END))
            usedThen = used
        }
        guard used + Self.reserve > length else { return }
        let count = min(max(used, Self.extensions.lowerBound), Self.extensions.upperBound)
        let zeros = [UInt8](repeating: 0, count: count)
        // After the end: nothing that SQLite has written is there.
        length += max(0, pwrite(descriptor, zeros, count, off_t(length)))
    }
}
