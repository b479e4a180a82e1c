import HearthDelivery
import HearthJSONTree
import HearthWireProtocol
import HearthServerProtocol

/// The frames of a client of the realtime protocol, one per line. The resulting messages have only canonical values,
/// and can be sent on.
public func fuzzWireMessages(_ bytes: UnsafeRawBufferPointer) {
    // Small, so that a fuzzer reaches it.
    var joiner = FrameJoiner(bytesMax: 1 << 11)
    for frame in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
        // An allocation of its own size, so that an address sanitizer sees a read outside it.
        let frame = [UInt8](frame)
        switch frame.withUnsafeBytes({ joiner.add($0) }) {
        case .message: frame.withUnsafeBytes(read)
        case .joined: joiner.takeMessage().withUnsafeBytes(read)
        case .more: break
        case .tooLarge: return
        }
    }
}

private func read(_ message: UnsafeRawBufferPointer) {
    guard case .request(_, let request) = try? ClientMessage.read(message) else { return }
    switch request {
    case .put(let assignment, _):
        send(assignment)
    case .merge(let base, let assignments):
        for assignment in assignments {
            precondition(base.contains(assignment.target.path), "an update reaches outside its path")
            send(assignment)
        }
    default:
        break
    }
}

/// Writes the push that a listener would get, and expects it to be JSON with a canonical value.
private func send(_ assignment: WireAssignment) {
    let (target, value) = (assignment.target, assignment.value)
    precondition(target.path.depth <= Path.maximumDepth, "too deep")
    guard let (copy, hasServerValues) = try? CanonicalJSON.parse(value.bytes) else {
        preconditionFailure("a value is refused")
    }
    precondition(copy == value && hasServerValues == assignment.hasServerValues, "a value is not canonical")
    var push: [UInt8] = []
    ServerMessageWriter.appendData(target, value, to: &push)
    push.withUnsafeBytes { push in
        var reader = JSONReader(push)
        do throws(JSONError) {
            _ = try reader.skipValue()
            try reader.finish()
        } catch {
            preconditionFailure("a push is no JSON")
        }
    }
}
