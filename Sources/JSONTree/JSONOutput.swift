/// How a value is shown over HTTP (rest 4). On the websocket and with `format=export` the canonical text itself is shown.
///
/// The text has no white space; ``JSONLayout`` makes it pretty.
package enum JSONOutput: Hashable, Sendable {
    /// Without priorities; objects that look like arrays become arrays (wire-protocol 4.2).
    case plain
    /// With priorities, without arrays.
    case export
    /// As a write answers (rest 3): with priorities, and objects that look like arrays become arrays unless they have a
    /// priority, so that what is read back is the same.
    case echo
    /// The children's keys, each with the value `true`; a leaf as in `plain`. Never an array.
    case shallow

    /// Appends the text of a value. One pass, but for objects whose first key is an index: those are scanned ahead.
    package func append(_ value: CanonicalJSON, to out: inout [UInt8]) {
        value.bytes.withUnsafeBytes { text in
            if self == .export {
                out.append(contentsOf: text)
            } else {
                JSONOutputWriter(text: text, form: self).append(0..<text.count, to: &out)
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
/// of the places up to the greatest are taken (wire-protocol 4.2).
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

    /// Whether it can still become an array, whatever comes.
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

    func append(_ range: Range<Int>, to out: inout [UInt8]) {
        let shape = CanonicalShape(text, range)
        switch shape.kind {
        case .nothing: out.append(contentsOf: "null".utf8)
        case .leaf: out.append(contentsOf: text.part(form == .echo ? range : shape.content))
        case .inner:
            if form == .plain || form == .echo && shape.priority == nil, isArray(shape) {
                appendArray(shape, to: &out)
            } else {
                appendObject(shape, to: &out)
            }
        }
    }

    private func appendObject(_ shape: CanonicalShape, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "{"))
        var isFirst = true
        if form == .echo, let priority = shape.priority {
            out.append(contentsOf: "\".priority\":".utf8)
            out.append(contentsOf: text.part(priority))
            isFirst = false
        }
        for member in CanonicalMembers(text, shape) {
            if !isFirst { out.append(UInt8(ascii: ",")) }
            isFirst = false
            out.append(contentsOf: text.part(member.all.lowerBound..<member.value.lowerBound))
            if form == .shallow {
                out.append(contentsOf: "true".utf8)
            } else {
                append(member.value, to: &out)
            }
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
