import HearthJSONTree
import HearthJSONValues
import HearthShell
import HearthStorageErrors
import HearthTreeStorage

extension Command {
    static let erase = Command(
        name: "erase", synopsis: "PATH [-y] [OPTIONS]", summary: "Remove the past of a place from the files for good.",
        json: #"""
            {"database", "path", "records", "changes", "eventsWaiting", "eventsAside", "valueStays": BOOL, "copies":
            [FILE…]}: from how many records of the log and changes of the history something was erased, how many
            events of triggers were dropped, and where it may still be.
            """#,
        details: """
            The commit log, the tree and the history are written anew without what was ever written at PATH
            and below, so that its bytes are not in the files any more. The present value stays: remove it
            first, if it is to go too. The server must have been stopped in order.

            Events of triggers that wait to be sent, or were set aside, and tell of a place at, above or below PATH are
            dropped. They are never sent, and the command says how many there were.

            Backups, the archive, exports and other nodes of a cluster are not touched. The command names the
            copies in the data folder. What a restore has left there that was interrupted while it copied is
            removed. The command can be run again after it was interrupted.
            """,
        options: [
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(name: "database", value: "NAME", help: "the database (default: default)"),
            .init(name: "yes", letter: "y", value: nil, help: "do not ask"),
        ] + Arguments.Option.output
    ) { arguments throws(UsageError) in
        let words = try arguments.positional("PATH")
        let output = try ProgramOutput(arguments)
        let name = arguments["database"] ?? "default"
        let folder = arguments["data"] ?? "./data"
        let path: Path
        do throws(PathError) { path = try Path(parsing: Array(words[0].utf8)) } catch {
            throw UsageError(message: "'\(words[0])' is not a path: \(error)")
        }
        do throws(StorageError) { try FolderContents(folder).requireWhole() } catch {
            StandardError.write("hearth erase: \(error.message)\n")
            return .failure
        }
        guard FolderContents(folder).databases.contains(name) else {
            StandardError.write("hearth erase: there is no database \(name) in \(folder)\n")
            return .failure
        }
        let what = "erase the past of \(path) in the database \(name) of \(folder) for good"
        if let refusal = Confirmation.refusal(of: what, arguments, command: "erase") { return refusal }
        do throws(StorageError) {
            let result = try Erasure(path, of: name, in: try DataFolder(path: folder, durability: .full))
            let lines =
                [
                    "\(name): erased from \(result.records) records of the log and \(result.changes) changes of the history"
                ] + droppedEvents(result) + (result.isStillThere ? ["\(path) has a value, which stays"] : [])
                + result.copies.map { "may still have it: \($0)" } + [
                    "the archive, exports and backups elsewhere, and other nodes, are not touched"
                ]
            let json = JSONObject([
                "database": .text(name), "path": .text("\(path)"), "records": .integer(Int64(result.records)),
                "changes": .integer(Int64(result.changes)),
                "eventsWaiting": .integer(Int64(result.events.waiting)),
                "eventsAside": .integer(Int64(result.events.aside)), "valueStays": .bool(result.isStillThere),
                "copies": result.copies.json,
            ])
            output.show(json, lines)
            return .success
        } catch {
            StandardError.write("hearth erase: \(error.message)\n")
            return .failure
        }
    }
}

private func droppedEvents(_ erasure: Erasure) -> [String] {
    let (waiting, aside) = erasure.events
    return waiting + aside == 0
        ? [] : ["dropped events of triggers: \(waiting) that waited to be sent, \(aside) that were set aside"]
}
