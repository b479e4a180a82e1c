import HearthJSONValues
package import HearthSystem

/// A report of the last successful `hearth backup --to` for the server of the data folder: `backup-status.json`.
package struct BackupStatus: Equatable, Sendable {
    /// When it was complete, in milliseconds since 1970.
    package var time: Int64
    /// How long it took.
    package var milliseconds: Int64
    package var byteCount: Int64

    package init(time: Int64, milliseconds: Int64, byteCount: Int64) {
        self.time = time
        self.milliseconds = milliseconds
        self.byteCount = byteCount
    }

    private static func path(_ folder: String) -> String { folder + "/backup-status.json" }

    /// Nil if there was none.
    package init?(in folder: String) {
        guard let text = FileBytes.read(Self.path(folder)), let object = (try? JSONValue(parsing: text))?.object,
            let time = object["time"]?.integer, let milliseconds = object["milliseconds"]?.integer,
            let byteCount = object["bytes"]?.integer
        else { return nil }
        self.init(time: time, milliseconds: milliseconds, byteCount: byteCount)
    }

    /// Belongs to the folder's owner, no matter who runs the backup.
    package func keep(in folder: String) throws(PrivateFile.Failure) {
        let object = JSONObject([
            "time": .integer(time), "milliseconds": .integer(milliseconds), "bytes": .integer(byteCount),
        ])
        try PrivateFile.replace(Self.path(folder), with: JSONValue.object(object).bytes)
    }
}
