import HearthClientSession
import HearthJSONTree
import HearthWireProtocol

extension WriteSize {
    /// - throws: `invalidValue`.
    static func check(_ assignments: [WireAssignment]) throws(DatabaseError) {
        let byteCount = assignments.reduce(0) { $0 + $1.value.bytes.count + $1.target.path.encoded.count }
        guard byteCount > bytesMax else { return }
        throw .invalidValue("the write has \(byteCount) bytes: at most \(bytesMax) are possible at once")
    }
}
