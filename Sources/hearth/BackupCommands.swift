import Glibc
import HearthServer
import HearthShell
import TreeStorage

extension Command {
    private static let folder = Arguments.Option(
        name: "data", value: "DIR", help: "the data folder (default ./data)")

    static let backup = Command(
        name: "backup", synopsis: "FILE [OPTIONS]",
        summary: "Copy a database into one file, while the server runs or not.",
        details: """
            The copy holds every write that was acknowledged before, and is that of one moment. The server
            is not asked and does not wait. FILE gets its name when it is whole and on disk; until then it is
            FILE.part. 'hearth restore' reads it.
            """,
        options: [
            folder, .init(name: "database", value: "NAME", help: "the database (default 'default')"),
            .init(name: "overwrite", value: nil, help: "replace FILE, if there is one"),
        ]
    ) { arguments throws(UsageError) in
        let path = try arguments.positional("FILE")[0]
        if path == "-" { throw UsageError(message: "a backup is a SQLite file, which cannot go to standard output") }
        if !arguments.flag("overwrite"), access(path, F_OK) == 0 {
            throw UsageError(message: "\(path) is there already: --overwrite replaces it", hasHelp: false)
        }
        do throws(BackupError) {
            let summary = try Backup.make(
                of: arguments["database"] ?? "default", in: arguments["data"] ?? "./data", to: path)
            StandardOutput.line("\(path): \(summary.text)")
            return .success
        } catch {
            StandardError.write("hearth backup: \(error.message)\n")
            return .failure
        }
    }

    static let restore = Command(
        name: "restore", synopsis: "FILE [OPTIONS]", summary: "Put a backup in the place of a database.",
        details: """
            FILE comes from 'hearth backup'. All of it is checked first. No server may run on the folder. The
            files that were there stay beside the new ones, with the time behind their names; remove them when
            you do not need them.
            """,
        options: [
            folder,
            .init(name: "database", value: "NAME", help: "the database (default: the one that FILE is a backup of)"),
            .init(name: "check", value: nil, help: "only check FILE, and say what it holds"),
        ]
    ) { arguments throws(UsageError) in
        let path = try arguments.positional("FILE")[0]
        do throws(BackupError) {
            if arguments.flag("check") {
                StandardOutput.line("\(path): \(try Backup.check(path).text)")
                return .success
            }
            let folder = arguments["data"] ?? "./data"
            let restored = try Backup.restore(path, as: arguments["database"], in: folder) {
                StandardOutput.line("\(path): \($0.text)")
            }
            for file in restored.keptFiles { StandardOutput.line("kept what was there as \(file)") }
            StandardOutput.line("restored \(restored.database) in \(folder)")
            return .success
        } catch {
            StandardError.write("hearth restore: \(error.message)\n")
            return .failure
        }
    }
}

extension Backup.Summary {
    /// One line.
    fileprivate var text: String {
        let made = Timestamp(milliseconds: time)
        return
            "\(database) up to sequence \(sequence), made \(made), \(rows) rows and \(laterWrites) later writes, \(ByteText(byteCount))"
    }
}
