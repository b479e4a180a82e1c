package import HearthJSONTree
import HearthTreeText

extension CanonicalJSON {
    /// The value that a merge patch makes of this one, as the SDK of Firebase's functions does it (`applyChange`).
    package func applying(mergePatch patch: [UInt8]) throws -> CanonicalJSON {
        guard patch.first == UInt8(ascii: "{"), !isLeaf, !isNull else { return try CanonicalJSON.parse(patch).value }
        let members = try patch.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in try PatchMembers(bytes) }
        return setting(
            try members.list.map { (key, patch) in
                let path = Path([try Key(validating: key)])
                return Edit(path: path, value: try value(at: path).applying(mergePatch: patch))
            })
    }
}

private struct PatchMembers {
    private(set) var list: [(key: [UInt8], patch: [UInt8])] = []

    init(_ bytes: UnsafeRawBufferPointer) throws(JSONError) {
        var list = self.list
        var reader = JSONReader(bytes)
        try reader.forEachMember { (reader, name) throws(JSONError) in
            list.append((JSONStringText(raw: name, hasEscapes: true).utf8, [UInt8](try reader.skipValue())))
        }
        self.list = list
    }
}
