import Glibc
import HearthJSONValues
import HearthShell
import HearthSystem
import HearthTreeStorage
import HearthBackups

extension Command {
    private static let folder = Arguments.Option(
        name: "data", value: "DIR", help: "the data folder (default ./data)")

    static let backup = Command(
        name: "backup", synopsis: "FILE | --to DIR | [URL] [OPTIONS]",
        summary: "Copy a database into one file, or everything into a folder, while the server runs or not.",
        json: #"""
            {"file", "database", "sequence", "time", "rows", "laterWrites", "bytes", "changes"} with FILE, where
            "changes" is the number of changes in its history and missing without one, {"folder",
            "databases": [NAME…], "accounts": BOOL, "time", "version", "bytes", "removed": [FOLDER…]} with --to,
            otherwise {"file", "sequence", "rows", "bytes"}. Times are in milliseconds since 1970.
            """#,
        details: """
            The copy holds every write that was acknowledged before, and is that of one moment. The server
            is not asked and does not wait. FILE gets its name when it is whole and on disk; until then it is
            FILE.part. 'hearth restore' reads it. The history that the settings keep ('.history') is in it;
            --no-history leaves it out, and it starts over when the copy is restored.

            With --to, all databases, the accounts, keys and rules go to a new folder DIR/hearth-TIME, with a
            manifest of their checksums. The server's metrics tell when that last succeeded.

            Without either, the server of URL makes the copy, in 'backups' of its data folder, and its name is
            printed. So does 'backup' in 'hearth shell'.
            """,
        options: backupOptions + serverOptions
    ) { arguments throws(UsageError) in
        if arguments["to"] == nil, arguments.positional.allSatisfy({ $0.contains("://") }) {
            for option in fileOptions where arguments.isOnLine(option.name) {
                throw UsageError(message: "--\(option.name) needs FILE or --to DIR")
            }
            return try ShellCommand.backup.run(arguments)
        }
        if let url = arguments.positional.first(where: { $0.contains("://") }) {
            throw UsageError(message: "\(url) is for a backup that the server makes, without FILE and --to")
        }
        for option in serverOptions where arguments.isOnLine(option.name) {
            throw UsageError(message: "--\(option.name) is for a backup that the server makes, without FILE and --to")
        }
        let output = try ProgramOutput(arguments)
        let kept = try arguments.integer("keep", 1...100_000)
        if let target = arguments["to"] {
            _ = try arguments.positional()
            for name in ["database", "overwrite"] where arguments[name] != nil {
                throw UsageError(message: "--\(name) is for a backup of one database to a FILE, not for --to")
            }
            try SignalledEnd.removesFiles()
            return makeSet(
                of: arguments["data"] ?? "./data", in: target, keeping: kept,
                hasHistory: !arguments.flag("no-history"), output)
        }
        if kept != nil { throw UsageError(message: "--keep is for --to") }
        let path = try arguments.positional("FILE")[0]
        if path == "-" { throw UsageError(message: "a backup is a SQLite file, which cannot go to standard output") }
        if !arguments.flag("overwrite"), access(path, F_OK) == 0 {
            throw UsageError(message: "\(path) is there already: --overwrite replaces it", hasHelp: false)
        }
        try SignalledEnd.removesFiles()
        do throws(BackupError) {
            let summary = try Backup.make(
                of: arguments["database"] ?? "default", in: arguments["data"] ?? "./data", to: path,
                hasHistory: !arguments.flag("no-history"))
            output.show(summary.json(path), ["\(path): \(summary.text)"])
            return .success
        } catch {
            StandardError.write("hearth backup: \(error.message)\n")
            return .failure
        }
    }

    /// Those of a backup that the command itself makes.
    private static let fileOptions: [Arguments.Option] = [
        folder, .overwrite,
        .init(name: "to", value: "DIR", help: "copy everything into a new folder in DIR"),
        .init(name: "no-history", value: nil, help: "without the history that the settings keep"),
        .init(name: "keep", value: "N", help: "with --to: then remove all but the last N of these folders"),
    ]

    private static let backupOptions =
        fileOptions + [
            .init(name: "database", value: "NAME", help: "the database (default: the server's, or 'default')")
        ] + Arguments.Option.output

    /// Those of a backup that a server makes alone.
    private static let serverOptions = options(of: .backup).filter { option in
        option.name != "yes" && !backupOptions.contains { $0.name == option.name }
    }

    private static func makeSet(
        of folder: String, in target: String, keeping count: Int?, hasHistory: Bool, _ output: ProgramOutput
    ) -> ExitCode {
        do throws(BackupError) {
            let set = try BackupSet.make(of: folder, in: target, now: WallClock.milliseconds, hasHistory: hasHistory)
            let removed = count.map { BackupSet.prune(target, keeping: $0) } ?? []
            var json = set.json
            json["removed"] = removed.json
            output.show(json, ["\(set.path): \(set.text)"] + removed.map { "removed \($0)" })
            return .success
        } catch {
            StandardError.write("hearth backup: \(error.message)\n")
            return .failure
        }
    }

    private static func restoreSet(_ path: String, _ arguments: Arguments) throws(UsageError) -> ExitCode {
        if arguments["database"] != nil {
            throw UsageError(message: "\(path) holds everything: --database is for one of its files, NAME.backup")
        }
        let output = try ProgramOutput(arguments)
        do throws(BackupError) {
            if arguments.flag("check") {
                let set = try BackupSet.check(path)
                output.show(set.json, ["\(path): \(set.text)"])
                return .success
            }
            let folder = arguments["data"] ?? "./data"
            let set = try BackupSet.restore(path, in: folder)
            var json = set.json
            json["data"] = .text(folder)
            output.show(json, ["\(path): \(set.text)", "restored everything in \(folder)"])
            return .success
        } catch {
            StandardError.write("hearth restore: \(error.message)\n")
            return .failure
        }
    }

    private static func restoreFile(_ path: String, _ arguments: Arguments) throws(UsageError) -> ExitCode {
        let output = try ProgramOutput(arguments)
        do throws(BackupError) {
            if arguments.flag("check") {
                let summary = try Backup.check(path)
                output.show(summary.json(path), ["\(path): \(summary.text)"])
                return .success
            }
            let folder = arguments["data"] ?? "./data"
            var json = JSONObject()
            let restored = try Backup.restore(path, as: arguments["database"], in: folder) {
                json = $0.json(path)
                output.note("\(path): \($0.text)")
            }
            json["database"] = .text(restored.database)
            json["data"] = .text(folder)
            json["kept"] = restored.keptFiles.json
            output.show(json, restored.lines(folder))
            return .success
        } catch {
            StandardError.write("hearth restore: \(error.message)\n")
            return .failure
        }
    }

    /// Those of a restore into a server that runs.
    private static let runningServerOptions =
        [Arguments.Option(name: "url", value: "URL", help: "with --path: the server to write to")]
        + ServerAddress.accessOptions

    static let restore = Command(
        name: "restore", synopsis: "FILE | FOLDER | --archive DIR [OPTIONS]",
        summary: "Put a backup in the place of a database, or everything into a new data folder.",
        json: #"""
            as 'hearth backup' prints of FILE or FOLDER, with "data", the data folder, and "kept", the files that
            were there; {"database", "data", "kept", "sequence", "time"} for each database of an archive, with the
            last commit and its time, and {"accounts": TIME} or {"accounts": null}; {"database", "path", "bytes",
            "sequence", "time"} with --path. With --check: {"database", "begin",
            "end", "sequence", "copies", "segments", "bytes"} for each time of an archive without gaps, and
            {"accounts": COPIES, "begin", "end", "bytes"}.
            """#,
        details: """
            FILE comes from 'hearth backup'. All of it is checked first. No server may run on the folder. The
            files that were there stay beside the new ones, with the time after their names; remove them when
            you do not need them.

            FOLDER comes from 'hearth backup --to': everything in it is restored, into a data folder that is
            empty or not there yet.

            With --archive, which 'hearth serve --archive' keeps, a database is restored as it was at any
            moment: --at 2026-11-22T03:15:00Z. With --all, every database is restored so, with the accounts,
            keys, rules and settings, into a data folder that is empty or not there yet. With --path and
            --url, only the value at that path is written, as a new commit, to the database of a server that
            runs. The command asks before it replaces a value. It also asks if the archive lacks commits before
            the moment, or, with --all, the accounts.
            """,
        options: [
            folder,
            .init(name: "database", value: "NAME", help: "the database (default: the one that FILE is a backup of)"),
            .init(name: "check", value: nil, help: "only check what would be read, and say what it holds"),
            .init(name: "archive", value: "DIR", help: "restore from the archive of a server"),
            .init(name: "at", value: "TIME", help: "with --archive: the moment (default: the last one archived)"),
            .init(name: "all", value: nil, help: "with --archive: restore everything, into a new data folder"),
            .init(name: "path", value: "PATH", help: "with --archive: restore the value at PATH, into --url"),
            .init(name: "yes", letter: "y", value: nil, help: "with --archive: do not ask"),
        ] + runningServerOptions + Arguments.Option.output
    ) { arguments throws(UsageError) in
        if arguments["path"] == nil {
            for option in runningServerOptions where arguments.isOnLine(option.name) {
                throw UsageError(
                    message: "--\(option.name) is for --path: otherwise the restore is into a data folder, --data DIR")
            }
        }
        if let archive = arguments["archive"] {
            _ = try arguments.positional()
            return try ArchiveRestore(archive, arguments).run()
        }
        if arguments.flag("all") {
            throw UsageError(message: "--all is for a restore from an archive: add --archive DIR")
        }
        for name in ["at", "path"] where arguments[name] != nil {
            throw UsageError(message: "--\(name) is for a restore from an archive: add --archive DIR")
        }
        let path = try arguments.positional("FILE")[0]
        if FolderContents(path).isFolder, !BackupSet.isSet(path) {
            let newest = BackupSet.list(in: path).last.map { "; the newest backup in it is \($0.path)" }
            StandardError.write("hearth restore: \(path) is a folder without a backup's manifest\(newest ?? "")\n")
            return .failure
        }
        return BackupSet.isSet(path) ? try restoreSet(path, arguments) : try restoreFile(path, arguments)
    }
}

extension Backup.Restored {
    /// - parameter moment: as in ` as of TIME`.
    /// - parameter end: how far it reaches.
    func lines(_ folder: String, of moment: String = "", with end: String = "") -> [String] {
        keptFiles.map { "kept what was there as \($0)" } + ["restored \(database)\(moment) in \(folder)\(end)"]
    }
}
