import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthREST
import HearthRealtimeDatabase

/// A request for data over HTTP with its body, or a worker's request. The resulting database request is within the
/// limits of paths, and its values are canonical.
public func fuzzRESTRequests(_ bytes: UnsafeRawBufferPointer) {
    var decoder = RequestDecoder(limits: HTTPLimits(bodyBytesMax: 1 << 12))
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    var input = UnsafeRawBufferPointer(copy)
    var head: RequestHead?
    var body: [UInt8] = []
    while let event = decoder.next(&input) {
        switch event {
        case .head(let next): (head, body) = (next, [])
        case .body(let bytes): body += bytes
        case .end:
            if let head { translate(head, body) }
            head = nil
        case .failure: return
        }
    }
}

private let pushID: Key = {
    do { return try Key(validating: "-NxAbcdefghijklmnopq") } catch { fatalError("no key: \(error)") }
}()

private func translate(_ head: RequestHead, _ body: [UInt8]) {
    let isChecked = (try? RESTExchange.check(head)) != nil
    _ = try? RESTExchange(explaining: body, head)
    guard let exchange = try? RESTExchange.translating(head, body: body, pushID: pushID) else { return }
    switch exchange.operation {
    case .set(let target, let value, _, _):
        precondition(isChecked, "a write passes whose head is refused")
        check(target, value)
    case .update(let base, let entries):
        precondition(isChecked, "a write passes whose head is refused")
        for entry in entries {
            precondition(base.contains(entry.target.path), "an update reaches outside its path")
            check(entry.target, entry.value)
        }
    case .job(let queue, .done(_, _, let entries)):
        precondition(queue.depth <= Path.maximumDepth, "too deep")
        for entry in entries { check(entry.target, entry.value) }
    default: break
    }
}

private func check(_ target: WriteTarget, _ value: IncomingValue) {
    precondition(target.path.depth <= Path.maximumDepth, "too deep")
    guard let (copy, hasServerValues) = try? CanonicalJSON.parse(value.json.bytes) else {
        preconditionFailure("a value is refused")
    }
    precondition(copy == value.json && hasServerValues == value.hasServerValues, "a value is not canonical")
}
