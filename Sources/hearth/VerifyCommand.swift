import HearthJSONValues
import HearthShell
import HearthTreeStorage

extension Command {
    static let verify = Command(
        name: "verify", synopsis: "[OPTIONS]", summary: "Check the hash chains of commit logs.",
        json: #"""
            {"database", "whole": BOOL, "records", "recordsBefore", "after", "head", "erased", "problems":
            [TEXT…]} for each: how many records the chain has, how many come before it, the operation after which
            it begins, and from how many records something was erased.
            """#,
        details: """
            Each record of a commit log has a hash of its content and of the record before it. The command
            computes all of them anew and names the records that were changed, removed or put into another
            order. Changes nothing; a server may run meanwhile. Ends with 1 if something is wrong.

            It prints the head of each chain. Whoever can write the file can also make a whole new chain:
            keep heads somewhere else, and give them with --head to find out.
            """,
        options: [
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(name: "database", value: "NAME", help: "one database only (default: all)"),
            .init(
                name: "head", value: "HEAD[,HEAD…]",
                help: "heads that were printed before, which the chain must have; with --database"),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        var results = try ProgramOutput(arguments).list
        let noted = try heads(arguments)
        guard let folder = CheckedFolder(arguments, command: "verify") else { return .failure }
        var isSound = true
        for name in folder.databases {
            let result = LogVerification(name, in: folder.path, noted: noted)
            let state = result.problems.isEmpty ? summary(of: result) : "the chain is broken"
            results.append(
                json(of: name, result), ["\(name): \(state)"] + (erased(result).map { ["\(name): \($0)"] } ?? []))
            for problem in result.problems { StandardError.write("hearth verify: \(name): \(problem)\n") }
            isSound = isSound && result.problems.isEmpty
        }
        results.end()
        return isSound ? .success : .failure
    }

    private static func json(of name: String, _ result: LogVerification) -> JSONObject {
        JSONObject([
            "database": .text(name), "whole": .bool(result.problems.isEmpty),
            "records": .integer(Int64(result.records)), "recordsBefore": .integer(Int64(result.recordsBefore)),
            "after": .integer(Int64(clamping: result.edge)), "head": result.head.map { .text($0.text) },
            "erased": .integer(Int64(result.erasedCount)), "problems": result.problems.json,
        ])
    }

    private static func heads(_ arguments: Arguments) throws(UsageError) -> [LogVerification.Head] {
        guard let text = arguments["head"] else { return [] }
        guard arguments["database"] != nil else {
            throw UsageError(message: "--head is the head of one database: give --database")
        }
        var heads: [LogVerification.Head] = []
        for part in text.split(separator: ",") {
            guard let head = LogVerification.Head(String(part)) else {
                throw UsageError(
                    message: "--head: '\(part)' is no head, which is a number, a colon and 64 hexadecimal digits")
            }
            heads.append(head)
        }
        return heads
    }

    private static func summary(of result: LogVerification) -> String {
        let before = result.recordsBefore > 0 ? ", \(result.recordsBefore) before the chain" : ""
        let head = result.head.map { ", head \($0.text)" } ?? ""
        return "\(result.records) records after operation \(result.edge)\(before), the chain is whole\(head)"
    }

    private static func erased(_ result: LogVerification) -> String? {
        guard result.erasedCount > 0 else { return nil }
        let numbers = result.erased.prefix(20).map(String.init).joined(separator: ", ")
        let more = result.erasedCount > 20 ? ", …" : ""
        return
            "something was erased from \(result.erasedCount) records, what is left in them is not proved: \(numbers)\(more)"
    }
}
