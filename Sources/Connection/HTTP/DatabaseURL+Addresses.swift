package import HearthClientSession
package import HearthJSONTree

extension DatabaseURL {
    /// Where the value at a path is over HTTP (rest.md 1). `query` is already encoded.
    package func address(_ path: Path, query: String) -> HTTPAddress {
        address(target: restTarget(path, path.isRoot ? "/.json" : ".json", query: query))
    }

    /// Where the past of a path is over HTTP (rest.md 9).
    package func pastAddress(_ path: Path, query: String) -> HTTPAddress {
        address(target: restTarget(path, "/.history.json", query: query))
    }

    /// The target of something about the database that administrators see or set.
    package func settings(_ name: String) -> String {
        "/.settings/\(name).json" + (database.isEmpty ? "" : "?ns=" + DatabaseURL.encoded(Array(database.utf8)))
    }

    private func restTarget(_ path: Path, _ suffix: String, query: String) -> String {
        var target = ""
        for key in path.keys { target += "/" + DatabaseURL.encoded(key.utf8) }
        target += "\(suffix)?"
        if !database.isEmpty { target += "ns=" + DatabaseURL.encoded(Array(database.utf8)) + "&" }
        return target + query
    }
}

extension HTTPAddress {
    /// Adds a parameter to the query.
    package mutating func append(parameter name: String, value: [UInt8]) {
        target += (target.contains("?") ? "&" : "?") + name + "=" + DatabaseURL.encoded(value)
    }
}
