import HearthJSONValues

/// `manifest.json` of a backup set: which files belong to it, with their sizes and checksums.
struct BackupManifest: Equatable, Sendable {
    struct File: Equatable, Sendable {
        var name: String
        var byteCount: Int64
        /// SHA-256, hexadecimal.
        var digest: String
    }

    static let fileName = "manifest.json"
    /// Of the form of the set.
    static let format: Int64 = 1

    /// Of the program that made it.
    var version: String
    /// In milliseconds since 1970.
    var time: Int64
    var files: [File]

    var byteCount: Int64 { files.reduce(0) { $0 + $1.byteCount } }

    var json: [UInt8] {
        let list = files.map { file in
            JSONValue.object(
                JSONObject([
                    "name": .text(file.name), "bytes": .integer(file.byteCount), "sha256": .text(file.digest),
                ]))
        }
        return JSONValue.object(
            JSONObject([
                "format": .integer(Self.format), "version": .text(version), "time": .integer(time),
                "files": .array(list),
            ])
        ).bytes
    }

    init(version: String, time: Int64, files: [File]) {
        self.version = version
        self.time = time
        self.files = files
    }

    /// The mistake in the text, in one line.
    struct Problem: Error {
        var text: String
    }

    init(parsing text: [UInt8]) throws(Problem) {
        guard let object = (try? JSONValue(parsing: text))?.object, let format = object["format"]?.integer,
            let version = object["version"]?.text
        else { throw Problem(text: "it is not a manifest of a backup") }
        guard format == Self.format else { throw Problem(text: "it was made by hearth \(version), a later version") }
        guard let time = object["time"]?.integer, case .array(let list)? = object["files"] else {
            throw Problem(text: "it is damaged")
        }
        var files: [File] = []
        for entry in list {
            guard let name = entry.object?["name"]?.text, let byteCount = entry.object?["bytes"]?.integer,
                let digest = entry.object?["sha256"]?.text, !name.contains("/"), !name.hasPrefix(".")
            else { throw Problem(text: "it is damaged") }
            files.append(File(name: name, byteCount: byteCount, digest: digest))
        }
        self.init(version: version, time: time, files: files)
    }
}
