import HearthJSONTree

extension CompoundHash.Parts {
    /// SDKs send about a hundred parts of the largest values that are compared. Many short ones would take a hundred
    /// times the memory of their text, and as long to compare.
    private static let textBytesMax = 128 << 10

    /// Reads `{"hs":["…",…],"ps":["a/b",…]}` (Protocol.md 4.2). Nil if it is something else, or too long: without it
    /// the client is sent more, and nothing is wrong.
    init?(parsing text: UnsafeRawBufferPointer) throws(JSONError) {
        var hashes: [JSONStringText]?
        var posts: [JSONStringText]?
        guard text.count <= Self.textBytesMax, text.first == UInt8(ascii: "{") else { return nil }
        var reader = JSONReader(text)
        try reader.forEachMember { (reader, key) throws(JSONError) in
            let value = try reader.skipValue()
            if key.equals("hs") { hashes = try Self.strings(value) }
            if key.equals("ps") { posts = try Self.strings(value) }
        }
        guard let hashes, let posts, hashes.count == posts.count + 1 else { return nil }
        var paths: [Path] = []
        for post in posts {
            do throws(PathError) {
                paths.append(try post.withUTF8 { (text) throws(PathError) in try Path(parsing: text.bytes) })
            } catch {
                return nil
            }
        }
        self.init(hashes: hashes.map(\.utf8), posts: paths)
    }

    /// The elements of an array of strings; nil unless it is one.
    private static func strings(_ text: UnsafeRawBufferPointer) throws(JSONError) -> [JSONStringText]? {
        guard text.first == UInt8(ascii: "[") else { return nil }
        var strings: [JSONStringText] = []
        var reader = JSONReader(UnsafeRawBufferPointer(rebasing: text.dropFirst().dropLast()))
        while !reader.isAtEnd {
            guard try reader.peek() == UInt8(ascii: "\"") else { return nil }
            strings.append(try reader.stringText())
            if !reader.isAtEnd { try reader.expect(UInt8(ascii: ",")) }
        }
        return strings
    }
}
