import HearthJSONTree
import HearthRulesTesting
import HearthSecurityRules

/// A file of rules, settings, test cases or data. Its mistakes are told with their lines and columns.
struct RulesFile {
    let name: String

    init(_ name: String) { self.name = name }

    func contents() throws(ShellError) -> [UInt8] { try InputFile.contents(of: name) }

    func program() throws(ShellError) -> RulesProgram {
        try parsed { (text) throws(RulesError) in try RulesProgram(parsing: text) }
    }

    func settings() throws(ShellError) -> DatabaseSettings {
        try parsed { (text) throws(RulesError) in try DatabaseSettings(parsing: text) }
    }

    func tests() throws(ShellError) -> RulesTestFile {
        try parsed { (text) throws(RulesError) in try RulesTestFile(parsing: text) }
    }

    private func parsed<Value>(_ parse: ([UInt8]) throws(RulesError) -> Value) throws(ShellError) -> Value {
        let text = try contents()
        do throws(RulesError) { return try parse(text) } catch { throw .data("\(name):\(error)") }
    }

    func data() throws(ShellError) -> CanonicalJSON {
        let text = try contents()
        do throws(JSONError) { return try CanonicalJSON.parse(text).value } catch {
            let (line, column) = error.position(in: text)
            throw .data("\(name):\(line):\(column): \(error)")
        }
    }

    /// A path in this file means one seen from its folder.
    func beside(_ path: String) -> RulesFile {
        guard !path.hasPrefix("/"), let slash = name.lastIndex(of: "/") else { return RulesFile(path) }
        return RulesFile(name[...slash] + path)
    }
}
