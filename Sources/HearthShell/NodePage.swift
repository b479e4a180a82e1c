import HearthJSONTree
import HearthJSONValues

/// A node in short, with some of its children (administration.md 2).
struct NodePage {
    struct Child {
        let key: String
        let node: NodeSummary
        let json: JSONObject
    }

    let node: NodeSummary
    let priority: JSONValue?
    let children: [Child]
    /// There are more after this key.
    let next: Key?
    let json: JSONObject

    init(_ object: JSONObject) {
        json = object
        node = NodeSummary(object)
        priority = object["pri"]
        children = (object["c"]?.array ?? []).compactMap { child in
            guard let child = child.object, let key = child["k"]?.text else { return nil }
            return Child(key: key, node: NodeSummary(child), json: child)
        }
        next = object["next"]?.utf8.flatMap { try? Key(validating: $0) }
    }

    /// The value has children.
    var isObject: Bool { node.type == "object" }

    /// The elements of the array of children; a value without children is returned itself.
    var elements: [JSONObject] { isObject ? children.map(\.json) : node.type == "null" ? [] : [json] }

    /// Bytes of these children, about; nil if one is larger than the server says.
    var byteCount: Int? {
        if !isObject { return node.byteCount }
        var sum = 0
        for child in children {
            guard let count = child.node.byteCount else { return nil }
            sum += count + child.key.utf8.count + 4
        }
        return sum
    }
}

/// A value in short.
struct NodeSummary {
    /// `object`, `string`, `number`, `boolean` or `null`.
    let type: String
    /// The whole value, if it is small.
    let value: JSONValue?
    private let bytes: Int?
    private let childCount: Int?
    private let beginning: String?

    init(_ object: JSONObject) {
        type = object["t"]?.text ?? "null"
        value = object["v"]
        // No value has more, and the sizes of all children can be added.
        bytes = object["b"]?.integer.map { Int(clamping: min(max($0, 0), 1 << 40)) }
        childCount = object["n"]?.integer.map { Int(clamping: $0) }
        beginning = object["s"]?.text
    }

    /// Nil for a large value.
    var byteCount: Int? { bytes ?? value.map { $0.bytes.count } }

    /// One line.
    func text(_ painter: JSONPainter) -> String {
        if let value { return painter.line(value) }
        if let beginning, let bytes {
            return painter.leaf(.text(beginning)) + Style.dim("… (\(ByteText(bytes)))", painter.isColoured)
        }
        let size = childCount.map { "{ \($0) \($0 == 1 ? "child" : "children"), \(ByteText(bytes ?? 0)) }" }
        return Style.dim(size ?? "{ many children }", painter.isColoured)
    }
}
