/// How a value is shown over HTTP (rest 4). On the websocket and with `format=export` the canonical text itself is shown.
package struct JSONOutput: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        /// Without priorities; objects that look like arrays become arrays (wire-protocol 4.2).
        case plain
        /// With priorities, without arrays.
        case export
        /// The children's keys, each with the value `true`; a leaf as in `plain`. Never an array.
        case shallow
    }

    package var form: Form
    /// Two spaces of indentation, spaces around colons, arrays on one line, and a line feed at the end (rest 4.1).
    package var isPretty: Bool

    package init(_ form: Form, isPretty: Bool = false) {
        self.form = form
        self.isPretty = isPretty
    }

    /// Appends the text of a value. One pass, but for objects whose first key is an index: those are scanned ahead.
    package func append(_ value: CanonicalJSON, to out: inout [UInt8]) {
        value.bytes.withUnsafeBytes { text in
            if form == .export, !isPretty {
                out.append(contentsOf: text)
                return
            }
            JSONOutputWriter(text: text, form: form, isPretty: isPretty).append(0..<text.count, indent: 0, to: &out)
        }
        if isPretty { out.append(UInt8(ascii: "\n")) }
    }

    package func text(_ value: CanonicalJSON) -> [UInt8] {
        var out: [UInt8] = []
        append(value, to: &out)
        return out
    }
}

private struct JSONOutputWriter {
    let text: UnsafeRawBufferPointer
    let form: JSONOutput.Form
    let isPretty: Bool

    func append(_ range: Range<Int>, indent: Int, to out: inout [UInt8]) {
        let shape = CanonicalShape(text, range)
        switch shape.kind {
        case .nothing: out.append(contentsOf: "null".utf8)
        case .leaf:
            guard form == .export, let priority = shape.priority else {
                out.append(contentsOf: text.part(shape.content))
                return
            }
            appendObject(indent: indent, to: &out) { object, out in
                object.key("\".priority\"", to: &out)
                out.append(contentsOf: text.part(priority))
                object.key("\".value\"", to: &out)
                out.append(contentsOf: text.part(shape.content))
            }
        case .inner:
            if form == .plain, isArray(shape) {
                appendArray(shape, indent: indent, to: &out)
            } else {
                appendChildren(shape, indent: indent, to: &out)
            }
        }
    }

    private func appendChildren(_ shape: CanonicalShape, indent: Int, to out: inout [UInt8]) {
        appendObject(indent: indent, to: &out) { object, out in
            if form == .export, let priority = shape.priority {
                object.key("\".priority\"", to: &out)
                out.append(contentsOf: text.part(priority))
            }
            for member in CanonicalMembers(text, shape) {
                object.key(text.part(member.all.lowerBound..<member.value.lowerBound - 1), to: &out)
                if form == .shallow {
                    out.append(contentsOf: "true".utf8)
                } else {
                    append(member.value, indent: indent + 1, to: &out)
                }
            }
        }
    }

    private func appendArray(_ shape: CanonicalShape, indent: Int, to out: inout [UInt8]) {
        out.append(contentsOf: (isPretty ? "[ " : "[").utf8)
        let separator = isPretty ? ", " : ","
        var index = 0
        for member in CanonicalMembers(text, shape) {
            let key = IntegerKey(text.part(member.key)).map { Int($0.value) } ?? index
            while index <= key {
                if index > 0 { out.append(contentsOf: separator.utf8) }
                if index < key { out.append(contentsOf: "null".utf8) }
                index += 1
            }
            // An array does not indent what it holds.
            append(member.value, indent: indent, to: &out)
        }
        out.append(contentsOf: (isPretty ? " ]" : "]").utf8)
    }

    /// Whether an inner node is shown as an array: all keys are indices without leading zeros, and at least half
    /// of the places up to the greatest are taken (wire-protocol 4.2).
    private func isArray(_ shape: CanonicalShape) -> Bool {
        var count = 0
        var last = 0
        for member in CanonicalMembers(text, shape) {
            guard let key = IntegerKey(text.part(member.key)), key.form == 0, key.value >= 0 else { return false }
            count += 1
            last = Int(key.value)
        }
        return last < 2 * count
    }

    /// The state of an object that is being written.
    struct Object {
        let isPretty: Bool
        let indent: Int
        var isEmpty = true

        /// Begins a member; `text` has its quotes.
        mutating func key(_ text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
            if !isEmpty { out.append(UInt8(ascii: ",")) }
            isEmpty = false
            if isPretty { newLine(indent: indent + 1, to: &out) }
            out.append(contentsOf: text)
            out.append(contentsOf: (isPretty ? " : " : ":").utf8)
        }

        mutating func key(_ text: StaticString, to out: inout [UInt8]) {
            key(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount), to: &out)
        }

        func newLine(indent: Int, to out: inout [UInt8]) {
            out.append(UInt8(ascii: "\n"))
            out.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * indent))
        }
    }

    private func appendObject(
        indent: Int, to out: inout [UInt8], _ members: (inout Object, inout [UInt8]) -> Void
    ) {
        out.append(UInt8(ascii: "{"))
        var object = Object(isPretty: isPretty, indent: indent)
        members(&object, &out)
        if isPretty { object.newLine(indent: indent, to: &out) }
        out.append(UInt8(ascii: "}"))
    }
}
