import HearthJSONTree
import HearthShell
import HearthStorageErrors
import HearthTreeStorage

extension Command {
    static let erase = Command(
        name: "erase", synopsis: "PATH [-y] [OPTIONS]", summary: "Remove the past of a place from the files for good.",
        details: """
            The commit log, the tree and the history are written anew without what was ever written at PATH
            and below, so that its bytes are not in the files any more. The present value stays: remove it
            first, if it is to go too. The server must have been stopped in order.

            Backups, the archive, exports and other nodes of a cluster are not touched. The command names the
            copies in the data folder. It can be run again after it was interrupted.
            """,
        options: [
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(name: "database", value: "NAME", help: "the database (default: default)"),
            .init(name: "yes", letter: "y", value: nil, help: "do not ask"),
        ]
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH")
        let name = arguments["database"] ?? "default"
        let folder = arguments["data"] ?? "./data"
        let path: Path
        do throws(PathError) { path = try Path(parsing: Array(words[0].utf8)) } catch {
            throw UsageError(message: "'\(words[0])' is no path: \(error)")
        }
        guard FolderContents(folder).databases.contains(name) else {
            StandardError.write("hearth erase: there is no database \(name) in \(folder)\n")
            return .failure
        }
        let what = "erase the past of \(path) in the database \(name) of \(folder) for good"
        if !arguments.flag("yes"), let refusal = ask(what) { return refusal }
        do throws(StorageError) {
            let result = try Erasure(path, of: name, in: try DataFolder(path: folder, durability: .full))
            StandardOutput.line(
                "\(name): erased from \(result.records) records of the log and \(result.changes) changes of the history"
            )
            if result.isStillThere { StandardOutput.line("\(path) has a value, which stays") }
            for copy in result.copies { StandardOutput.line("may still have it: \(copy)") }
            StandardOutput.line("the archive, exports and backups elsewhere, and other nodes, are not touched")
            return .success
        } catch {
            StandardError.write("hearth erase: \(error.message)\n")
            return .failure
        }
    }

    /// Asks at a terminal; nil for a yes.
    private static func ask(_ what: String) -> ExitCode? {
        guard ShellRun.hasTerminal else {
            StandardError.write("hearth erase: \(what): -y says that you are sure\n")
            return .failure
        }
        do throws(ShellError) {
            if try TerminalPrompter().confirm("\(what). Go on? [y/N] ") { return nil }
        } catch {
            return .interrupted
        }
        StandardError.write("hearth erase: nothing was done\n")
        return .failure
    }
}
