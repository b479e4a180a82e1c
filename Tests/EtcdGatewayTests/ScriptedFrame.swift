/// Frames of HTTP/2 (RFC 9113, section 4.1) that a server sends.
enum ScriptedFrame {
    enum Kind: UInt8 { case data = 0, headers = 1, reset = 3, settings = 4, goAway = 7, window = 8 }

    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4

    static func frame(_ kind: Kind, flags: UInt8 = 0, _ payload: [UInt8], stream: UInt32 = 0) -> [UInt8] {
        let count = UInt32(payload.count).bigEndian
        var bytes = withUnsafeBytes(of: count) { Array($0.dropFirst()) }
        bytes += [kind.rawValue, flags]
        bytes += withUnsafeBytes(of: stream.bigEndian, Array.init)
        return bytes + payload
    }

    /// The server's settings, and that it has taken the client's.
    static let settings = frame(.settings, []) + frame(.settings, flags: 1, [])

    /// Each field as a literal that is not indexed (RFC 7541, section 6.2.2).
    static func headers(_ fields: [(String, String)], ends: Bool, _ stream: UInt32) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)]
            block += name.utf8
            block.append(UInt8(value.utf8.count))
            block += value.utf8
        }
        return frame(.headers, flags: endHeaders | (ends ? endStream : 0), block, stream: stream)
    }

    static func head(_ status: Int, ends: Bool = false, stream: UInt32) -> [UInt8] {
        headers([(":status", "\(status)"), ("content-type", "application/grpc")], ends: ends, stream)
    }

    static func data(_ bytes: [UInt8], stream: UInt32) -> [UInt8] { frame(.data, bytes, stream: stream) }

    static func statusFields(_ code: Int, _ text: String) -> [(String, String)] {
        [("grpc-status", "\(code)"), ("grpc-message", text)]
    }

    /// The end of a response.
    static func status(_ code: Int, _ text: String = "", stream: UInt32) -> [UInt8] {
        headers(statusFields(code, text), ends: true, stream)
    }

    static func reset(_ code: UInt32, stream: UInt32) -> [UInt8] {
        frame(.reset, withUnsafeBytes(of: code.bigEndian, Array.init), stream: stream)
    }

    /// The client may send so many bytes more, in all requests together.
    static func window(_ count: UInt32) -> [UInt8] {
        frame(.window, withUnsafeBytes(of: count.bigEndian, Array.init))
    }

    /// No request after the stream `last` is looked at.
    static func goAway(last: UInt32) -> [UInt8] {
        frame(.goAway, withUnsafeBytes(of: last.bigEndian, Array.init) + [0, 0, 0, 0])
    }
}
