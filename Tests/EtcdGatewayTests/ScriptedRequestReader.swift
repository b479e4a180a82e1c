import CHearthNghttp2

@testable import HearthEtcdMessages

/// Reads requests of gRPC from the bytes of a client: one at a time, without limits.
struct ScriptedRequestReader: ~Copyable {
    struct Malformed: Error {}

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var received: [UInt8] = []
    private var hasPreface = false
    private var path = ""
    private var body: [UInt8] = []
    private var inflater: OpaquePointer?

    private let readsHeadsOnly: Bool

    init(readsHeadsOnly: Bool) {
        self.readsHeadsOnly = readsHeadsOnly
        precondition(nghttp2_hd_inflate_new(&inflater) == 0)
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    mutating func feed(_ bytes: [UInt8]) { received += bytes }

    /// The next request with its stream, once all of it has come.
    mutating func next() throws -> (ScriptedMember.Request, stream: UInt32)? {
        if !hasPreface {
            guard received.count >= Self.preface.count else { return nil }
            guard received.starts(with: Self.preface) else { throw Malformed() }
            received.removeFirst(Self.preface.count)
            hasPreface = true
        }
        while received.count >= 9 {
            let count = received[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard received.count >= 9 + count else { return nil }
            let (kind, flags) = (ScriptedFrame.Kind(rawValue: received[3]), received[4])
            let stream = received[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
            let payload = Array(received[9..<9 + count])
            received.removeFirst(9 + count)
            switch kind {
            case .headers:
                try readHeaders(payload)
                if readsHeadsOnly { return (.init(path: path, message: []), stream) }
            case .data where readsHeadsOnly: continue
            case .data: body += payload
            default: continue
            }
            guard flags & ScriptedFrame.endStream != 0 else { continue }
            defer { body = [] }
            guard body.count >= GRPCMessages.prefixCount else { throw Malformed() }
            return (.init(path: path, message: Array(body.dropFirst(GRPCMessages.prefixCount))), stream)
        }
        return nil
    }

    private mutating func readHeaders(_ block: [UInt8]) throws {
        var rest = block[...]
        while true {
            var (field, flags) = (nghttp2_nv(), 0 as Int32)
            let count = Array(rest).withUnsafeBufferPointer {
                nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress, $0.count, 1)
            }
            guard count >= 0 else { throw Malformed() }
            rest = rest.dropFirst(count)
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                let name = String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self)
                let value = String(
                    decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
                if name == ":path" { path = value }
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
        }
        nghttp2_hd_inflate_end_headers(inflater)
    }
}
