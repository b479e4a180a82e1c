package import EventLoop
package import HTTPCodec
import Synchronization

/// One HTTP request: what is asked, of whom.
package struct HTTPCall: Sendable {
    /// The longest body of an answer that is collected.
    private static let answerBytesMax = 64 << 20

    package var address: HTTPAddress
    package var method = HTTPMethod.get
    /// Empty for none.
    package var contentType: StaticString = ""
    package var body: [UInt8] = []
    /// What stands in `Authorization` behind `Bearer`; nil for no such field.
    package var bearer: [UInt8]?

    package init(_ address: HTTPAddress) { self.address = address }

    /// The whole request. The connection ends with the answer.
    var bytes: [UInt8] {
        var request: [UInt8] = []
        RequestWriter.begin(
            method, target: Array(address.target.utf8).span, host: Array(address.authority.utf8).span, into: &request)
        RequestWriter.header("Connection", "close", into: &request)
        if let bearer { RequestWriter.header("Authorization", (Array("Bearer ".utf8) + bearer).span, into: &request) }
        guard method != .get else {
            RequestWriter.end(into: &request)
            return request
        }
        if contentType.utf8CodeUnitCount > 0 { RequestWriter.header("Content-Type", contentType, into: &request) }
        RequestWriter.end(body: body.span, into: &request)
        return request
    }

    /// Makes the request, and answers the body of a 200, of up to 64 MiB.
    ///
    /// - parameter loop: a running loop.
    /// - throws: `refused` with `HTTP` and the status for other answers, with the message that they carry.
    package func answer(
        on loop: EventLoop, options: ConnectionOptions = ConnectionOptions()
    ) async throws(ConnectionError) -> [UInt8] {
        let body = Collected()
        do throws(ConnectionError) {
            try await Download.run(self, on: loop, options: options) { body.append($0, max: Self.answerBytesMax) }
        } catch .cancelled where body.isTooLong {
            throw .protocolError("the answer is too long")
        }
        return body.bytes
    }
}

/// The body of an answer, as it comes.
private final class Collected: Sendable {
    private let state = Mutex<(bytes: [UInt8], isTooLong: Bool)>(([], false))

    var bytes: [UInt8] { state.withLock { $0.bytes } }

    var isTooLong: Bool { state.withLock { $0.isTooLong } }

    /// False when it becomes longer than `max`.
    func append(_ more: UnsafeRawBufferPointer, max: Int) -> Bool {
        state.withLock { state in
            state.isTooLong = state.bytes.count + more.count > max
            if !state.isTooLong { state.bytes.append(contentsOf: more) }
            return !state.isTooLong
        }
    }
}
