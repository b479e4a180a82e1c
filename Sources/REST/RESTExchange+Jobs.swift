import HearthHTTPCodec
package import HearthServerCodecs
package import HearthJSONTree
import HearthRealtimeDatabase
import HearthWireProtocol
import HearthServerProtocol
import HearthDelivery

/// Requests of workers to queues (rest.md 8).
extension RESTExchange {
    private static let suffix = Array("/.jobs.json".utf8)

    /// The queue that a request is about; nil if it is about data.
    static func queue(of head: RequestHead) throws(RESTError) -> Path? {
        guard head.path.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        guard head.method == .post else { throw .methodNotAllowed("POST, OPTIONS") }
        do throws(PathError) {
            return try Path(percentEncoded: Array(head.path.dropLast(suffix.count)))
        } catch {
            throw RESTError(error)
        }
    }

    /// Translates a request for data, or a worker's request.
    ///
    /// - parameter pushID: the key that a POST makes.
    package static func translating(
        _ head: RequestHead, body: consuming [UInt8], pushID: @autoclosure () -> Key
    ) throws(RESTError) -> RESTExchange {
        if let queue = try queue(of: head) { return try RESTExchange(job: body, at: queue, head) }
        return try RESTExchange(head, body: body, pushID: pushID())
    }

    private init(job body: [UInt8], at queue: Path, _ head: RequestHead) throws(RESTError) {
        let request: JobRequest
        do throws(RequestError) {
            request = try body.span.bytes.withUnsafeBytes { (text) throws(RequestError) in
                try JobRequest.parse(body: text)
            }
        } catch .missing(let what) {
            throw RESTError("the request has no valid \(what)")
        } catch {
            throw RESTError(error, in: body)
        }
        self.init(
            databaseName: head.databaseName, operation: .job(queue, JobOperation(request)), action: .job,
            target: WriteTarget(path: queue), parameters: try RESTParameters(head.query))
    }
}
