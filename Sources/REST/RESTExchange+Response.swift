package import HearthDelivery
import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthTreeText
package import HearthRealtimeDatabase
package import HearthHTTPResponses

extension RESTExchange {
    /// The response for an answer of the database.
    package func response(to reply: Reply) -> HTTPResponse {
        switch reply {
        case .failed(.stale(let current)): staleResponse(current)
        // A value without a priority loses its earlier one.
        case .failed(.nothingThere) where isDelete: response(with: .null)
        case .failed(let failure): RESTError(failure).response
        case .value(let value): response(with: value)
        case .explained(let explanation): response(with: explanation)
        case .done, .listening, .listeningUnindexed, .listeningAt: response(with: .null)
        }
    }

    private var isDelete: Bool { if case .delete = action { true } else { false } }

    /// The current value, so that the client can try again (rest.md 3).
    private func staleResponse(_ current: CanonicalJSON) -> HTTPResponse {
        var response = HTTPResponse(.preconditionFailed, json: laidOut(readForm.text(current)))
        add(ETag(of: current), to: &response)
        return response
    }

    /// `value` is the value that was read, or that a write stored, if its echo was requested.
    private func response(with value: CanonicalJSON) -> HTTPResponse {
        switch action {
        case .read: return response(toRead: target.isPriority ? value.priority : value)
        case .listen: return .eventStream
        case .job: return response(toWrite: { JSONOutput.plain.text(value) }, tag: nil)
        // Answered by response(with: Explanation).
        case .explain: return response(toWrite: { value.bytes }, tag: nil)
        case .put: return response(toWrite: { JSONOutput.echo.text(value) }, tag: wantsTag ? ETag(of: value) : nil)
        case .delete: return response(toWrite: { value.bytes }, tag: wantsTag ? ETag.none : nil)
        case .patch(let echo): return response(toWrite: { echo }, tag: nil)
        case .post(let key):
            let name = Array(#"{"name":"#.utf8) + CanonicalJSON(string: key.utf8).bytes + Array("}".utf8)
            return response(toWrite: { name }, tag: wantsTag ? ETag(of: value) : nil)
        }
    }

    private func response(toWrite text: () -> [UInt8], tag: ETag?) -> HTTPResponse {
        var response =
            parameters.printing == .silent ? HTTPResponse.empty(.noContent) : HTTPResponse(json: laidOut(text()))
        if let tag { add(tag, to: &response) }
        return response
    }

    // MARK: Reads

    private var readForm: JSONOutput { parameters.isExport ? .export : .plain }

    private func response(toRead value: CanonicalJSON) -> HTTPResponse {
        response(toRead: wantsTag ? ETag(of: value) : nil) {
            let text = parameters.isShallow ? range.text(of: value) : readForm.text(value)
            return .text(wrapping.head + laidOut(text) + wrapping.tail)
        }
    }

    private func response(toRead tag: ETag?, body: () -> HTTPResponse.Body) -> HTTPResponse {
        var response: HTTPResponse
        if let tag, tag == knownTag {
            response = .empty(.notModified)
        } else if parameters.printing == .silent {
            response = .empty(.noContent)
        } else {
            response = HTTPResponse(json: [])
            response.body = body()
            if parameters.callback != nil { response.contentType = .javaScript }
            if let name = parameters.download {
                response.headers.append(("Content-Disposition", ContentDisposition.attachment(name)))
            }
        }
        if let tag { add(tag, to: &response) }
        return response
    }

    private func add(_ tag: ETag, to response: inout HTTPResponse) { response.headers.append(("ETag", tag.field)) }

    /// The text around the answer for a page that loads it as a script.
    private var wrapping: (head: [UInt8], tail: [UInt8]) {
        guard let callback = parameters.callback else { return ([], []) }
        return (callback + Array("(".utf8), Array(")".utf8))
    }

    func laidOut(_ text: [UInt8]) -> [UInt8] {
        parameters.printing == .pretty ? JSONLayout(isPretty: true).text(text) : text
    }

    // MARK: Large reads

    /// The requested form of a value that is too large for memory, read at a position. Nil without a body.
    package func snapshotForm(at position: Position?) -> SnapshotStream.Form? {
        if listens {
            let tail = EventStreamWriter.initialTail(position)
            return .text(SnapshotText(content: .plain, head: EventStreamWriter.initialHead, tail: tail))
        }
        let hasBody = !isHead && parameters.printing != .silent
        guard hasBody || wantsTag else { return nil }
        let content: SnapshotText.Content =
            if !hasBody {
                .nothing
            } else if target.isPriority {
                .priority
            } else if parameters.isShallow {
                .shallow(range)
            } else {
                parameters.isExport ? .export : .plain
            }
        let (head, tail) = wrapping
        return .text(
            SnapshotText(
                content: content, isPretty: parameters.printing == .pretty, head: head, tail: tail, wantsHash: wantsTag)
        )
    }

    /// The response whose body comes in pieces, if it has one; `hash` if ``snapshotForm(at:)`` wanted it.
    package func response(toSnapshotOf hash: [UInt8]?) -> HTTPResponse {
        listens ? .eventStream : response(toRead: hash.map { ETag(hash: $0) }) { .pieces }
    }
}
