import HearthJSONTree
import HearthWireProtocol

/// The frames of a server, as its clients read them, one per line. The resulting messages have only canonical values.
public func fuzzServerMessages(_ bytes: UnsafeRawBufferPointer) {
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
    switch try? ServerMessage.parse(message) {
    case .response(let response):
        if let value = try? response.value() { check(value) }
        _ = try? response.listening()
        _ = (response.neededIndex, response.text, response.isOK)
    case .push(.data(let assignment, _, _)): check(assignment)
    case .push(.merge(let base, let assignments, _, _)):
        for assignment in assignments {
            precondition(base.contains(assignment.target.path), "a push reaches outside its path")
            check(assignment)
        }
    default: break
    }
}

private func check(_ assignment: WireAssignment) {
    precondition(assignment.target.path.depth <= Path.maximumDepth, "too deep")
    check(assignment.value)
}

private func check(_ value: CanonicalJSON) {
    guard let copy = try? CanonicalJSON.parse(value.bytes).value else { preconditionFailure("a value is refused") }
    precondition(copy == value, "a value is not canonical")
}
