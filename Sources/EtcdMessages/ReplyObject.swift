import HearthBytes
import HearthJSONValues

/// Reads the members of an object in a reply. etcd leaves out zero, false and empty values, and writes numbers of 64
/// bits as strings.
struct ReplyObject {
    private let members: JSONObject

    init(_ members: JSONObject) { self.members = members }

    func has(_ name: String) -> Bool { members[name] != nil }

    func integer(_ name: String) throws(EtcdError) -> Int64 { try number(name) ?? 0 }

    func unsigned(_ name: String) throws(EtcdError) -> UInt64 { try number(name) ?? 0 }

    func flag(_ name: String) throws(EtcdError) -> Bool {
        guard let value = members[name] else { return false }
        guard let flag = value.bool else { throw malformed(name) }
        return flag
    }

    func text(_ name: String) throws(EtcdError) -> String {
        guard let value = members[name] else { return "" }
        guard let text = value.text else { throw malformed(name) }
        return text
    }

    func bytes(_ name: String) throws(EtcdError) -> [UInt8] {
        guard let value = members[name] else { return [] }
        guard let text = value.utf8, let bytes = Base64.standard.decode(text) else { throw malformed(name) }
        return bytes
    }

    /// Nil if it is missing.
    func object(_ name: String) throws(EtcdError) -> ReplyObject? {
        guard let value = members[name] else { return nil }
        guard let object = value.object else { throw malformed(name) }
        return ReplyObject(object)
    }

    func objects(_ name: String) throws(EtcdError) -> [ReplyObject] {
        guard let value = members[name] else { return [] }
        guard let elements = value.array else { throw malformed(name) }
        return try elements.map { (element) throws(EtcdError) in
            guard let object = element.object else { throw malformed(name) }
            return ReplyObject(object)
        }
    }

    func texts(_ name: String) throws(EtcdError) -> [String] {
        guard let value = members[name] else { return [] }
        guard let elements = value.array else { throw malformed(name) }
        return try elements.map { (element) throws(EtcdError) in
            guard let text = element.text else { throw malformed(name) }
            return text
        }
    }

    func header() throws(EtcdError) -> EtcdHeader {
        guard let header = try object("header") else { throw .malformedReply("without a header") }
        let revision = try header.integer("revision")
        // There is a revision after it.
        guard (0..<Int64.max).contains(revision) else { throw malformed("revision") }
        return EtcdHeader(
            cluster: try header.unsigned("cluster_id"), member: try header.unsigned("member_id"),
            revision: revision, raftTerm: try header.unsigned("raft_term"))
    }

    /// The error that the object is, if it is one: of a call (`code`, `message`), or of a stream (`error` is an
    /// object).
    func error() throws(EtcdError) -> EtcdError? {
        if case .object(let error)? = members["error"] {
            let error = ReplyObject(error)
            return EtcdError(code: try error.integer("grpc_code"), message: try error.text("message"))
        }
        guard has("code"), has("message") || has("error") else { return nil }
        return EtcdError(code: try integer("code"), message: try text(has("message") ? "message" : "error"))
    }

    private func number<Number: FixedWidthInteger>(_ name: String) throws(EtcdError) -> Number? {
        switch members[name] {
        case nil: return nil
        case .integer(let value)?: if let number = Number(exactly: value) { return number }
        case let value?: if let text = value.text, let number = Number(text) { return number }
        }
        throw malformed(name)
    }

    private func malformed(_ name: String) -> EtcdError { .malformedReply("\(name) is not as expected") }
}
