import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthServer
import HearthShell
import HearthServerLog
import Synchronization
import HearthSystem
import HearthTreeStorage
import HearthBackups
import HearthClientSession
import HearthConnection

/// `hearth restore --archive`: a whole database into a data folder, everything into a new data folder, or the value at
/// one path into a running database.
struct ArchiveRestore {
    private let archive: String
    private let database: String
    private let arguments: Arguments
    private let time: Int64?

    init(_ archive: String, _ arguments: Arguments) throws(UsageError) {
        self.archive = archive
        self.arguments = arguments
        database = arguments["database"] ?? "default"
        guard let text = arguments["at"] else {
            time = nil
            return
        }
        guard let time = Timestamp(parsing: text) else {
            throw UsageError(message: "--at must be a time like 2026-11-22T03:15:00Z, not '\(text)'")
        }
        self.time = time.milliseconds
    }

    func run() throws(UsageError) -> ExitCode {
        if arguments.flag("all") {
            for name in ["path", "database"] where arguments[name] != nil {
                throw UsageError(message: "--all restores everything: --\(name) cannot be given with it")
            }
        }
        if let place = arguments["path"] { return try restore(place) }
        do throws(BackupError) {
            if arguments.flag("check") { return try check() }
            let folder = arguments["data"] ?? "./data"
            if arguments.flag("all") { return try restoreAll(in: folder) }
            let restored = try restore(in: folder)
            for file in restored.keptFiles { StandardOutput.line("kept what was there as \(file)") }
            StandardOutput.line("restored \(database) as of \(moment) in \(folder)")
            return .success
        } catch {
            return complain(error)
        }
    }

    private var moment: String { time.map { "\(Timestamp(milliseconds: $0))" } ?? "the end of the archive" }

    private func complain(_ error: BackupError) -> ExitCode {
        StandardError.write("hearth restore: \(error.message)\n")
        return .failure
    }

    private func restore(in folder: String) throws(BackupError) -> Backup.Restored {
        try restore(database, in: folder)
    }

    private func restore(_ database: String, in folder: String) throws(BackupError) -> Backup.Restored {
        let chains = ArchiveFolder(archive, database: database).chains
        if let time, let first = chains.first, time < first.time {
            throw BackupError(
                message: "the archive of \(database) begins at \(Timestamp(milliseconds: first.time)), after \(moment)")
        }
        return try ArchiveFolder.restore(archive, database: database, at: time, as: nil, in: folder) { _ in }
    }

    /// Every database that the archive has of the moment, with the accounts, keys, rules and settings.
    private func restoreAll(in folder: String) throws(BackupError) -> ExitCode {
        try BackupSet.requireEmpty(folder, hint: "Restore into a new folder, or one database without --all")
        let databases = ArchiveFolder.databases(in: archive).filter { name in
            guard let time, let first = ArchiveFolder(archive, database: name).chains.first, time < first.time else {
                return true
            }
            StandardError.write(
                "hearth restore: left out \(name): its archive begins at \(Timestamp(milliseconds: first.time))\n")
            return false
        }
        guard !databases.isEmpty else { throw BackupError(message: "the archive \(archive) has nothing of \(moment)") }
        // The accounts come first: they need a folder that is empty.
        let accounts = AccountsArchive.copy(in: archive, at: time)
        if let accounts {
            _ = try BackupSet.restore(accounts.path, in: folder)
        }
        for database in databases {
            _ = try restore(database, in: folder)
            StandardOutput.line("restored \(database) as of \(moment) in \(folder)")
        }
        if let accounts {
            let time = Timestamp(milliseconds: accounts.time)
            StandardOutput.line("restored accounts, keys, rules and settings as of \(time) in \(folder)")
        } else {
            StandardError.write("hearth restore: the archive \(archive) has no accounts, keys, rules or settings\n")
        }
        return .success
    }

    private func check() throws(BackupError) -> ExitCode {
        let databases = arguments["database"].map { [$0] } ?? ArchiveFolder.databases(in: archive)
        guard !databases.isEmpty else { throw BackupError(message: "there is no archive in \(archive)") }
        for database in databases {
            for window in try ArchiveFolder.check(archive, database: database) {
                let (begin, end) = (Timestamp(milliseconds: window.begin), Timestamp(milliseconds: window.end))
                StandardOutput.line(
                    "\(database): from \(begin) to \(end), sequence \(window.sequence), \(window.copies) copies and "
                        + "\(window.segments) segments, \(ByteText(Int(window.byteCount)))")
            }
        }
        guard arguments["database"] == nil else { return .success }
        let copies = AccountsArchive.copies(in: archive)
        for copy in copies { _ = try BackupSet.check(copy.path) }
        if let first = copies.first, let last = copies.last {
            let (begin, end) = (Timestamp(milliseconds: first.time), Timestamp(milliseconds: last.time))
            let size = ByteText(copies.reduce(0) { $0 + Int($1.byteCount) })
            StandardOutput.line(
                "accounts, keys, rules and settings: \(copies.count) copies from \(begin) to \(end), \(size)")
        }
        return .success
    }

    // MARK: One path

    /// What one write over REST can have (rest.md 1).
    private static let valueBytesMax = 256 << 20

    private func restore(_ place: String) throws(UsageError) -> ExitCode {
        guard arguments["url"] != nil || arguments["key"] != nil else {
            throw UsageError(message: "--path needs the server that runs: --url URL, or --key FILE")
        }
        let target = try ClientRun("restore", arguments, at: place)
        let path = target.address.url.path
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/hearth-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            return complain(BackupError("cannot make a temporary folder"))
        }
        let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        defer {
            for file in FolderContents(folder).files { unlink("\(folder)/\(file)") }
            rmdir(folder)
        }
        do throws(BackupError) {
            _ = try restore(in: folder)
            let past = try PastServer(folder, database: database)
            defer { past.stop() }
            let (url, moment) = (past.url, moment)
            return target.onLoop { loop throws(ConnectionError) in
                let value = Mutex<[UInt8]>([])
                let source = HTTPCall(url.address(path, query: "format=export"))
                do throws(ConnectionError) {
                    try await Download.run(source, on: loop) { bytes in
                        value.withLock { value in
                            value += bytes
                            return value.count <= Self.valueBytesMax
                        }
                    }
                } catch .cancelled {
                    return target.complain(
                        "\(path) has more than 256 MiB: restore the database, then export and import it", .failure)
                }
                var call = try await target.request(query: "print=silent", on: loop)
                call.method = .put
                call.contentType = "application/json"
                call.body = value.withLock { $0 }
                let answer = try await call.anyAnswer(on: loop, options: target.address.options)
                guard answer.status == .noContent else { throw answer.refusal }
                StandardOutput.line("restored \(path) as of \(moment), \(ByteText(call.body.count))")
                return .success
            }
        } catch {
            return complain(error)
        }
    }
}

/// A server on the restored files, for this process alone to read from.
private struct PastServer {
    let url: DatabaseURL
    private let server: Server

    init(_ folder: String, database: String) throws(BackupError) {
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder)
        configuration.isDevelopment = true
        configuration.defaultDatabase = database
        configuration.durability = .process
        configuration.logLevel = .error
        do {
            server = try Server(configuration)
            url = try DatabaseURL("ws://\(server.address)/?ns=\(database)")
        } catch {
            throw BackupError(message: "the restored files cannot be served: \(error)")
        }
    }

    func stop() { server.stop() }
}
