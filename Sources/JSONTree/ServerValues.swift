/// Placeholders that the server fills in (Protocol.md 7.6).
extension CanonicalJSON {
    /// This value with all server values filled in.
    ///
    /// `timestamp` is in milliseconds since 1970 and the same for the whole request. `old` gives the value before the
    /// request at a path relative to this value; it is asked for the places of increments only. An increment of
    /// something that is not a number gives the increment; of an integer by an integer the exact sum, or that of the
    /// doubles if it does not fit.
    package func resolved(timestamp: Int64, old: (Path) -> CanonicalJSON) -> CanonicalJSON {
        bytes.withUnsafeBytes { text in
            guard ServerValueResolver.contains(text, 0..<text.count) else { return self }
            return withoutActuallyEscaping(old) { old in
                var resolver = ServerValueResolver(text: text, timestamp: timestamp, old: old)
                resolver.appendNode(0..<text.count)
                return CanonicalJSON(trusted: resolver.out)
            }
        }
    }
}

private struct ServerValueResolver {
    let text: UnsafeRawBufferPointer
    let timestamp: Int64
    let old: (Path) -> CanonicalJSON
    var out: [UInt8] = []
    /// The place of the node that is being written, relative to the root, encoded.
    private var place: [UInt8] = []

    init(text: UnsafeRawBufferPointer, timestamp: Int64, old: @escaping (Path) -> CanonicalJSON) {
        self.text = text
        self.timestamp = timestamp
        self.old = old
        out.reserveCapacity(text.count)
    }

    /// Whether there is a server value in the text of `range`. Within a string its quotes would be escaped.
    static func contains(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        var offset = range.lowerBound
        while offset < range.upperBound {
            if text[offset] == UInt8(ascii: "{"), CanonicalScan.has("{\".sv\":", text, at: offset) { return true }
            offset += 1
        }
        return false
    }

    mutating func appendNode(_ range: Range<Int>) {
        guard ServerValueResolver.contains(text, range) else {
            out.append(contentsOf: text.part(range))
            return
        }
        let shape = CanonicalShape(text, range)
        if shape.priority == nil, shape.kind == .leaf { return appendScalar(shape.content, isPriority: false) }
        out.append(UInt8(ascii: "{"))
        if let priority = shape.priority {
            out.append(contentsOf: "\".priority\":".utf8)
            appendScalar(priority, isPriority: true)
            out.append(UInt8(ascii: ","))
        }
        if shape.kind == .leaf {
            out.append(contentsOf: "\".value\":".utf8)
            appendScalar(shape.content, isPriority: false)
        }
        for member in CanonicalMembers(text, shape) {
            if member.all.lowerBound > shape.content.lowerBound { out.append(UInt8(ascii: ",")) }
            out.append(contentsOf: text.part(member.all.lowerBound..<member.value.lowerBound))
            let count = place.count
            member.withKey(text) { Segment.append(key: $0, to: &place) }
            appendNode(member.value)
            place.removeSubrange(count...)
        }
        out.append(UInt8(ascii: "}"))
    }

    private mutating func appendScalar(_ range: Range<Int>, isPriority: Bool) {
        let increment: StaticString = "{\".sv\":{\"increment\":"
        guard CanonicalScan.has("{\".sv\":", text, at: range.lowerBound) else {
            out.append(contentsOf: text.part(range))
            return
        }
        guard CanonicalScan.has(increment, text, at: range.lowerBound) else {
            appendDecimal(timestamp, to: &out)
            return
        }
        let start = range.lowerBound + increment.utf8CodeUnitCount
        let end = CanonicalScan.valueEnd(text, from: start)
        let delta = JSONNumber(canonical: text.part(start..<end))
        let value = old(Path(encoded: place))
        let before = isPriority ? value.priority : value.part(value.leafRange)
        guard let number = JSONNumber(scalar: before) else { return delta.appendText(to: &out) }
        (number + delta).appendText(to: &out)
    }
}

extension JSONNumber {
    /// Nil if the value is not a number.
    fileprivate init?(scalar value: CanonicalJSON) {
        guard let first = value.bytes.first, first <= UInt8(ascii: "9"), first != UInt8(ascii: "\"") else { return nil }
        self = value.bytes.withUnsafeBytes { JSONNumber(canonical: $0) }
    }

    /// Exact for integers whose sum fits, otherwise the sum of the doubles; a sum beyond their range stays at its end.
    fileprivate static func + (a: JSONNumber, b: JSONNumber) -> JSONNumber {
        if case (.integer(let x), .integer(let y)) = (a, b) {
            let (sum, overflow) = x.addingReportingOverflow(y)
            if !overflow { return .integer(sum) }
        }
        let sum = a.double + b.double
        let limit = Double.greatestFiniteMagnitude
        return JSONNumber(min(max(sum, -limit), limit))
    }
}
