import HearthBytes
import HearthJSONValues

/// Writes the JSON text of a request. Numbers of 64 bits are written as strings, as etcd does.
struct RequestBody {
    var bytes: [UInt8]

    init(into bytes: consuming [UInt8]) { self.bytes = bytes }

    mutating func open(_ name: StaticString? = nil, _ bracket: Unicode.Scalar = "{") {
        begin(name)
        bytes.append(UInt8(ascii: bracket))
    }

    mutating func close(_ bracket: Unicode.Scalar = "}") { bytes.append(UInt8(ascii: bracket)) }

    mutating func field(_ name: StaticString, base64 value: [UInt8]) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        Base64.standard.append(value, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func field(_ name: StaticString, _ number: Int64) {
        begin(name)
        bytes.append(contentsOf: "\"\(number)\"".utf8)
    }

    mutating func field(_ name: StaticString, _ flag: Bool) {
        begin(name)
        bytes.append(contentsOf: (flag ? "true" : "false").utf8)
    }

    /// One of etcd's own words.
    mutating func field(_ name: StaticString, word: StaticString) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        append(word)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func begin(_ name: StaticString?) {
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
            bytes.append(UInt8(ascii: ","))
        }
        guard let name else { return }
        bytes.append(UInt8(ascii: "\""))
        append(name)
        bytes.append(contentsOf: "\":".utf8)
    }

    private mutating func append(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }
}

extension RequestBody {
    mutating func range(_ range: EtcdKeyRange) {
        field("key", base64: range.start)
        if let end = range.end { field("range_end", base64: end) }
    }
}
