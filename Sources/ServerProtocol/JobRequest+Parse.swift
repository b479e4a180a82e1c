import HearthJSONTree
package import HearthWireProtocol

extension JobRequest {
    package static let actions: [(action: StaticString, name: StaticString)] = [
        ("jr", "claim"), ("jx", "extend"), ("jd", "done"), ("jf", "fail"), ("jb", "release"),
    ]

    /// Reads the body of a REST request, which names its action by `do` (rest.md 8).
    package static func parse(body: UnsafeRawBufferPointer) throws(RequestError) -> JobRequest {
        var name: [UInt8]?
        do throws(JSONError) {
            var reader = JSONReader(body)
            if try reader.peek() == UInt8(ascii: "{") {
                try reader.forEachMember { (reader, key) throws(JSONError) in
                    if key.equals("do"), try reader.peek() == UInt8(ascii: "\"") {
                        name = try reader.string()
                    } else {
                        _ = try reader.skipValue()
                    }
                }
            } else {
                _ = try reader.skipValue()
            }
            try reader.finish()
        } catch {
            throw .value(error)
        }
        let action = actions.first { name == Array($0.name.description.utf8) }?.action
        guard let action else { throw .missing(#"member "do": claim, extend, done, fail or release"#) }
        let members = try RequestBody(body)
        guard let request = try members.job(action: Array(action.description.utf8)) else { throw .missing("action") }
        return request
    }
}
