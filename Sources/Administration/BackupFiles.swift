import HearthBytes
import Glibc
import HearthJSONValues
import HearthTreeStorage
import HearthRealtimeSessions

/// The copies of databases that administrators had the server make, as they see them. Its calls wait for the disk.
struct BackupFiles: Sendable {
    let folder: String

    /// Bytes that are read for one answer.
    private static let readMax = 256 << 10

    /// The newest first.
    func list() -> AdminAnswer {
        var files: [(time: Int64, JSONValue)] = []
        for name in names {
            var status = stat()
            guard stat("\(folder)/\(name)", &status) == 0 else { continue }
            let time = Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
            let file = JSONObject([
                "file": .text(name), "bytes": .integer(Int64(status.st_size)), "time": .integer(time),
            ])
            files.append((time, .object(file)))
        }
        return .success(
            JSONObject(["backups": .array(files.sorted { $0.time > $1.time }.prefix(1000).map(\.1))]).bytes)
    }

    /// Reads all of a copy.
    func check(_ name: String) -> AdminAnswer {
        guard names.contains(name) else { return .failure(Self.unknown(name)) }
        do throws(BackupError) {
            let summary = try Backup.check("\(folder)/\(name)")
            return .success(
                JSONObject([
                    "database": .text(summary.database), "sequence": .integer(Int64(clamping: summary.sequence)),
                    "time": .integer(summary.time), "rows": .integer(Int64(summary.rows)),
                    "bytes": .integer(Int64(summary.byteCount)),
                ]).bytes)
        } catch {
            return .failure(AdminRefusal(text: error.message))
        }
    }

    /// `data` is empty at the end of the file.
    func read(_ name: String, at offset: Int64, limit: Int?) -> AdminAnswer {
        guard names.contains(name) else { return .failure(Self.unknown(name)) }
        let descriptor = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return .failure(Self.unknown(name)) }
        defer { close(descriptor) }
        let limit = min(max(limit ?? Self.readMax, 1), Self.readMax)
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let result = pread(descriptor, buffer.baseAddress, limit, off_t(offset))
            if result < 0 { failure = errno }
            count = max(result, 0)
        }
        if failure != 0 {
            return .failure(AdminRefusal(text: "\(name) cannot be read: \(String(cString: strerror(failure)))"))
        }
        return .success(JSONObject(["data": .string(Base64.standard.encode(bytes))]).bytes)
    }

    /// Other files in the folder must not be served.
    private var names: [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".backup") { names.append(name) }
        }
        return names
    }

    private static func unknown(_ name: String) -> AdminRefusal {
        AdminRefusal(status: "invalid_argument", text: "there is no backup '\(name)'")
    }
}
