import CHearthNghttp2

/// The client's half of an HTTP/2 connection (RFC 9113) with one request of gRPC at a time: bytes in, bytes out. The
/// distribution's nghttp2 knows the protocol. For one thread.
final class HTTP2Session {
    /// The response to the present request, as far as it has come.
    struct Response {
        var status: Int?
        var grpcStatus: Int?
        /// As it was sent: some bytes are percent-encoded.
        var grpcMessage: [UInt8] = []
        /// The bytes of the body that have not been taken yet.
        var body: [UInt8] = []
        /// The stream's error code (RFC 9113, section 7), 0 for none; nil before its end.
        var endCode: UInt32?
    }

    private(set) var response = Response()
    /// Why the server was not understood, in words of nghttp2.
    private(set) var problem: String?
    private var request: [UInt8] = []
    private var sentCount = 0
    private var stream: Int32 = 0
    private let isEncrypted: Bool
    /// Safe because: it is made in `init`, freed in `deinit`, and never leaves the object, which it points to as long
    /// as it exists.
    private var session: OpaquePointer!

    /// The bytes that the server may send before they are acknowledged. With the default of 64 KiB a large reply would
    /// wait for several round trips.
    private static let window: Int32 = 16 << 20

    /// - parameter isEncrypted: the connection is one of TLS, which servers want to be told.
    init(isEncrypted: Bool) {
        self.isEncrypted = isEncrypted
        var callbacks: OpaquePointer?
        precondition(nghttp2_session_callbacks_new(&callbacks) == 0, "no memory")
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameCount, value, valueCount, _, own in
            let session = HTTP2Session.of(own)
            guard frame!.pointee.hd.stream_id == session.stream else { return 0 }
            session.takeHeader(
                UnsafeBufferPointer(start: name, count: nameCount), UnsafeBufferPointer(start: value, count: valueCount)
            )
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, own in
            let session = HTTP2Session.of(own)
            guard stream == session.stream else { return 0 }
            session.response.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { raw, frame, own in
            let (session, header) = (HTTP2Session.of(own), frame!.pointee.hd)
            guard header.stream_id == session.stream, UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
                session.sentCount < session.request.count
            else { return 0 }
            // A response before the end of the request: the rest of that is not wanted.
            return nghttp2_submit_rst_stream(
                raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), session.stream, NGHTTP2_CANCEL.rawValue)
        }
        nghttp2_session_callbacks_set_error_callback2(callbacks) { _, _, text, count, own in
            HTTP2Session.of(own).problem = String(
                decoding: UnsafeRawBufferPointer(start: text, count: count), as: UTF8.self)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, own in
            let session = HTTP2Session.of(own)
            guard stream == session.stream else { return 0 }
            session.response.endCode = code
            session.request = []
            return 0
        }
        precondition(
            nghttp2_session_client_new(&session, callbacks, Unmanaged.passUnretained(self).toOpaque()) == 0, "no memory"
        )
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(Self.window)),
        ]
        precondition(
            nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count) == 0
                && nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Self.window)
                    == 0,
            "no memory")
    }

    deinit { nghttp2_session_del(session) }

    private static func of(_ own: UnsafeMutableRawPointer?) -> HTTP2Session {
        Unmanaged<HTTP2Session>.fromOpaque(own!).takeUnretainedValue()
    }

    /// Whether the connection takes another request: false after a GOAWAY, or after an error of the connection.
    var takesRequests: Bool { nghttp2_session_check_request_allowed(session) != 0 && isAlive }

    /// Whether anything else can come.
    var isAlive: Bool { nghttp2_session_want_read(session) != 0 }

    /// Begins a request. Its response replaces the one before.
    ///
    /// - parameter message: with its prefix; after it the request ends.
    /// - precondition: ``takesRequests``, and no other request is under way.
    func begin(_ path: StaticString, authority: [UInt8], message: [UInt8]) {
        precondition(stream == 0 || response.endCode != nil, "a request is under way")
        response = Response()
        request = message
        sentCount = 0
        // Safe because: nghttp2 copies names and values before it returns.
        func header(_ name: StaticString, _ value: UnsafePointer<UInt8>, _ count: Int) -> nghttp2_nv {
            nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start), value: UnsafeMutablePointer(mutating: value),
                namelen: name.utf8CodeUnitCount, valuelen: count, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue))
        }
        func header(_ name: StaticString, _ value: StaticString) -> nghttp2_nv {
            header(name, value.utf8Start, value.utf8CodeUnitCount)
        }
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, _, buffer, capacity, flags, _, own in
            let session = HTTP2Session.of(own)
            let count = min(capacity, session.request.count - session.sentCount)
            session.request[session.sentCount...].withUnsafeBufferPointer {
                if count > 0 { buffer!.update(from: $0.baseAddress!, count: count) }
            }
            session.sentCount += count
            if session.sentCount == session.request.count { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
        stream = authority.withUnsafeBufferPointer { authority in
            let headers = [
                header(":method", "POST"), header(":scheme", isEncrypted ? "https" : "http"), header(":path", path),
                header(":authority", authority.baseAddress!, authority.count),
                header("te", "trailers"), header("content-type", "application/grpc"),
                // A member without a leader says so at once instead of waiting for one.
                header("hasleader", "true"),
            ]
            return nghttp2_submit_request(session, nil, headers, headers.count, &provider, nil)
        }
        precondition(stream > 0, "a request was begun where none was possible")
    }

    /// The bytes to send now.
    func output() -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            var piece: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &piece)
            precondition(count >= 0, "no memory")
            guard count > 0 else { return bytes }
            bytes.append(contentsOf: UnsafeBufferPointer(start: piece, count: count))
        }
    }

    /// Reads received bytes. If they are not HTTP/2, ``problem`` says why.
    func receive(_ bytes: [UInt8]) {
        let result = nghttp2_session_mem_recv(session, bytes, bytes.count)
        if result < 0 { problem = String(cString: nghttp2_strerror(Int32(result))) }
    }

    /// The bytes of the body since the last call.
    func takeBody() -> [UInt8] {
        defer { response.body = [] }
        return response.body
    }

    private func takeHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        if name.elementsEqual(":status".utf8) {
            response.status = Int(String(decoding: value, as: UTF8.self))
        } else if name.elementsEqual("grpc-status".utf8) {
            // One that is not a number is unknown, too.
            response.grpcStatus = Int(String(decoding: value, as: UTF8.self)) ?? 2
        } else if name.elementsEqual("grpc-message".utf8) {
            response.grpcMessage = Array(value)
        }
    }
}
