package import HearthJSONTree

/// The members of a body that requests and pushes share (Protocol.md 4, 5), each as far as it is there. A null is
/// as good as nothing, except as data; a member of a wrong kind makes the whole body wrong, so that a condition is
/// never overlooked.
package struct MessageBody {
    private var path: JSONStringText?
    package private(set) var data: UnsafeRawBufferPointer?
    /// The text of a query object, or of an array of one.
    package private(set) var query: [UInt8]?
    package private(set) var tag: Int64?
    /// The position of the data in the order of commits (Protocol.md 18.2).
    package private(set) var position: [UInt8]?
    private var mistake: RequestError?

    /// A body that is missing.
    package init() {}

    /// `text` is the text of the body. A body that is not an object has no members.
    init(_ text: UnsafeRawBufferPointer?) throws(RequestError) {
        guard let text, text.first == UInt8(ascii: "{") else { return }
        var body = MessageBody()
        do throws(JSONError) {
            var reader = JSONReader(text)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                if try !body.read(key, from: &reader) { _ = try reader.skipValue() }
            }
        } catch {
            throw .value(error)
        }
        try body.check()
        self = body
    }

    /// Throws if a member was of a wrong kind.
    package func check() throws(RequestError) {
        if let mistake { throw mistake }
    }

    /// Tells that a member is of a wrong kind.
    package mutating func note(_ mistake: RequestError) { self.mistake = mistake }

    /// Reads a member that is null or one of these. False for any other, whose value is then to be read.
    package mutating func read(
        _ key: UnsafeRawBufferPointer, from reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        if key.equals("d") {
            data = try reader.skipValue()
        } else if try reader.peek() == UInt8(ascii: "n") {
            _ = try reader.skipValue()
        } else if key.equals("p") {
            path = try string("path \"p\"", from: &reader)
        } else if key.equals("q") {
            query = Array(try reader.skipValue())
        } else if key.equals("t") {
            let text = try reader.skipValue()
            var number = JSONReader(text)
            do throws(JSONError) { tag = try number.integer() } catch { mistake = .missing("tag \"t\"") }
        } else if key.equals("pos") {
            position = try string("position \"pos\"", from: &reader)?.utf8
        } else {
            return false
        }
        return true
    }

    package mutating func string(
        _ name: String, from reader: inout JSONReader
    ) throws(JSONError) -> JSONStringText? {
        if try reader.peek() == UInt8(ascii: "\"") { return try reader.stringText() }
        _ = try reader.skipValue()
        mistake = .missing(name)
        return nil
    }

    package func requiredPath() throws(RequestError) -> Path {
        guard let path else { throw .missing("path \"p\"") }
        do throws(PathError) {
            return try path.withUTF8 { (text) throws(PathError) in try Path(parsing: text.bytes) }
        } catch {
            throw .path(error)
        }
    }

    /// One place and its new value.
    package func assignment() throws(RequestError) -> WireAssignment {
        guard let path else { throw .missing("path \"p\"") }
        let target: WriteTarget
        do throws(PathError) {
            target = try path.withUTF8 { (text) throws(PathError) in try WriteTarget(parsing: text.bytes) }
        } catch {
            throw .path(error)
        }
        guard let data else { throw .missing("data \"d\"") }
        return try WireAssignment.parse(data, for: target)
    }

    /// Several places below the path, and their new values.
    package func assignments() throws(RequestError) -> (base: Path, assignments: [WireAssignment]) {
        let base = try requiredPath()
        guard let data, data.first == UInt8(ascii: "{") else { throw .missing("object \"d\"") }
        return (base, try WireAssignment.parse(data, base: base))
    }
}
