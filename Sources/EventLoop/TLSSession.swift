import CHearthOpenSSL
import Glibc

/// TLS over one socket: turns its records into bytes and bytes into records. Belongs to a stream.
///
/// Reads and writes give results like the system's: a count, 0 at the end, or a negated `errno`.
final class TLSSession {
    /// The result after which `failure` says more.
    static let failed = Int.min
    /// The maximum contents of one record (RFC 8446, section 5.1).
    static let recordSize = 16 * 1024

    private let ssl: OpaquePointer
    /// Why the session is of no use any more.
    private(set) var failure = TLSError("TLS failed")
    private var hasFailed = false

    init(_ ssl: OpaquePointer) { self.ssl = ssl }

    deinit { SSL_free(ssl) }

    /// Continues the handshake.
    ///
    /// - returns: 1 when it is done, `-EAGAIN` until then.
    func shakeHands() -> Int {
        forgetErrors()
        let result = SSL_do_handshake(ssl)
        return result == 1 ? 1 : outcome(result, "shake hands")
    }

    /// Whether the peer has chosen this protocol of those offered (RFC 7301). After the handshake.
    func speaks(_ name: String) -> Bool {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &bytes, &count)
        return UnsafeBufferPointer(start: bytes, count: Int(count)).elementsEqual(name.utf8)
    }

    /// Reads until the buffer is full or the socket is empty. The socket's bytes are taken over, so only `isDry` and
    /// the next event show whether there are more.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isDry: Bool) {
        if hasFailed { return (TLSSession.failed, true) }
        var filled = 0
        while filled < buffer.count {
            forgetErrors()
            var count = 0
            let result = SSL_read_ex(ssl, buffer.baseAddress! + filled, buffer.count - filled, &count)
            if result != 1 {
                let outcome = outcome(result, "read")
                return (filled > 0 ? filled : outcome, outcome == -Int(EAGAIN))
            }
            filled += count
        }
        return (filled, false)
    }

    /// Writes at most one record. After `-EAGAIN` the same bytes, and perhaps more after them, must be offered again.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        if hasFailed { return TLSSession.failed }
        forgetErrors()
        var count = 0
        let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
        if result == 1 { return count }
        let outcome = outcome(result, "write")
        // After the end of what the peer sends, OpenSSL 3.0 takes a broken connection for that end.
        return outcome == 0 ? -Int(EPIPE) : outcome
    }

    /// Tells the peer that nothing more will come. Not repeated if the socket is full: the end of the connection says
    /// the same.
    func sendCloseNotify() {
        if hasFailed { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// `outcome` reads the error queue after the last call, and other users of OpenSSL on this thread may leave
    /// entries.
    private func forgetErrors() {
        ERR_clear_error()
        errno = 0
    }

    private func outcome(_ result: Int32, _ attempt: String) -> Int {
        let systemCode = errno
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            return -Int(EAGAIN)
        case SSL_ERROR_ZERO_RETURN:
            return 0
        case SSL_ERROR_SYSCALL where systemCode != 0:
            ERR_clear_error()
            return -Int(systemCode)
        default:
            hasFailed = true
            failure = describeFailure(attempt)
            return TLSSession.failed
        }
    }

    private func describeFailure(_ attempt: String) -> TLSError {
        let verification = SSL_get_verify_result(ssl)
        guard verification != X509_V_OK else { return TLSError.last(attempt) }
        ERR_clear_error()
        return TLSError("verify the certificate: \(String(cString: X509_verify_cert_error_string(verification)))")
    }
}
