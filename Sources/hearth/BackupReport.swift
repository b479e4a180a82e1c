import HearthBackups
import HearthJSONValues
import HearthShell
import HearthSystem
import HearthTreeStorage

/// Texts of commands about backups.
extension BackupSet {
    /// One line.
    var text: String {
        let made = Timestamp(milliseconds: time)
        let names = databases.isEmpty ? "no databases" : "databases \(databases.joined(separator: ", "))"
        let accounts = hasAccounts ? "accounts" : "no accounts"
        return
            "\(names), \(accounts), made \(made) by hearth \(version), \(ByteText(Int(byteCount)))"
    }

    private var hasAccounts: Bool { files.contains("accounts.sqlite") }

    var json: JSONObject {
        JSONObject([
            "folder": .text(path), "databases": databases.json, "accounts": .bool(hasAccounts), "time": .integer(time),
            "version": .text(version), "bytes": .integer(byteCount),
        ])
    }
}

extension Backup.Summary {
    /// One line.
    var text: String {
        let made = Timestamp(milliseconds: time)
        let history = changes.map { ", a history of \($0) changes" } ?? ""
        return "\(database) up to sequence \(sequence), made \(made), \(rows) rows and \(laterWrites) later writes"
            + "\(history), \(ByteText(byteCount))"
    }

    func json(_ file: String) -> JSONObject {
        JSONObject([
            "file": .text(file), "database": .text(database), "sequence": .integer(Int64(clamping: sequence)),
            "time": .integer(time), "rows": .integer(Int64(rows)), "laterWrites": .integer(Int64(laterWrites)),
            "bytes": .integer(Int64(byteCount)), "changes": changes.map { .integer(Int64($0)) },
        ])
    }
}

extension ArchiveFolder.Window {
    /// One line.
    var text: String {
        "\(database): from \(Timestamp(milliseconds: begin)) to \(Timestamp(milliseconds: end)), sequence \(sequence), "
            + "\(copies) copies and \(segments) segments, \(ByteText(Int(byteCount)))"
    }

    var json: JSONObject {
        JSONObject([
            "database": .text(database), "begin": .integer(begin), "end": .integer(end),
            "sequence": .integer(Int64(clamping: sequence)), "copies": .integer(Int64(copies)),
            "segments": .integer(Int64(segments)), "bytes": .integer(byteCount),
        ])
    }
}
