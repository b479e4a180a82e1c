import HearthClusterNode

/// Input of the port for other nodes. Its first byte gives the kind: `h` and `c` are the first messages of the two
/// sides, which anybody can send; `m` is a message, `f` are frames of a link, `d` and `p` messages about copies.
/// Valid input is written as it was read, and a sender without the secret is refused.
public func fuzzPeerMessages(_ bytes: UnsafeRawBufferPointer) {
    guard let kind = bytes.first else { return }
    // An allocation of its own size, so that an address sanitizer sees a read outside it.
    let body = [UInt8](bytes.dropFirst())
    switch kind {
    case UInt8(ascii: "h"): readCaller(body)
    case UInt8(ascii: "c"): readCalled(body)
    case UInt8(ascii: "m"):
        guard let message = try? PeerMessage(body[...]) else { return }
        let written = message.bytes
        guard let copy = try? PeerMessage(written[...]) else { preconditionFailure("a written message is refused") }
        precondition(copy.bytes == written, "a written message is another")
    case UInt8(ascii: "d"):
        guard let request = CopyRequest(body[...]) else { return }
        precondition(request.bytes == body, "a written request for a copy is another")
    case UInt8(ascii: "p"):
        guard let piece = CopyPiece(body[...]) else { return }
        precondition(CopyPiece(piece.bytes[...]) == piece, "a written piece of a copy is another")
    default: readFrames(body)
    }
}

private let secret = ClusterSecret("a secret of the nodes that nobody outside knows")
private let own = PeerHandshake.Hello(name: "own", incarnation: 7, session: Array(repeating: 9, count: 16))

private func readCaller(_ message: [UInt8]) {
    guard let caller = try? PeerHandshake.caller(message[...]) else { return }
    precondition(PeerHandshake.message(from: caller) == message, "a written greeting is another")
    let answer = PeerHandshake.message(from: own, to: caller, secret)
    precondition(!answer.isEmpty, "no answer")
    precondition((try? PeerHandshake.check(message.suffix(32), of: caller, to: own, secret)) == nil, "a guess is proof")
}

private func readCalled(_ message: [UInt8]) {
    var secret = secret
    precondition((try? PeerHandshake.called(message[...], by: own, &secret)) == nil, "a stranger has the secret")
}

/// Frames, each after its length in one byte, of a link whose other end has been sent three messages.
private func readFrames(_ bytes: [UInt8]) {
    var link = LinkSession()
    for number in 1...3 { link.send([UInt8(number)]) }
    guard link.takeFrame() != nil else { preconditionFailure("nothing to send") }
    var copied = LinkSession()
    var rest = bytes[...]
    while let length = rest.popFirst() {
        let frame = Array(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
        let before = link.received
        guard let messages = try? link.receive(frame[...]) else { return }
        precondition(link.received == before + UInt64(messages.count), "messages are miscounted")
        precondition(link.acknowledged <= 3, "more is acknowledged than was sent")
        send(messages.map { Array($0) }, to: &copied, after: before)
    }
}

/// The received messages arrive once more over another link.
private func send(_ messages: [[UInt8]], to copied: inout LinkSession, after count: UInt64) {
    precondition(copied.received == count, "a message is lost")
    var sender = LinkSession()
    for _ in 0..<count { sender.send([]) }
    for message in messages { sender.send(message) }
    guard (try? sender.connect(otherHas: count)) != nil else { preconditionFailure("a link is refused") }
    while let frame = sender.takeFrame() {
        guard let received = try? copied.receive(frame[...]) else { preconditionFailure("a written frame is refused") }
        precondition(!received.isEmpty, "a frame without messages")
    }
    precondition(copied.received == count + UInt64(messages.count), "a written frame is another")
}
