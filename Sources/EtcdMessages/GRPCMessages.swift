/// Messages on a stream of gRPC: each after five bytes, a zero for "not compressed" and its length
/// (grpc.github.io/grpc/core/md_doc__p_r_o_t_o_c_o_l-_h_t_t_p2.html).
package enum GRPCMessages {
    static let prefixCount = 5

    /// A message with its prefix.
    package static func framed(_ message: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(prefixCount + message.count)
        bytes.append(0)
        withUnsafeBytes(of: UInt32(message.count).bigEndian) { bytes += $0 }
        bytes += message
        return bytes
    }

    /// Reads messages from the bytes of a stream, which may come in any pieces.
    package struct Decoder: Sendable {
        private let bytesMax: Int
        /// Begins with a prefix.
        private var received: [UInt8] = []

        /// - parameter bytesMax: of one message.
        package init(bytesMax: Int) { self.bytesMax = bytesMax }

        package mutating func feed(_ bytes: some Collection<UInt8>) { received.append(contentsOf: bytes) }

        /// The next message, once all of it has come.
        package mutating func next() throws(EtcdError) -> [UInt8]? {
            guard received.count >= prefixCount else { return nil }
            guard received[0] == 0 else { throw .malformedReply("a message is compressed") }
            let count = received[1..<prefixCount].reduce(0) { $0 << 8 | Int($1) }
            guard count <= bytesMax else { throw .malformedReply("a message is too long") }
            guard received.count >= prefixCount + count else { return nil }
            let message = Array(received[prefixCount..<prefixCount + count])
            received.removeFirst(prefixCount + count)
            return message
        }
    }
}
