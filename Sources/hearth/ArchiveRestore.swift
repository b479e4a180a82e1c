import HearthEventLoop
import Glibc
import HearthBytes
import HearthHTTPCodec
import HearthJSONValues
import HearthJSONWebTokens
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
    private let output: ProgramOutput
    private let time: Int64?

    init(_ archive: String, _ arguments: Arguments) throws(UsageError) {
        self.archive = archive
        self.arguments = arguments
        output = try ProgramOutput(arguments)
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
        if let place = arguments["path"] {
            if arguments.flag("check") {
                throw UsageError(message: "--check reads the whole archive: --path cannot be given with it")
            }
            if arguments.isOnLine("data") {
                throw UsageError(message: "--path restores into a server that runs: --data cannot be given with it")
            }
            return try restore(place)
        }
        do throws(BackupError) {
            // An archive that cannot be read is not an empty one.
            try FolderContents(archive).requireReadable()
            if arguments.flag("check") { return try check() }
            let folder = arguments["data"] ?? "./data"
            if arguments.flag("all") { return try restoreAll(in: folder) }
            if let refusal = try refusal(of: [database]) { return refusal }
            let restored = try restore(database, in: folder)
            output.show(json(of: restored, folder), lines(of: restored, folder))
            return .success
        } catch {
            return complain(error)
        }
    }

    private var moment: String { time.map { "\(Timestamp(milliseconds: $0))" } ?? "the end of the archive" }

    private func json(of restored: ArchiveFolder.Restored, _ folder: String) -> JSONObject {
        JSONObject([
            "database": .text(restored.files.database), "data": .text(folder), "kept": restored.files.keptFiles.json,
            "sequence": .integer(Int64(clamping: restored.sequence)),
            "time": restored.time.map { .integer($0) } ?? .null,
        ])
    }

    private func lines(of restored: ArchiveFolder.Restored, _ folder: String) -> [String] {
        restored.files.lines(folder, of: " as of \(moment)", with: ", \(end(of: restored))")
    }

    /// How far it reaches.
    private func end(of restored: ArchiveFolder.Restored) -> String {
        let time = restored.time.map { ", committed at \(Timestamp(milliseconds: $0))" } ?? ""
        return "up to sequence \(restored.sequence)\(time)"
    }

    private func complain(_ error: BackupError) -> ExitCode {
        StandardError.write("hearth restore: \(error.message)\n")
        return .failure
    }

    private func restore(
        _ database: String, in folder: String, lockedBy owner: DataFolder? = nil
    ) throws(BackupError) -> ArchiveFolder.Restored {
        let restored = try ArchiveFolder.restore(
            archive, database: database, at: time, as: nil, in: folder, lockedBy: owner
        ) { _ in }
        if restored.isAtEnd {
            let last = restored.time.map { "the commit of \(Timestamp(milliseconds: $0))" } ?? "a copy without commits"
            StandardError.write(
                "hearth restore: the archive of \(database) ends with \(last), and cannot tell of later ones\n")
        }
        return restored
    }

    /// How the command ends if the archive is known to lack something of the moment, and nobody agrees; otherwise nil.
    ///
    /// - parameter lack: what else it lacks.
    private func refusal(of databases: [String], lack: String? = nil) throws(BackupError) -> ExitCode? {
        var lacks = lack.map { [$0] } ?? []
        for database in databases {
            let chains = ArchiveFolder(archive, database: database).chains
            if let time, let first = chains.first, time < first.time {
                let begin = Timestamp(milliseconds: first.time)
                throw BackupError(message: "the archive of \(database) begins at \(begin), after \(moment)")
            }
            guard let missing = try ArchiveFolder.missing(in: archive, database: database, at: time) else { continue }
            let (after, before) = (Timestamp(milliseconds: missing.after), Timestamp(milliseconds: missing.before))
            lacks.append("commits of \(database) between \(after) and \(before) may be missing")
        }
        if lacks.isEmpty { return nil }
        let what = "restore what there is of \(moment), although \(lacks.joined(separator: ", and "))"
        if let refusal = Confirmation.refusal(of: what, arguments, command: "restore") { return refusal }
        for lack in lacks { StandardError.write("hearth restore: \(lack)\n") }
        return nil
    }

    /// Every database that the archive has of the moment, with the accounts, keys, rules and settings.
    private func restoreAll(in folder: String) throws(BackupError) -> ExitCode {
        func requireEmpty() throws(BackupError) {
            try BackupSet.requireEmpty(folder, hint: "Restore into a new folder, or one database without --all")
        }
        try requireEmpty()
        let databases = ArchiveFolder.databases(in: archive).filter { name in
            guard let time, let first = ArchiveFolder(archive, database: name).chains.first, time < first.time else {
                return true
            }
            StandardError.write(
                "hearth restore: left out \(name): its archive begins at \(Timestamp(milliseconds: first.time))\n")
            return false
        }
        guard !databases.isEmpty else { throw BackupError(message: "the archive \(archive) has nothing of \(moment)") }
        let accounts = try AccountsArchive.checkedCopy(in: archive, at: time)
        let lack = accounts == nil ? "the archive has no accounts, keys, rules and settings" : nil
        if let refusal = try refusal(of: databases, lack: lack) { return refusal }
        var results = output.list
        try FolderRestore.run(in: folder, requireEmpty: requireEmpty) { (lock) throws(BackupError) in
            try accounts?.put(in: lock)
            for database in databases {
                let restored = try restore(database, in: folder, lockedBy: lock)
                results.append(json(of: restored, folder), self.lines(of: restored, folder))
            }
        }
        let lines = accounts.map { accounts in
            let time = Timestamp(milliseconds: accounts.time)
            return ["restored accounts, keys, rules and settings as of \(time) in \(folder)"]
        }
        results.append(JSONObject(["accounts": accounts.map { .integer($0.time) } ?? .null]), lines ?? [])
        results.end()
        return .success
    }

    private func check() throws(BackupError) -> ExitCode {
        let databases = arguments["database"].map { [$0] } ?? ArchiveFolder.databases(in: archive)
        guard !databases.isEmpty else { throw BackupError(message: "there is no archive in \(archive)") }
        var results = output.list
        for database in databases {
            for window in try ArchiveFolder.check(archive, database: database) {
                results.append(window.json, [window.text])
            }
        }
        if arguments["database"] == nil { try checkAccounts(&results) }
        results.end()
        return .success
    }

    private func checkAccounts(_ results: inout ProgramOutput.List) throws(BackupError) {
        let copies = try AccountsArchive.check(archive)
        guard let first = copies.first, let last = copies.last else { return }
        let byteCount = copies.reduce(0) { $0 + $1.byteCount }
        let (begin, end) = (Timestamp(milliseconds: first.time), Timestamp(milliseconds: last.time))
        let json = JSONObject([
            "accounts": .integer(Int64(copies.count)), "begin": .integer(first.time), "end": .integer(last.time),
            "bytes": .integer(byteCount),
        ])
        let size = ByteText(Int(byteCount))
        results.append(
            json,
            ["accounts, keys, rules and settings: \(copies.count) copies from \(begin) to \(end), \(size)"])
    }

    // MARK: One path

    /// The limit of one write over REST (rest.md 1).
    private static let valueBytesMax = 256 << 20

    private func restore(_ place: String) throws(UsageError) -> ExitCode {
        guard arguments["url"] != nil || arguments["key"] != nil else {
            throw UsageError(message: "--path needs the server that runs: --url URL, or --key FILE")
        }
        let target = try ClientRun("restore", arguments, at: place)
        let path = target.address.url.path
        if let refusal = refusal(target) { return refusal }
        do throws(BackupError) {
            try FolderContents(archive).requireReadable()
            if let refusal = try refusal(of: [database]) { return refusal }
        } catch {
            return complain(error)
        }
        try SignalledEnd.removesFiles()
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/hearth-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            return complain(BackupError("cannot make a temporary folder"))
        }
        let folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        UnfinishedFiles.making(folder) {}
        defer {
            UnfinishedFiles.ending(folder) {
                for file in FolderContents(folder).files { unlink("\(folder)/\(file)") }
                _ = rmdir(folder)
            }
        }
        do throws(BackupError) {
            let restored = try restore(database, in: folder)
            let past = try PastServer(folder, database: database)
            defer { past.stop() }
            let (url, query, moment, output) = (past.url, "format=export&auth=\(past.secret)", moment, output)
            let (database, end) = (database, self.end(of: restored))
            let reached = json(of: restored, folder)
            return target.onLoop { loop throws(ConnectionError) in
                let value = Mutex<[UInt8]>([])
                let source = HTTPCall(url.address(path, query: query))
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
                let bytes = call.body.count
                output.show(
                    JSONObject([
                        "database": .text(database), "path": .text("\(path)"), "bytes": .integer(Int64(bytes)),
                        "sequence": reached["sequence"], "time": reached["time"],
                    ]), ["restored \(path) as of \(moment), \(ByteText(bytes)), \(end)"])
                return .success
            }
        } catch {
            return complain(error)
        }
    }

    /// How the command ends unless there is nothing to replace, or somebody agrees; then nil.
    private func refusal(_ target: ClientRun) -> ExitCode? {
        if arguments.flag("yes") { return nil }
        let isEmpty = Mutex(false)
        let code = target.onLoop { loop throws(ConnectionError) in
            let value = Mutex<[UInt8]>([])
            let call = try await target.request(query: "format=export", on: loop)
            do throws(ConnectionError) {
                try await Download.run(call, on: loop, options: target.address.options) { bytes in
                    value.withLock { value in
                        value += bytes
                        // The beginning shows the values that are not null.
                        return value.starts(with: Self.null.prefix(value.count)) && value.count <= Self.null.count
                    }
                }
                isEmpty.withLock { $0 = value.withLock { $0 == Self.null } }
            } catch .cancelled {}
            return .success
        }
        if code != .success { return code }
        if isEmpty.withLock({ $0 }) { return nil }
        let url = target.address.url
        let what = "replace what is in \(url.path) at \(url), which is not empty, by what it was at \(moment)"
        return Confirmation.refusal(of: what, arguments, command: "restore")
    }

    /// As a download has it.
    private static let null = Array("null".utf8)
}

/// A server on the restored files, for this process alone to read from. It is closed to other users of the machine.
private struct PastServer {
    let url: DatabaseURL
    /// The only credential that it takes.
    let secret = String(decoding: Base64.url.encode(Cryptography.randomBytes(32)), as: UTF8.self)
    private let server: Server

    init(_ folder: String, database: String) throws(BackupError) {
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder)
        configuration.legacySecretFile = "\(folder)/secret"
        configuration.rulesFile = "\(folder)/rules"
        configuration.defaultDatabase = database
        configuration.durability = .process
        configuration.logLevel = .error
        do {
            try PrivateFile.replace("\(folder)/secret", with: Array(secret.utf8))
            try PrivateFile.replace(
                "\(folder)/rules", with: Array(#"{"rules":{".read":false,".write":false}}"#.utf8))
            server = try Server(configuration)
            url = try DatabaseURL("ws://\(server.address)/?ns=\(database)")
        } catch {
            throw BackupError(message: "the restored files cannot be served: \(error)")
        }
    }

    func stop() { server.stop() }
}
