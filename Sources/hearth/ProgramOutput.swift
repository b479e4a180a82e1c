import HearthJSONValues
import HearthShell

/// The output of commands that only the program has, in the form of `-o`.
struct ProgramOutput {
    private let format: OutputFormat

    init(_ arguments: Arguments) throws(UsageError) {
        let format = try UsageError.of { () throws(ShellError) in
            try OutputFormat(arguments["output"], isJSON: arguments.flag("json"))
        }
        self.format = format ?? .text
    }

    var isJSON: Bool { format.isJSON }

    /// Prints a list: as JSON, or a line for each element.
    func show(_ list: [(json: JSONObject, line: String)]) {
        switch format {
        case .text, .raw: for (_, line) in list { StandardOutput.line(line.printableLines) }
        case .json: show(JSONValue.array(list.map { .object($0.json) }).bytes)
        case .jsonl: for (json, _) in list { show(json.bytes) }
        }
    }

    /// Prints one value: as JSON, or in lines.
    func show(_ json: JSONObject, _ lines: [String]) {
        if isJSON { show(json.bytes) } else { for line in lines { StandardOutput.line(line.printableLines) } }
    }

    /// Prints a line for people that tells how far a command is; as JSON, all is said at the end.
    func note(_ line: String) { if !isJSON { StandardOutput.line(line.printableLines) } }

    /// A list whose elements are printed as they come. The elements of a JSON array are printed at its end.
    struct List {
        fileprivate let output: ProgramOutput
        private var elements: [JSONValue] = []

        fileprivate init(_ output: ProgramOutput) { self.output = output }

        mutating func append(_ json: JSONObject, _ lines: [String]) {
            if output.format == .json { elements.append(.object(json)) } else { output.show(json, lines) }
        }

        func end() { if output.format == .json { output.show(JSONValue.array(elements).bytes) } }
    }

    var list: List { List(self) }

    private func show(_ json: [UInt8]) { StandardOutput.line(String(decoding: json, as: UTF8.self)) }
}
