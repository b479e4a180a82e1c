import HearthJSONValues
import HearthShell

/// What commands of the program alone print, as `-o` says.
struct ProgramOutput {
    private let format: OutputFormat

    init(_ arguments: Arguments) throws(UsageError) {
        let format = try UsageError.of { () throws(ShellError) in
            try OutputFormat(arguments["output"], isJSON: arguments.flag("json"))
        }
        self.format = format ?? .text
    }

    /// Prints a list: as JSON, or a line for each element.
    func show(_ list: [(json: JSONObject, line: String)]) {
        switch format {
        case .text, .raw: for (_, line) in list { StandardOutput.line(line.printable) }
        case .json: show(JSONValue.array(list.map { .object($0.json) }).bytes)
        case .jsonl: for (json, _) in list { show(json.bytes) }
        }
    }

    /// Prints one value: as JSON, or in lines.
    func show(_ json: JSONObject, _ lines: [String]) {
        if format.isJSON { show(json.bytes) } else { for line in lines { StandardOutput.line(line) } }
    }

    private func show(_ json: [UInt8]) { StandardOutput.line(String(decoding: json, as: UTF8.self)) }
}
