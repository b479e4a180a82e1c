import HearthDatabaseHost
import HearthEventLoop
import HearthHTTPCodec
import HearthIdentity
import HearthSystem
import HearthServerCodecs
import HearthServerProtocol
import HearthAccountEndpoints
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

extension RequestHead {
    var isLongPoll: Bool { path.elementsEqual("/.lp".utf8) }

    /// The session that a realtime request is about: the one it polls or takes over, or the previous one of its client,
    /// which ends.
    var sessionToken: SessionToken? {
        guard isLongPoll || isWebSocketUpgrade && path.elementsEqual("/.ws".utf8) else { return nil }
        return (query.first(isLongPoll ? "id" : "s") ?? query.first("ls")).flatMap { SessionToken($0) }
    }
}

/// The realtime endpoints. Requests about a session are processed by the session's loop, so they take effect in order.
///
/// So is coming back (Protocol.md 17): a client that names its previous session gets a new one on the same loop, and
/// the end of the old one is submitted before the new one can read anything. A loop posts requests to a database in the
/// order of their submission (`LoopContext.submit`), the database's thread joins posted requests in order
/// (`HostedDatabases.run`), and requests that it holds back keep their place (`Admission`). For a session of another
/// database, there is no order to keep.
extension HTTPConnection: PollingConnection {
    /// Moves to the loop of a session, with a request for it and the bytes read after that. False if that is this loop,
    /// or none.
    func move(toLoopOf token: SessionToken, _ head: RequestHead, rest: UnsafeRawBufferPointer) -> Bool {
        let isMoving = context.move(
            stream, toLoopOf: token, MovingRequest(head: head, rest: Array(rest), role: role))
        if isMoving { connections.remove(self) }
        return isMoving
    }

    /// The host that a client should reconnect to: the name that it used for this server.
    private func host(for head: RequestHead) -> [UInt8] {
        context.endpoints.configuration.advertisedHost.map { Array($0.utf8) } ?? Array(head.host)
    }

    /// Ends the previous session of a client that has come back.
    private func endLastSession(_ head: RequestHead) {
        if let token = head.query.first("ls").flatMap({ SessionToken($0) }) { context.realtime.endLast(token) }
    }

    // MARK: WebSocket

    /// True when the connection is no longer this one's.
    func upgrade(_ head: RequestHead, rest: UnsafeRawBufferPointer) -> Bool {
        guard head.path.elementsEqual("/.ws".utf8) else { return false }
        let handshake: ServerHandshake
        do throws(HandshakeRefusal) {
            handshake = try ServerHandshake(
                method: Array(head.methodName), version: (1, head.minorVersion),
                deflate: context.endpoints.configuration.compresses ? DeflatePolicy() : nil
            ) { name in head.headers.combined(name) }
        } catch {
            stream.send(shared: error.response)
            stream.close()
            return true
        }
        let transport: WebSocketTransport
        if let text = head.query.first("s") {
            guard let standby = standBy(for: text, handshake) else { return true }
            transport = standby
        } else {
            let database: DatabaseDirectory.Use
            do throws(DatabaseDirectory.LookUpError) {
                database = try useDatabase(head)
            } catch .unknown {
                refuseForGood(handshake, DatabaseDirectory.LookUpError.unknownText)
                return true
            } catch {
                respond(RESTError(error).response, with: ResponseWriter())
                return true
            }
            endLastSession(head)
            guard enterSession() else {
                context.release(database)
                respond(RESTError.crowded.response, with: ResponseWriter())
                return true
            }
            noteProject(head)
            leaveHTTP(handshake)
            let session = context.realtime.makeSession(of: database, from: origin)
            transport = WebSocketTransport(stream, session, deflate: handshake.deflate)
            transport.begin(host: host(for: head))
        }
        if !rest.isEmpty {
            // Clients speak after the hello, but nothing forbids them to be quick.
            var bytes = Array(rest)
            bytes.withUnsafeMutableBytes { transport.received($0, on: stream) }
        }
        return true
    }

    /// A database may tell the project of the client's app, which its requests about accounts do not.
    private func noteProject(_ head: RequestHead) {
        guard let identity = context.endpoints.identity, identity.accounts.projects.isLearning else { return }
        let app = (head.query.first("p") ?? head.headers.first("x-firebase-gmpid")).map {
            String(decoding: $0, as: UTF8.self)
        }
        let naming = ClientProjects.Naming.database(head.databaseName, app: app)
        if identity.accounts.projects.isNews(naming) { context.endpoints.helper.post { identity.learn(naming) } }
    }

    private var origin: SessionOrigin {
        SessionOrigin(administers: role == .administrators, peer: stream.peer, client: client)
    }

    /// Counts a session or event stream of the client; false if it has as many as it may have.
    func enterSession() -> Bool { client.sessions.enter(max: client.limit(limits.connectionsPerClientMax)) }

    /// Who makes the session is not known yet. Where administrators are answered, they must be able to open a session
    /// of a database that does not exist; whether it may be written to is decided when that is tried.
    private func useDatabase(_ head: RequestHead) throws(DatabaseDirectory.LookUpError) -> DatabaseDirectory.Use {
        try context.services.directory.use(head.databaseName, by: client, mayCreate: role == .administrators)
    }

    /// Opens the WebSocket to tell the client that it must not come back, and why: SDKs show that to developers.
    private func refuseForGood(_ handshake: ServerHandshake, _ reason: String) {
        leaveHTTP(handshake)
        var message: [UInt8] = []
        ServerMessageWriter.appendKill(reason: Array(reason.utf8), to: &message)
        WebSocketTransport.end(stream, after: message, reason: "there is no such database")
    }

    /// The same for a client that polls.
    private func refuseForGood(_ callback: [UInt8]?, _ reason: String, _ writer: ResponseWriter) {
        var message: [UInt8] = []
        ServerMessageWriter.appendKill(reason: Array(reason.utf8), to: &message)
        let script = LongPollTransport.functions(callback) + "pRTLPCB(0,[".utf8 + message + "]);\n".utf8
        respond(HTTPResponse(script: script), with: writer)
    }

    private func leaveHTTP(_ handshake: ServerHandshake) {
        connections.remove(self)
        stream.resumeReading()
        stream.send(shared: handshake.response)
    }

    /// Lets the WebSocket wait to take over a session that is polled. Nil if there is no such session: the client keeps
    /// polling.
    private func standBy(for text: ArraySlice<UInt8>, _ handshake: ServerHandshake) -> WebSocketTransport? {
        leaveHTTP(handshake)
        var message: [UInt8] = []
        if let session = SessionToken(text).flatMap({ context.realtime.session($0) }), session.mayBeTakenOver {
            let transport = WebSocketTransport(stream, session, deflate: handshake.deflate, standsBy: true)
            ServerMessageWriter.appendSwitchAck(to: &message)
            transport.send(message)
            return transport
        }
        ServerMessageWriter.appendReset(host: [], to: &message)
        WebSocketTransport.end(stream, after: message, reason: "no session can be taken over")
        return nil
    }

    // MARK: Long polling

    func poll(_ head: RequestHead, _ writer: ResponseWriter) {
        let query = head.query
        if query.first("start") != nil { return startPolling(head, writer) }
        guard let token = query.first("id").flatMap({ SessionToken($0) }),
            let polls = context.realtime.polls(token.connection),
            polls.accepts(token, password: query.first("pw") ?? [])
        else { return respond(HTTPResponse(script: Array("pLPCommand('close');\n".utf8)), with: writer) }
        if query.first("dframe") != nil {
            respond(.disconnectFrame(id: token.text, password: polls.password), with: writer)
        } else if query.first("disconn") != nil {
            polls.leave()
            respond(HTTPResponse(script: []), with: writer)
        } else {
            work = .polling(polls, writer)
            polls.poll(query, on: self)
        }
    }

    private func startPolling(_ head: RequestHead, _ writer: ResponseWriter) {
        guard context.realtime.hasRoomForPolls else {
            return respond(HTTPResponse(HTTPStatus(503), error: "too many clients use long polling"), with: writer)
        }
        // Only digits may become part of the script.
        let callback = head.query.first("cb").flatMap { callback in
            (1...20).contains(callback.count) && callback.allSatisfy { (0x30...0x39).contains($0) }
                ? Array(callback) : nil
        }
        let database: DatabaseDirectory.Use
        do throws(DatabaseDirectory.LookUpError) {
            database = try useDatabase(head)
        } catch .unknown {
            return refuseForGood(callback, DatabaseDirectory.LookUpError.unknownText, writer)
        } catch {
            return respond(RESTError(error).response, with: writer)
        }
        endLastSession(head)
        guard client.polledSessions.enter(max: client.limit(limits.polledSessionsPerClientMax)) else {
            context.release(database)
            return respond(RESTError.crowded.response, with: writer)
        }
        guard enterSession() else {
            client.polledSessions.leave()
            context.release(database)
            return respond(RESTError.crowded.response, with: writer)
        }
        noteProject(head)
        let polls = context.realtime.makePolls(for: context.realtime.makeSession(of: database, from: origin))
        work = .polling(polls, writer)
        polls.start(self, callback: callback)
        polls.begin(host: host(for: head))
    }

    func answerPoll(_ script: [UInt8]) {
        guard case .polling(_, let writer) = work else { return }
        work = .none
        respond(HTTPResponse(script: script), with: writer)
        readOn()
    }
}

extension HTTPResponse {
    /// A script that a page of any origin loads.
    init(script: [UInt8]) {
        self.init(.ok, json: script)
        contentType = .javaScript
        headers.append(("Cross-Origin-Resource-Policy", Array("cross-origin".utf8)))
    }

    /// A page for a frame that says goodbye when the page around it goes away (long-polling.md 3). Browsers still send
    /// beacons then; the older request is for browsers without them.
    static func disconnectFrame(id: [UInt8], password: [UInt8]) -> HTTPResponse {
        let target = "/.lp?disconn=t&id=".utf8 + id + "&pw=".utf8 + password
        let page = """
            <!DOCTYPE html>
            <html><head><script>
            var target = "\(String(decoding: target, as: UTF8.self))";
            function leave() {
              if (!target) return;
              var url = target;
              target = null;
              if (navigator.sendBeacon && navigator.sendBeacon(url)) return;
              var request = new XMLHttpRequest();
              request.open("GET", url, false);
              request.send();
            }
            addEventListener("pagehide", leave);
            addEventListener("unload", leave);
            </script></head><body></body></html>

            """
        var response = HTTPResponse(.ok, json: Array(page.utf8))
        response.contentType = .html
        response.headers.append(("Cross-Origin-Resource-Policy", Array("cross-origin".utf8)))
        return response
    }
}
