import CHearthOpenSSL

/// SHA-256 of bytes that come in parts.
package final class RunningDigest {
    private let context: OpaquePointer

    package init() {
        // Fails only when there is no memory left.
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("SHA-256 cannot be begun")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func add(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// Begins with another text. Cheaper than another object.
    package func restart() {
        // The same algorithm as before: this allocates nothing.
        precondition(EVP_DigestInit_ex(context, nil, nil) == 1, "SHA-256 cannot be begun")
    }

    /// The digest of all that was added. Nothing more can be added until ``restart()``.
    package func finish() -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &out, nil)
        return out
    }
}
