/// HMAC-SHA-256 (RFC 2104) of many messages with one key. A message costs no allocations but its digests, unlike one of
/// ``Cryptography/hmacSHA256(_:key:)``, for which OpenSSL looks the algorithm up, and prepares the key.
package final class KeyedDigest {
    private static let blockSize = 64
    private let running = RunningDigest()
    private let innerBlock: [UInt8]
    private let outerBlock: [UInt8]

    package init(key: [UInt8]) {
        let key = key.count > Self.blockSize ? Cryptography.sha256(key) : key
        let block = key + [UInt8](repeating: 0, count: Self.blockSize - key.count)
        innerBlock = block.map { $0 ^ 0x36 }
        outerBlock = block.map { $0 ^ 0x5C }
    }

    /// The digest of the bytes that `body` adds.
    package func digest(_ body: (_ add: (UnsafeRawBufferPointer) -> Void) -> Void) -> [UInt8] {
        let inner = digest(after: innerBlock, body)
        return digest(after: outerBlock) { add in inner.withUnsafeBytes(add) }
    }

    private func digest(after block: [UInt8], _ body: ((UnsafeRawBufferPointer) -> Void) -> Void) -> [UInt8] {
        running.restart()
        block.withUnsafeBytes(running.add)
        body(running.add)
        return running.finish()
    }
}
