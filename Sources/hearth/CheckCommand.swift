import HearthIdentity
import HearthJSONValues
import HearthShell
import HearthStorageErrors
import HearthTreeStorage

extension Command {
    static let check = Command(
        name: "check", synopsis: "[OPTIONS]", summary: "Look for damage in the files of a data folder.",
        json: #"""
            {"kind": "database" or "accounts", "name", "state": "whole", "damaged" or "newer", "problems":
            [TEXT…]} for each, databases with their "sequence" and "rows".
            """#,
        details: """
            Reads every database of the folder, its log and the accounts, and compares them with their
            checksums. Changes nothing; a server may run meanwhile. Ends with 1 if something is damaged,
            and says what. A damaged database is replaced with 'hearth restore'. Files of a newer
            version of hearth are not read: the command says so and ends with 1.
            """,
        options: [
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(name: "database", value: "NAME", help: "one database only (default: all, and the accounts)"),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        var results = try ProgramOutput(arguments).list
        guard let folder = CheckedFolder(arguments, command: "check") else { return .failure }
        var problems: [String] = []
        for name in folder.databases {
            let result = DatabaseCheck(name, in: folder.path, isServed: folder.isServed)
            problems += result.problems
            results.append(json(of: name, result), ["\(name): \(text(of: result))"])
        }
        if arguments["database"] == nil, let found = Accounts.check(folder: folder.path) {
            problems += found.problems
            let state = CheckState(found.problems, isNewer: found.isNewer)
            results.append(
                JSONObject(["kind": .text("accounts"), "state": .text(state.rawValue), "problems": found.problems.json]
                ),
                ["accounts: \(state.text)"])
        }
        results.end()
        for problem in problems { StandardError.write("hearth check: \(problem)\n") }
        return problems.isEmpty ? .success : .failure
    }

    private static func text(of result: DatabaseCheck) -> String {
        let state = CheckState(result.problems, isNewer: result.isNewer)
        return (state == .whole ? "sequence \(result.sequence), \(result.rows) rows, " : "") + state.text
    }

    private static func json(of name: String, _ result: DatabaseCheck) -> JSONObject {
        JSONObject([
            "kind": .text("database"), "name": .text(name),
            "state": .text(CheckState(result.problems, isNewer: result.isNewer).rawValue),
            "sequence": .integer(Int64(clamping: result.sequence)), "rows": .integer(Int64(result.rows)),
            "problems": result.problems.json,
        ])
    }
}

/// In which state a file was found.
private enum CheckState: String {
    case whole, damaged, newer

    init(_ problems: [String], isNewer: Bool) { self = problems.isEmpty ? .whole : isNewer ? .newer : .damaged }

    var text: String {
        switch self {
        case .whole: "no damage"
        case .damaged: "damaged"
        case .newer: "not checked, its format is newer"
        }
    }
}

/// A data folder, and those of its databases that a command looks at.
struct CheckedFolder {
    let path: String
    let databases: [String]
    let isServed: Bool

    /// The files that `--data` and `--database` name. Nil, with a message, if they are not there.
    init?(_ arguments: Arguments, command: String) {
        path = arguments["data"] ?? "./data"
        let contents = FolderContents(path)
        guard contents.isFolder else {
            StandardError.write("hearth \(command): there is no data folder \(path)\n")
            return nil
        }
        do throws(BackupError) {
            try contents.requireReadable()
        } catch {
            StandardError.write("hearth \(command): \(error.message)\n")
            return nil
        }
        do throws(StorageError) {
            try contents.requireWhole()
        } catch {
            StandardError.write("hearth \(command): \(error.message)\n")
            return nil
        }
        guard !contents.databases.isEmpty || contents.hasAccounts else {
            StandardError.write("hearth \(command): \(path) has neither databases nor accounts\n")
            return nil
        }
        if let name = arguments["database"], !contents.databases.contains(name) {
            StandardError.write("hearth \(command): there is no database \(name) in \(path)\n")
            return nil
        }
        databases = arguments["database"].map { [$0] } ?? contents.databases
        isServed = contents.isServed
    }
}

extension [String] {
    /// As a JSON array.
    var json: JSONValue { .array(map { .text($0) }) }
}
