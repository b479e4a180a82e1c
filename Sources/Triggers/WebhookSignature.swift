import HearthBytes
import HearthJSONWebTokens

/// Signatures as Standard Webhooks describes them: HMAC-SHA256 of `id.timestamp.body`.
package enum WebhookSignature {
    /// The headers of a message, with a signature for each secret, so that receivers can change theirs in their own
    /// time.
    ///
    /// - parameter seconds: the time of this attempt, since 1970.
    package static func headers(
        id: String, seconds: Int64, body: [UInt8], secrets: [[UInt8]]
    ) -> [(name: StaticString, value: [UInt8])] {
        let time = Array(String(seconds).utf8)
        let dot = [UInt8(ascii: ".")]
        let signed = Array(id.utf8) + dot + time + dot + body
        let signatures = secrets.map { secret in
            Array("v1,".utf8) + Base64.standard.encode(Cryptography.hmacSHA256(signed, key: secret))
        }
        var headers: [(name: StaticString, value: [UInt8])] = [
            ("webhook-id", Array(id.utf8)), ("webhook-timestamp", time),
        ]
        if !signatures.isEmpty { headers.append(("webhook-signature", Array(signatures.joined(separator: [0x20])))) }
        return headers
    }
}
