import CHearthLinux
import CHearthOpenSSL
import Glibc
import Testing

/// A blocking TLS client on loopback that trusts everybody, for what our own client would never do. Reads and writes give
/// up after `Patience.limit`.
package final class TestTLSClient {
    private let descriptor: Int32
    private let context: OpaquePointer
    private let ssl: OpaquePointer

    /// - parameter version: the only one offered.
    /// - parameter protocols: the protocols offered by ALPN.
    package init(port: UInt16, version: Int32? = nil, protocols: [String] = []) throws {
        // OpenSSL writes without `MSG_NOSIGNAL`, and the peer may be gone.
        linux_block_broken_pipe_signal()
        let version = version ?? TLS1_3_VERSION
        descriptor = try Self.connect(port)
        context = try #require(SSL_CTX_new(TLS_client_method()))
        SSL_CTX_set_security_level(context, 0)
        SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
        try #require(openssl_set_min_version(context, version) == 1)
        try #require(openssl_set_max_version(context, version) == 1)
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + [UInt8]($0.utf8) }
        if !list.isEmpty { SSL_CTX_set_alpn_protos(context, list, UInt32(list.count)) }
        ssl = try #require(SSL_new(context))
        SSL_set_fd(ssl, descriptor)
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
        close(descriptor)
    }

    private static func connect(_ port: UInt16) throws -> Int32 {
        let descriptor = try LoopbackSocket.make()
        let error = LoopbackSocket.connect(descriptor, to: port)
        guard error == 0 else {
            close(descriptor)
            throw NotConnected(code: error)
        }
        return descriptor
    }

    private struct NotConnected: Error {
        let code: Int32
    }

    /// Shakes hands; returns whether that succeeded.
    package func shakeHands() -> Bool {
        ERR_clear_error()
        defer { ERR_clear_error() }
        return SSL_connect(ssl) == 1
    }

    /// The server gave a ticket by which a later connection could go on with the keys of this one.
    package var hasTicket: Bool { SSL_SESSION_has_ticket(SSL_get_session(ssl)) == 1 }

    package var chosenProtocol: String {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &bytes, &count)
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    package func send(_ text: String) throws {
        var count = 0
        try #require(SSL_write_ex(ssl, text, text.utf8.count, &count) == 1)
        try #require(count == text.utf8.count)
    }

    /// Says that nothing more comes.
    package func sendEnd() { _ = SSL_shutdown(ssl) }

    /// At its end this client resets the connection (RST), even with unread data.
    package func resetAtEnd() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    /// What one read gives, or nil at an end announced by close_notify.
    package func receive() throws -> String? {
        ERR_clear_error()
        var buffer = [UInt8](repeating: 0, count: 20_000)
        var count = 0
        let result = SSL_read_ex(ssl, &buffer, buffer.count, &count)
        if result == 1 { return String(decoding: buffer[..<count], as: UTF8.self) }
        try #require(SSL_get_error(ssl, result) == SSL_ERROR_ZERO_RETURN)
        return nil
    }
}
