import HearthBytes
import HearthJSONTree
import HearthWireProtocol

/// The listeners of SDK 1.x with a list of queries (Protocol.md 16.3). They have no tag, so they get one here, below
/// those of clients. Their pushes carry it, and such clients do not look at it.
struct QueryLists {
    /// By the hash of path and text, which may be long. They are known before the rules are asked.
    private var tags: [UInt128: Int64] = [:]
    private var lastTag: Int64 = 0

    /// The request with a tag, if it is about a list; nil if there are `countMax` others.
    mutating func tagged(_ request: ClientRequest, countMax: Int) -> ClientRequest? {
        switch request {
        case .listen(let path, let query?, nil, let hash, let parts, let since) where query.isList:
            let name = Self.name(path, query)
            if tags[name] == nil, tags.count >= countMax { return nil }
            return .listen(path, query: query, tag: tag(of: name), hash: hash, parts: parts, since: since)
        case .unlisten(let path, let query?, nil) where query.isList:
            // A missing one has an unused tag.
            let tag = tags.removeValue(forKey: Self.name(path, query)) ?? 0
            return .unlisten(path, query: query, tag: tag)
        default: return request
        }
    }

    private static func name(_ path: Path, _ query: QueryObject) -> UInt128 {
        var hash = SHA1()
        (path.encoded + query.text).withUnsafeBytes { hash.update($0) }
        return hash.finish().withUnsafeBytes { $0.loadUnaligned(as: UInt128.self) }
    }

    private mutating func tag(of name: UInt128) -> Int64 {
        if let tag = tags[name] { return tag }
        lastTag -= 1
        tags[name] = lastTag
        return lastTag
    }
}
