import HearthHTTPCodec
package import HearthServerCodecs

/// The HTTP endpoints of administrators, except those of accounts.
package enum AdminPlace {
    /// The names of the databases, for tools (rest.md 1).
    case databases
    /// `/.settings/….json`
    case settings

    /// Nil for other places.
    package init?(_ head: RequestHead) {
        let path = head.path
        if head.method == .options { return nil }
        if path.elementsEqual("/.inspect/databases.json".utf8) || path.elementsEqual("/.inspect/databases".utf8) {
            self = .databases
        } else if path.starts(with: "/.settings/".utf8), path.suffix(5).elementsEqual(".json".utf8) {
            self = .settings
        } else {
            return nil
        }
    }
}

extension RequestHead {
    /// Some clients write `/.settings/rules/.json`, as if the rules were a place.
    var settingsPath: String {
        let ending = Array("/.json".utf8)
        let path = path.suffix(ending.count).elementsEqual(ending) ? path.dropLast(ending.count) + ".json".utf8 : path
        return String(decoding: path, as: UTF8.self)
    }

    /// Why would an operation be allowed, or not?
    package var asksForExplanation: Bool { method == .post && path.elementsEqual("/.settings/explain.json".utf8) }
}
