import HearthJSONValues

/// A JSON array that is written while its elements arrive, each on its own line.
struct ArrayLines {
    let out: any ShellOutput
    /// Otherwise there are only the elements.
    let isJSON: Bool
    /// The last line, which a comma or the end of the array is missing from.
    private var line = "["
    private var isEmpty = true

    init(out: any ShellOutput, isJSON: Bool) { (self.out, self.isJSON) = (out, isJSON) }

    mutating func append(_ element: JSONObject) throws(ShellError) {
        guard isJSON else { return try out.line(String(decoding: element.bytes, as: UTF8.self)) }
        if !isEmpty {
            try out.line(line + ",")
            line = ""
        }
        line += String(decoding: element.bytes, as: UTF8.self)
        isEmpty = false
    }

    func end() throws(ShellError) { if isJSON { try out.line(line + "]") } }
}
