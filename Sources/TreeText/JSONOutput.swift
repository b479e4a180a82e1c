import HearthBytes
package import HearthJSONTree

/// How a value is shown over HTTP (rest.md 2). On the websocket and with `format=export` the canonical text itself
/// is shown.
///
/// The text has no white space; ``JSONLayout`` makes it pretty.
package enum JSONOutput: Hashable, Sendable {
    /// Without priorities; objects that look like arrays become arrays (Protocol.md 7.1).
    case plain
    /// With priorities, without arrays.
    case export
    /// As a write answers (rest.md 2): with priorities, and objects that look like arrays become arrays unless
    /// they have a priority, so that the value read back is the same.
    case echo
    /// The children's keys, each with the value `true`; a leaf as in `plain`. Never an array.
    case shallow

    /// Appends the text of a value. Text that is the same as stored is copied at once; objects whose first key may be
    /// an index are scanned ahead.
    package func append(_ value: CanonicalJSON, to out: inout [UInt8]) {
        value.bytes.withUnsafeBytes { text in
            let writer = JSONOutputWriter(text: text, form: self)
            switch self {
            case .export: out.append(contentsOf: text)
            case .shallow: writer.appendShallow(to: &out)
            case .plain, .echo: writer.append(0..<text.count, to: &out)
            }
        }
    }

    package func text(_ value: CanonicalJSON) -> [UInt8] {
        var out: [UInt8] = []
        append(value, to: &out)
        return out
    }
}

/// Finds out whether an inner node is shown as an array: all keys are indices without leading zeros, and at least half
/// of the places up to the greatest are taken (Protocol.md 7.1).
package struct ArrayShape: Sendable {
    private var count = 0
    private var last = 0
    private var hasOtherKeys = false

    package init() {}

    /// Notes the next child, in key order, by its encoded key.
    package mutating func add(encoded segment: UnsafeRawBufferPointer) {
        add(segment[0] == Segment.integerTag ? Segment.integer(of: segment) : nil)
    }

    mutating func add(_ key: IntegerKey?) {
        count += 1
        if let index = key?.arrayIndex { last = index } else { hasOtherKeys = true }
    }

    /// Whether it can still become an array.
    var isPossible: Bool { !hasOtherKeys }

    package var isArray: Bool { count > 0 && !hasOtherKeys && last < 2 * count }
}

extension Key {
    /// The array index that an encoded key spells, nil for another key.
    package static func arrayIndex(encoded segment: UnsafeRawBufferPointer) -> Int? {
        segment[0] == Segment.integerTag ? Segment.integer(of: segment).arrayIndex : nil
    }
}

extension IntegerKey {
    fileprivate var arrayIndex: Int? { form == 0 && value >= 0 ? Int(value) : nil }
}

private struct JSONOutputWriter {
    let text: UnsafeRawBufferPointer
    let form: JSONOutput

    /// Appends the contents of `range`: whole values, and the text between them.
    func append(_ range: Range<Int>, to out: inout [UInt8]) {
        var start = range.lowerBound
        while let object = nextObject(in: start..<range.upperBound) {
            out.append(contentsOf: text.part(start..<object))
            start = CanonicalScan.valueEnd(text, from: object)
            appendObject(object..<start, to: &out)
        }
        out.append(contentsOf: text.part(start..<range.upperBound))
    }

    /// The start of the next object that may have to be shown otherwise than it is stored: one with a priority, or
    /// whose first key begins with a digit. Integer keys come first, and such a text within a string would have its
    /// quote escaped.
    private func nextObject(in range: Range<Int>) -> Int? {
        var offset = range.lowerBound
        while offset + 2 < range.upperBound {
            if offset + ByteLanes.count <= range.upperBound {
                let marks = ByteLanes.equal(ByteLanes.load(text, offset), UInt8(ascii: "{"))
                offset += marks == 0 ? ByteLanes.count : ByteLanes.first(marks)
                if marks == 0 || offset + 2 >= range.upperBound { continue }
            }
            if text[offset] == UInt8(ascii: "{"), text[offset + 1] == UInt8(ascii: "\"") {
                let first = text[offset + 2]
                let isDigit = first &- UInt8(ascii: "0") <= 9
                if isDigit || form == .plain && first == UInt8(ascii: ".") { return offset }
            }
            offset += 1
        }
        return nil
    }

    private func appendObject(_ range: Range<Int>, to out: inout [UInt8]) {
        let shape = CanonicalShape(text, range)
        if shape.kind == .inner, isArray(shape) { return appendArray(shape, to: &out) }
        guard shape.kind == .inner else { return append(shape.content, to: &out) }
        // Its first key is not looked at again.
        out.append(UInt8(ascii: "{"))
        append(shape.content, to: &out)
        out.append(UInt8(ascii: "}"))
    }

    func appendShallow(to out: inout [UInt8]) {
        let shape = CanonicalShape(text, 0..<text.count)
        guard shape.kind == .inner else { return out.append(contentsOf: text.part(shape.content)) }
        out.append(UInt8(ascii: "{"))
        for member in CanonicalMembers(text, shape) {
            if member.all.lowerBound > shape.content.lowerBound { out.append(UInt8(ascii: ",")) }
            out.append(contentsOf: text.part(member.all.lowerBound..<member.value.lowerBound))
            out.append(contentsOf: "true".utf8)
        }
        out.append(UInt8(ascii: "}"))
    }

    private func appendArray(_ shape: CanonicalShape, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "["))
        var index = 0
        for member in CanonicalMembers(text, shape) {
            let key = IntegerKey(text.part(member.key)).map { Int($0.value) } ?? index
            while index <= key {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                if index < key { out.append(contentsOf: "null".utf8) }
                index += 1
            }
            append(member.value, to: &out)
        }
        out.append(UInt8(ascii: "]"))
    }

    private func isArray(_ shape: CanonicalShape) -> Bool {
        var array = ArrayShape()
        for member in CanonicalMembers(text, shape) {
            array.add(IntegerKey(text.part(member.key)))
            if !array.isPossible { return false }
        }
        return array.isArray
    }
}
