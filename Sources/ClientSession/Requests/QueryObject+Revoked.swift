import HearthJSONTree
package import HearthWireProtocol

extension QueryObject {
    /// Whether the text with which a server revokes a listen means this query: an array with its object, whose members
    /// may come in any order (Protocol.md 5).
    package func isNamed(by text: [UInt8]?) -> Bool {
        guard let text, let start = text.firstIndex(of: UInt8(ascii: "{")),
            let end = text.lastIndex(of: UInt8(ascii: "}")), start < end,
            let named = try? CanonicalJSON.parse(Array(text[start...end])).value
        else { return false }
        return named == (try? CanonicalJSON.parse(self.text).value)
    }
}
