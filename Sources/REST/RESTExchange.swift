import HearthDelivery
import HearthHTTPCodec
package import HearthServerCodecs
package import HearthJSONTree
package import HearthRealtimeDatabase
package import HearthWireProtocol

/// One request for data (rest.md 1): its request to the database, and the conversion of the reply to a response.
///
/// A pure translation: it looks at no clock, and a push id is handed in.
package struct RESTExchange: Sendable {
    package enum Action {
        case read
        /// As an event stream.
        case listen
        case put
        /// Under this new key.
        case post(Key)
        /// The body as it came, without white space.
        case patch(echo: [UInt8])
        case delete
        /// Of the decision of the rules.
        case explain
        /// Of a worker's request.
        case job
    }

    /// Empty for the default database.
    package let databaseName: String
    package let operation: Operation
    let action: Action
    let target: WriteTarget
    package let parameters: RESTParameters
    package let isHead: Bool
    /// The response carries the tag of the value.
    let wantsTag: Bool
    /// `if-none-match`: nothing is sent while this is the tag.
    let knownTag: ETag?
    /// The request to the history, if it is one.
    package let history: HistoryRequest?
    /// The contents of a shallow read.
    private(set) var range = ShallowRange()

    /// Translates a request for data. `body` is that of a write; others have none that matters.
    ///
    /// - parameter pushID: the key that a POST makes.
    init(_ head: RequestHead, body: consuming [UInt8], pushID: @autoclosure () -> Key) throws(RESTError) {
        databaseName = head.databaseName
        let isUpload = head.isUpload
        target = try Self.target(of: head.place)
        parameters = try RESTParameters(head.query)
        isHead = head.method == .head
        let conditions = try RESTConditions(head.headers, of: target)
        let method = isUpload ? .put : try Self.method(head, parameters)
        if head.asksForHistory {
            history = try RESTHistoryParameters(head.query, parameters).request(at: target, by: method)
            (operation, action, wantsTag, knownTag) = (.get(target.path), .read, false, nil)
            return
        }
        history = nil
        let listens = method == .get && Self.asksForEvents(head)
        if head.asksToFind {
            let query = try Self.conditions(head, method, parameters)
            if target.isPriority { throw RESTError("a priority has no children to find") }
            action = listens ? .listen : .read
            operation = listens ? .listenQuery(target.path, query, .eventStream) : .get(target.path, query: query)
            (wantsTag, knownTag) = (false, nil)
            return
        }
        if method != .get, method != .head { try parameters.refuseForWrites() }
        switch method {
        case .get, .head:
            if listens {
                guard !target.isPriority else { throw RESTError("a priority has no event stream of its own") }
                action = .listen
                operation =
                    if let query = try parameters.filters.query() {
                        .listenQuery(target.path, query, .eventStream)
                    } else {
                        .listen(target.path, known: nil, since: parameters.wantsIDs ? try Self.lastEvent(head) : nil)
                    }
                (wantsTag, knownTag) = (false, nil)
                return
            }
            action = .read
            let query: Query?
            if parameters.isShallow {
                (range, query) = try parameters.filters.shallowSelection()
            } else {
                query = try parameters.filters.query()
            }
            operation = .get(target.path, query: query, needsIndex: true)
            knownTag = target.isPriority ? nil : conditions.ifNoneMatch
            wantsTag = conditions.wantsTag || knownTag != nil
        case .put, .delete:
            let isPut = method == .put
            action = isPut ? .put : .delete
            let expected = try conditions.expectation(of: target, isPut: isPut)
            wantsTag = conditions.wantsTag || expected != nil
            knownTag = nil
            if isUpload { body = try RESTBody.file(body, head.headers) }
            let value = isPut ? try RESTBody.value(&body, for: target) : IncomingValue(json: .null)
            let echoes = isPut && (wantsTag || parameters.printing != .silent)
            operation = .set(target, value, expecting: expected?.hash, echoes: echoes)
        case .post:
            try conditions.refuseExpectation()
            let key = pushID()
            let child = WriteTarget(path: try Self.child(key, of: target))
            action = .post(key)
            wantsTag = conditions.wantsTag
            knownTag = nil
            operation = .set(child, try RESTBody.value(&body, for: child), echoes: conditions.wantsTag)
        default:
            try conditions.refuseExpectation()
            guard !target.isPriority else { throw Self.priorityHasNoChildren }
            let (update, echo) = try RESTBody.update(
                &body, at: target.path, echoes: parameters.printing != .silent)
            (operation, action) = (update, .patch(echo: echo))
            wantsTag = false
            knownTag = nil
        }
    }

    /// One that is answered once, and whose response has no tag.
    package init(
        databaseName: String, operation: Operation, action: Action, target: WriteTarget, parameters: RESTParameters
    ) {
        self.databaseName = databaseName
        self.operation = operation
        self.action = action
        self.target = target
        self.parameters = parameters
        (isHead, wantsTag, knownTag, history) = (false, false, nil, nil)
    }

    /// Refuses a write whose head alone shows that it is wrong: by its place or its method.
    package static func check(_ head: RequestHead) throws(RESTError) {
        if try queue(of: head) != nil { return }
        let isUpload = head.isUpload
        _ = try target(of: head.place)
        if isUpload { return }
        let parameters = try RESTParameters(head.query)
        let method = try method(head, parameters)
        if head.asksToFind { _ = try conditions(head, method, parameters) }
    }

    /// The query with conditions of a request that asks one (rest.md 10).
    private static func conditions(
        _ head: RequestHead, _ method: HTTPMethod, _ parameters: RESTParameters
    ) throws(RESTError) -> Query {
        guard method == .get || method == .head else { throw .methodNotAllowed("GET, HEAD, OPTIONS") }
        return try parameters.conditions(head.query)
    }

    /// On whose behalf the operation is made, when this principal asks for it.
    package func principal(for principal: Principal) throws(RESTError) -> Principal {
        guard parameters.disablesTriggers else { return principal }
        switch action {
        case .read, .listen, .explain, .job: return principal
        case .put, .post, .patch, .delete: break
        }
        guard principal.isAdministrator else { throw .triggersStayEnabled }
        return .quietAdministrator
    }

    /// The answer is an event stream.
    package var listens: Bool { if case .listen = action { true } else { false } }

    /// How long its data may take to come. That of a write comes when it is durable.
    package var timeout: Duration? {
        switch action {
        case .read, .listen: parameters.timeout
        case .put, .post, .patch, .delete, .explain, .job: nil
        }
    }

    /// Whether the list of types that a client takes names event streams (rest.md 4).
    private static func asksForEvents(_ head: RequestHead) -> Bool {
        guard let types = head.headers.combined("accept") else { return false }
        return types.split(separator: UInt8(ascii: ",")).contains { type in
            let name = type.prefix { $0 != UInt8(ascii: ";") }.filter { $0 > 0x20 }
            return String(decoding: name, as: UTF8.self).lowercased() == "text/event-stream"
        }
    }

    /// The methods that ``init(_:body:pushID:)`` takes.
    static let methods: StaticString = "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS"

    /// The state of a client that lost its event stream and comes back (Protocol.md 18.2).
    private static func lastEvent(_ head: RequestHead) throws(RESTError) -> Since {
        guard let id = head.headers.first("last-event-id"), !id.isEmpty else { return .nothing }
        guard let position = Position(id) else { throw RESTError("Last-Event-ID is not one of this server") }
        return .position(position)
    }

    private static let priorityHasNoChildren = RESTError(.key(.forbidden(byte: UInt8(ascii: ".")), index: 0))

    /// `/a/b.json`, `/a/b/.json`, and `/a/b/.priority.json` for the priority of `a/b`.
    private static func target(of place: ArraySlice<UInt8>) throws(RESTError) -> WriteTarget {
        let suffix = Array("/.priority".utf8)
        let isPriority = place.suffix(suffix.count).elementsEqual(suffix)
        do throws(PathError) {
            let path = try Path(percentEncoded: Array(isPriority ? place.dropLast(suffix.count) : place))
            return WriteTarget(path: path, isPriority: isPriority)
        } catch {
            throw RESTError(error)
        }
    }

    /// The place of a new child.
    private static func child(_ key: Key, of target: WriteTarget) throws(RESTError) -> Path {
        guard !target.isPriority else { throw priorityHasNoChildren }
        let path = target.path.appending(key)
        guard path.depth <= Path.maximumDepth else { throw RESTError(.tooDeep) }
        return path
    }

    /// A POST may replace another method (rest.md 1): some clients cannot send others.
    private static func method(_ head: RequestHead, _ parameters: RESTParameters) throws(RESTError) -> HTTPMethod {
        let data: Set<HTTPMethod> = [.get, .put, .post, .patch, .delete]
        var method = head.method
        if method == .post, let name = head.headers.first("x-http-method-override") ?? parameters.method?[...] {
            method = HTTPMethod(ignoringCase: Array(name).span)
        } else if method == .head {
            return .head
        }
        guard let method, data.contains(method) else { throw .methodNotAllowed(methods) }
        return method
    }
}
