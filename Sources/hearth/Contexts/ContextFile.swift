import Glibc
import HearthJSONValues
import HearthSystem

/// Servers that somebody has given names, in a file of their own:
/// `{"current":NAME,"contexts":{NAME:{"url":URL,"key":FILE,"ca":FILE,"database":NAME}}}`.
struct ContextFile {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The options of a context, by their names on the command line.
    typealias Context = [(option: String, value: String)]

    static let options = ["url", "key", "ca", "database"]

    private let path: String
    private(set) var current: String?
    private(set) var contexts: [(name: String, context: Context)] = []

    /// `HEARTH_CONTEXTS`, or `hearth/contexts.json` in the folder for configuration (XDG Base Directory Specification);
    /// nil if there is neither that nor a home.
    static var usualPath: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let path = variable("HEARTH_CONTEXTS") { return path }
        let folder = variable("XDG_CONFIG_HOME") ?? variable("HOME").map { $0 + "/.config" }
        return folder.map { $0 + "/hearth/contexts.json" }
    }

    /// Reads a file. One that does not exist has no contexts.
    init(_ path: String) throws(Failure) {
        self.path = path
        let text: [UInt8]?
        do throws(PrivateFile.Failure) { text = try PrivateFile.read(path) } catch {
            throw Failure(description: "\(error)")
        }
        guard let text else { return }
        guard let file = (try? JSONValue(parsing: text))?.object, let contexts = file["contexts"]?.object else {
            throw Failure(description: "\(path) is not a file of contexts")
        }
        current = file["current"]?.text
        for member in contexts.members {
            let context = Self.options.compactMap { option in
                member.value.object?[option]?.text.map { (option, $0) }
            }
            self.contexts.append((String(decoding: member.name, as: UTF8.self), context))
        }
    }

    subscript(name: String) -> Context? { contexts.first { $0.name == name }?.context }

    /// The context with a name; throws if it does not exist.
    func context(named name: String) throws(Failure) -> Context {
        if let context = self[name] { return context }
        throw Failure(description: "there is no context '\(name)'; 'hearth context list' lists them")
    }

    mutating func add(_ name: String, _ context: Context) throws(Failure) {
        guard self[name] == nil else {
            throw Failure(
                description: "there is a context '\(name)' already: 'hearth context remove \(name)' removes it")
        }
        contexts.append((name, context))
        try write()
    }

    mutating func use(_ name: String) throws(Failure) {
        _ = try context(named: name)
        current = name
        try write()
    }

    mutating func remove(_ name: String) throws(Failure) {
        _ = try context(named: name)
        contexts.removeAll { $0.name == name }
        if current == name { current = nil }
        try write()
    }

    private func write() throws(Failure) {
        var all = JSONObject()
        for (name, context) in contexts {
            var object = JSONObject()
            for (option, value) in context { object[option] = .text(value) }
            all[name] = .object(object)
        }
        let file = JSONObject(["current": current.map { .text($0) }, "contexts": .object(all)])
        var folder = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
            folder += part + "/"
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw Failure(description: "cannot make the folder \(folder): \(String(cString: strerror(errno)))")
            }
        }
        do throws(PrivateFile.Failure) {
            try PrivateFile.replace(path, with: file.bytes + "\n".utf8)
        } catch {
            throw Failure(description: "\(error)")
        }
    }
}
