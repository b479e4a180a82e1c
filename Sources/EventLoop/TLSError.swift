import CHearthOpenSSL

/// Why TLS could not be set up, with OpenSSL's text.
package struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    /// The first error that OpenSSL noted on this thread, which names the cause; forgets it and the rest.
    static func last(_ attempt: String) -> TLSError {
        let code = ERR_get_error()
        ERR_clear_error()
        if code == 0 { return TLSError(attempt) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
            ERR_error_string_n(code, text.baseAddress!, text.count)
            return TLSError("\(attempt): \(String(cString: text.baseAddress!))")
        }
    }
}
