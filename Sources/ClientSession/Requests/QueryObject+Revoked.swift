import HearthJSONTree
package import HearthWireProtocol

extension QueryObject {
    /// Whether the text with which a server revokes a listen means this query: an array with its object, whose members
    /// may come in any order (Protocol.md 5).
    package func isNamed(by text: [UInt8]?) -> Bool {
        guard let text, let start = text.firstIndex(of: UInt8(ascii: "{")),
            let end = text.lastIndex(of: UInt8(ascii: "}")), start < end
        else { return false }
        let object = Array(text[start...end])
        let named =
            query.conditions == nil
            ? try? QueryObject(parsing: object) : try? QueryObject(parsingConditions: object)
        return named?.query == query
    }
}
