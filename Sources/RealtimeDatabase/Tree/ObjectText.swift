import HearthJSONTree
import HearthTreeText

/// The text of an object, made of children in key order.
struct ObjectText {
    private let bytesMax: Int
    private var bytes: [UInt8] = []

    init(bytesMax: Int = .max) { self.bytesMax = bytesMax }

    var bytesLeft: Int { bytesMax - bytes.count }

    mutating func append(_ segment: [UInt8], _ value: CanonicalJSON) throws(TreeRows.ReadError) {
        if value.isNull { return }
        bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
        segment.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &bytes) }
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: value.bytes)
        if bytes.count > bytesMax { throw .tooLarge }
    }

    consuming func finish() -> CanonicalJSON {
        if bytes.isEmpty { return .null }
        bytes.append(UInt8(ascii: "}"))
        return CanonicalJSON(trusted: bytes)
    }
}
