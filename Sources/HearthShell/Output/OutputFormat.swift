/// How commands print their results.
package enum OutputFormat: String, CaseIterable, Sendable {
    /// Lines and tables for people.
    case text
    /// As `text`, but values of the database are JSON without spaces, as the server has them.
    case raw
    /// JSON: one value for each command, or for each thing that happened.
    case json
    /// JSON: as `json`, but each element of a list is on its own line.
    case jsonl

    package var isJSON: Bool { self == .json || self == .jsonl }
}

extension OutputFormat {
    /// Nil for an unknown name.
    init?(named name: String) { self.init(rawValue: name == "table" ? "text" : name) }

    /// The values of a command's options; nil if none is given.
    ///
    /// - parameter name: the value of `--output`.
    package init?(_ name: String?, isJSON: Bool) throws(ShellError) {
        guard let name, !name.isEmpty else {
            if !isJSON { return nil }
            self = .json
            return
        }
        guard let format = OutputFormat(named: name) else {
            let names = OutputFormat.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("--output must be table or one of \(names), not '\(name)'")
        }
        guard !isJSON || format == .json else { throw .usage("use --json or --output, not both") }
        self = format
    }
}
