import CHearthOpenSSL

/// Why a key could not be made or read. Names no part of the key.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// Adds OpenSSL's text for the first error that it noted on this thread, and forgets it and the rest.
    package static func last(_ attempt: String) -> CryptographyError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return CryptographyError(attempt) }
        return CryptographyError("\(attempt): \(String(cString: reason))")
    }
}
