import HearthShell
import HearthIdentity
import HearthTreeStorage

extension Command {
    static let check = Command(
        name: "check", synopsis: "[OPTIONS]", summary: "Look for damage in the files of a data folder.",
        details: """
            Reads every database of the folder, its log and the accounts, and compares them with their
            checksums. Changes nothing; a server may run meanwhile. Ends with 1 if something is damaged,
            and says what. A damaged database is replaced with 'hearth restore'. Files of a newer
            version of hearth are not read: the command says so and ends with 1.
            """,
        options: [
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(name: "database", value: "NAME", help: "one database only (default: all, and the accounts)"),
        ]
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let folder = arguments["data"] ?? "./data"
        let contents = FolderContents(folder)
        guard contents.isFolder else {
            StandardError.write("hearth check: there is no data folder \(folder)\n")
            return .failure
        }
        let names: [String]
        if let name = arguments["database"] {
            guard contents.databases.contains(name) else {
                StandardError.write("hearth check: there is no database \(name) in \(folder)\n")
                return .failure
            }
            names = [name]
        } else {
            names = contents.databases
        }
        var problems: [String] = []
        for name in names {
            let result = DatabaseCheck(name, in: folder, isServed: contents.isServed)
            problems += result.problems
            StandardOutput.line(
                result.problems.isEmpty
                    ? "\(name): sequence \(result.sequence), \(result.rows) rows, no damage"
                    : "\(name): \(result.isNewer ? newerText : "damaged")")
        }
        if arguments["database"] == nil, let found = Accounts.check(folder: folder) {
            problems += found.problems
            StandardOutput.line(
                "accounts: \(found.problems.isEmpty ? "no damage" : found.isNewer ? newerText : "damaged")")
        }
        for problem in problems { StandardError.write("hearth check: \(problem)\n") }
        return problems.isEmpty ? .success : .failure
    }

    private static let newerText = "not checked, its format is newer"
}
