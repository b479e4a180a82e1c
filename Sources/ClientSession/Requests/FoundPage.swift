package import HearthJSONTree

/// Children for which conditions hold, in the order of the query (Protocol.md 18.3).
package struct FoundPage: Sendable {
    package struct Child: Sendable {
        package let key: Key
        /// Null if it has none of the fields that were asked for.
        package let value: CanonicalJSON
    }

    package private(set) var children: [Child] = []
    /// Names the page after this one, if there is one.
    package private(set) var next: String?
    /// The index that would serve the query, as in a settings file; nil if there is one, or if none would.
    package private(set) var needs: String?
    /// How it was found, as JSON text, if that was asked for.
    package private(set) var explanation: String?

    /// Reads the data of an answer; nil if they are no page.
    package init?(parsing text: [UInt8]) {
        var page = self
        do throws(JSONError) {
            try JSONReader.forEachMember(of: text) { (reader, name) throws(JSONError) in
                if name.equals("next") {
                    page.next = String(decoding: try reader.string(), as: UTF8.self)
                } else if name.equals("needs") {
                    page.needs = String(decoding: try reader.string(), as: UTF8.self)
                } else if name.equals("explain") {
                    page.explanation = String(decoding: try reader.skipValue(), as: UTF8.self)
                } else if name.equals("items") {
                    try reader.forEachMember { (reader, _) throws(JSONError) in try page.readItem(&reader) }
                } else {
                    _ = try reader.skipValue()
                }
            }
        } catch {
            return nil
        }
        self = page
    }

    /// The children of one node, without their order; null for an empty page.
    package var node: Node { Node(children: children.map { ($0.key, Node($0.value)) }) }

    private mutating func readItem(_ reader: inout JSONReader) throws(JSONError) {
        var key: Key?
        var value = CanonicalJSON.null
        try reader.forEachMember { (reader, name) throws(JSONError) in
            if name.equals("key") {
                key = try? Key(validating: String(decoding: try reader.string(), as: UTF8.self))
            } else if name.equals("value") {
                value = try CanonicalJSON.parse(try reader.skipValue().bytes).value
            } else {
                _ = try reader.skipValue()
            }
        }
        if let key { children.append(Child(key: key, value: value)) }
    }
}
