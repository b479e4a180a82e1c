import Glibc
import HearthJSONValues
import HearthSystem
import HearthTreeStorage

/// The replacement of a database's rules and settings in one step. `NAME.publication` has both, as
/// `{"rules":"…","settings":"…"}`, until each is in its own file: once it is on the disk, both hold.
struct RulesPublication {
    typealias Texts = (rules: [UInt8], settings: [UInt8])

    let path: String
    private let rulesPath: String
    private let settingsPath: String

    init(of database: String, in folder: DataFolder) {
        path = folder.publicationPath(of: database)
        rulesPath = folder.rulesPath(of: database)
        settingsPath = folder.settingsPath(of: database)
    }

    /// Replaces both. If it throws, neither is replaced, unless the disk does not even let the file be removed.
    func begin(rules: [UInt8], settings: [UInt8]) throws(PrivateFile.Failure) {
        let texts = JSONObject(["rules": .string(rules), "settings": .string(settings)])
        do throws(PrivateFile.Failure) {
            try PrivateFile.replace(path, with: texts.bytes)
        } catch {
            // It may have its name, and not be on the disk for certain.
            try? remove()
            throw error
        }
    }

    /// Takes back a change that ``begin(rules:settings:)`` could not complete.
    func remove() throws(PrivateFile.Failure) { try PrivateFile.remove(path) }

    func texts() throws(PrivateFile.Failure) -> Texts { try Self.texts(path) }

    static func texts(_ path: String) throws(PrivateFile.Failure) -> Texts {
        guard let text = FileBytes.read(path) else {
            throw .init(description: "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        let members = (try? JSONValue(parsing: text))?.object
        guard let rules = members?["rules"]?.utf8, let settings = members?["settings"]?.utf8 else {
            throw .init(description: "\(path) is damaged: it should have rules and settings")
        }
        return (rules, settings)
    }

    /// Puts both into their own files; does nothing if nothing was begun.
    func finish() throws(PrivateFile.Failure) {
        guard access(path, F_OK) == 0 else { return }
        let texts = try texts()
        try PrivateFile.replace(rulesPath, with: texts.rules)
        try PrivateFile.replace(settingsPath, with: texts.settings)
        try PrivateFile.remove(path)
    }
}
