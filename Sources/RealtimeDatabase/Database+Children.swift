import HearthJSONTree
import HearthTreeText
import HearthSecurityRules
import HearthStorageErrors

/// A summary of a node and its children, for browsing. The cost depends only on the part that is shown.
extension Database {
    /// Children that have expired, and are passed over for one page.
    private static let hiddenMax = 10_000
    /// Values up to this many bytes are shown whole.
    private static let shownBytesMax = 200

    /// JSON text: `{"t":TYPE}` and the priority of a node; with `"v"` for a leaf, with `"c":[…]` for a node with
    /// children, or with their count `"n"`. `"next"` is the last of them if there are more.
    func describe(_ path: Path, _ page: ChildrenPage, in turn: borrowing Turn) throws(Failure) -> CanonicalJSON {
        try checkAllowed(.read(path), in: turn)
        try count(.read, at: path, in: turn)
        if let tornBy { throw .unavailable(tornBy) }
        let described: CanonicalJSON
        do throws(StorageError) {
            described = try describe(path, page, without: expired(at: turn.record.time))
        } catch {
            throw .unavailable(error)
        }
        try countBytesRead(described.bytes.count, at: path, in: turn)
        return described
    }

    private func describe(
        _ path: Path, _ page: ChildrenPage, without expired: ExpiredChildren?
    ) throws(StorageError) -> CanonicalJSON {
        let place = try rows.locate(path)
        let times = expired?.times(ofChildrenOf: path) ?? []
        var priority = place.node.value
        var out: [UInt8] = []
        if place.node.state == .packed {
            let value = place.node.value.value(at: path.dropFirst(bytes: place.used))
            priority = value.priority
            if value.isNull || value.isLeaf {
                Self.append(member: value, to: &out, key: nil)
                return CanonicalJSON(trusted: out)
            }
        }
        out += #"{"t":"object""#.utf8
        if !priority.isNull { out += #","pri":"#.utf8 + priority.bytes }
        if !page.isCount { out += #","c":["#.utf8 }
        var count = 0
        var last: [UInt8]?
        var isMore = false
        var hiddenCount = 0
        var start: [UInt8] = [0]
        if let after = page.after { start = Path.subtreeEnd(of: Path([after]).encoded) }
        try rows.forEachChild(of: path, from: start, below: [0xFF], .ascending) { (child) throws(StorageError) in
            let place = Path(encoded: path.encoded + child.segment)
            if let expired, try rows.hasExpired(place, times, by: expired.time) {
                hiddenCount += 1
                if hiddenCount <= Self.hiddenMax { return true }
                (isMore, last) = (true, child.segment)
                return false
            }
            if count == page.limit {
                isMore = true
                return false
            }
            count += 1
            last = child.segment
            if page.isCount { return true }
            if count > 1 { out.append(UInt8(ascii: ",")) }
            let value = child.value.map { expired?.removed(from: $0, at: place) ?? $0 }
            Self.append(member: value, to: &out, key: child.segment)
            return true
        }
        out += page.isCount ? #","n":\#(count)"#.utf8 : "]".utf8
        if isMore, let last {
            out += #","next":"#.utf8
            last.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &out) }
        }
        return CanonicalJSON(trusted: out + "}".utf8)
    }

    /// - parameter value: nil for a node that is spread over many rows.
    private static func append(member value: CanonicalJSON?, to out: inout [UInt8], key: [UInt8]?) {
        out += #"{"t":""#.utf8
        guard let value else {
            out += #"object""#.utf8
            return close(key, &out)
        }
        let leaf = value.isLeaf ? value.part(value.leafRange) : value
        switch leaf.bytes.first {
        case UInt8(ascii: "{"): out += "object".utf8
        case UInt8(ascii: "\""): out += "string".utf8
        case UInt8(ascii: "t"), UInt8(ascii: "f"): out += "boolean".utf8
        case UInt8(ascii: "n"): out += "null".utf8
        default: out += "number".utf8
        }
        out.append(UInt8(ascii: "\""))
        if !value.priority.isNull { out += #","pri":"#.utf8 + value.priority.bytes }
        if leaf.bytes.count <= shownBytesMax {
            out += #","v":"#.utf8 + leaf.bytes
        } else {
            out += #","b":\#(leaf.bytes.count)"#.utf8
            if leaf.isLeaf {
                out += #","s":"#.utf8 + CanonicalJSON(string: beginning(of: leaf)).bytes
            } else {
                out += #","n":\#(leaf.childCount)"#.utf8
            }
        }
        close(key, &out)
    }

    private static func close(_ key: [UInt8]?, _ out: inout [UInt8]) {
        if let key {
            out += #","k":"#.utf8
            key.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &out) }
        }
        out.append(UInt8(ascii: "}"))
    }

    /// The first characters of a long string.
    private static func beginning(of string: CanonicalJSON) -> [UInt8] {
        guard let text = string.stringUTF8 else { return [] }
        var end = min(shownBytesMax, text.count)
        while end > 0, end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(text[..<end])
    }
}
