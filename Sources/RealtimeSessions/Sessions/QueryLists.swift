import HearthJSONTree
import HearthWireProtocol

/// The listeners of SDK 1.x with a list of queries (Protocol.md 16.3). They have no tag, so they get one here, below
/// those of clients. Their pushes carry it, and such clients do not look at it.
struct QueryLists {
    private struct Listener: Hashable {
        var path: Path
        var text: [UInt8]
    }

    private var tags: [Listener: Int64] = [:]
    private var lastTag: Int64 = 0

    /// The request with a tag, if it is about a list; nil if there are more than `countMax` lists.
    mutating func tagged(_ request: ClientRequest, countMax: Int) -> ClientRequest? {
        switch request {
        case .listen(let path, let query?, nil, let hash, let parts, let since) where query.isList:
            let listener = Listener(path: path, text: query.text)
            if tags[listener] == nil, tags.count >= countMax { return nil }
            return .listen(path, query: query, tag: tag(of: listener), hash: hash, parts: parts, since: since)
        case .unlisten(let path, let query?, nil) where query.isList:
            // A missing one has an unused tag.
            let tag = tags.removeValue(forKey: Listener(path: path, text: query.text)) ?? 0
            return .unlisten(path, query: query, tag: tag)
        default: return request
        }
    }

    private mutating func tag(of listener: Listener) -> Int64 {
        if let tag = tags[listener] { return tag }
        lastTag -= 1
        tags[listener] = lastTag
        return lastTag
    }
}
