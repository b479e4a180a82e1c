/// A call of etcd's v3 API in gRPC, which has one reply. Requests and replies are messages of Protocol Buffers, whose
/// fields etcd's rpc.proto describes.
package protocol EtcdCall: Sendable {
    associatedtype Reply: Sendable
    /// The fields of the reply. The first one is the header.
    associatedtype ReplyField: RawRepresentable<UInt32> & Sendable

    /// The service and the method.
    static var path: StaticString { get }

    /// Doing it twice has the same effect as doing it once, so it may be repeated after an unknown outcome.
    var isRepeatable: Bool { get }

    /// The message of the request.
    var message: [UInt8] { get }

    func reply(_ header: EtcdHeader, _ message: ReplyMessage<ReplyField>) throws(EtcdError) -> Reply
}

extension EtcdCall {
    /// Reads the message of the reply.
    package func reply(_ message: [UInt8]) throws(EtcdError) -> (header: EtcdHeader, reply: Reply) {
        let message = try ReplyMessage<ReplyField>(message[...])
        let header = try message.header()
        return (header, try reply(header, message))
    }
}
