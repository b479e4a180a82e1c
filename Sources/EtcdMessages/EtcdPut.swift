package import HearthJSONValues

/// Writes one key. Not repeatable: somebody else may have written it in between.
package struct EtcdPut: EtcdCall, Hashable {
    package static let path: StaticString = "/v3/kv/put"

    package var key: [UInt8]
    package var value: [UInt8]
    /// 0 for none.
    package var lease: Int64

    package init(key: [UInt8], value: [UInt8], lease: Int64 = 0) {
        self.key = key
        self.value = value
        self.lease = lease
    }

    package var isRepeatable: Bool { false }

    package var body: [UInt8] {
        var body = RequestBody(into: [])
        body.open()
        append(to: &body)
        body.close()
        return body.bytes
    }

    func append(to body: inout RequestBody) {
        body.field("key", base64: key)
        body.field("value", base64: value)
        if lease != 0 { body.field("lease", lease) }
    }

    /// Answers the revision of the write.
    package func reply(_ header: EtcdHeader, _ members: JSONObject) throws(EtcdError) -> Int64 { header.revision }
}
