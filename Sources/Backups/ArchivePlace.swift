import Glibc
import HearthSystem
import HearthTreeStorage

/// Whether a folder holds the archive that a data folder has been copied to. Without its disk, the name of the archive
/// means no folder, or the empty one in which the disk was mounted: a new archive there would only seem to be one.
///
/// So an archive has a name, at random, in its file `archive.id`. The file of that name in the data folder has the same
/// name, and below it the path of the archive.
struct ArchivePlace: Sendable {
    private let archive: String
    private let data: String

    init(_ archive: String, of data: String) {
        // The same folder by another spelling is the same archive.
        let names = archive.split(separator: "/").filter { $0 != "." }
        self.archive = (archive.hasPrefix("/") ? "/" : "") + names.joined(separator: "/")
        self.data = data
    }

    private static func note(in folder: String) -> String { "\(folder)/archive.id" }

    /// Throws if the folder is gone, or is not the archive that the data folder had there. The first time, and after
    /// another path was configured, it becomes that archive.
    func verify() throws(BackupError) {
        guard access(archive, F_OK) == 0 else { throw BackupError(message: "the archive \(archive) is gone") }
        let found = try Self.lines(Self.note(in: archive)).first
        let noted = try Self.lines(Self.note(in: data))
        if noted.count == 2, noted[1] == archive {
            guard found != noted[0] else { return }
            throw BackupError(
                message: "\(archive) is not the archive that was kept there: is its disk mounted? "
                    + "To begin another one, or to go on with this one, remove \(Self.note(in: data))")
        }
        do throws(PrivateFile.Failure) {
            let name = found ?? String(UInt64.random(in: 1 ... .max), radix: 16)
            // First in the archive: without the other file, it is found there again.
            if found == nil { try PrivateFile.replace(Self.note(in: archive), with: Array("\(name)\n".utf8)) }
            try PrivateFile.replace(Self.note(in: data), with: Array("\(name)\n\(archive)\n".utf8))
        } catch {
            throw BackupError(message: error.description)
        }
    }

    /// Of a file that there is; none of one that there is not.
    private static func lines(_ path: String) throws(BackupError) -> [String] {
        // Not as a private file: some disks let everybody read all files.
        guard let bytes = FileBytes.read(path) else {
            let code = errno
            if code == ENOENT { return [] }
            throw BackupError(message: SystemError("read \(path)", code: code).description)
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
