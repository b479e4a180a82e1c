import HearthDatabaseHost
import HearthEventLoop
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthSystem
import HearthServerProtocol
import HearthAccess
import HearthDelivery

/// Requests of administrators over a realtime connection (administration.md 2).
extension RealtimeSession {
    /// Children that are described, or counted, in one answer: as many as take a turn some milliseconds.
    private static let describedMax = 1000
    private static let countedMax = 5000

    func administer(_ number: Int64, _ request: AdminRequest) {
        guard origin.administers, let administrator = authentication.administrator else {
            context.services.trail.note(
                AuditEvent(
                    .denied, client: origin.client.network?.clientNetwork,
                    [("at", "admin"), ("uid", authentication.account?.user)]))
            let text = origin.administers ? AdminRequest.forAdministrators : AdminRequest.elsewhere
            return submit(number, .relay(.failed(.refused(status: StaticText("permission_denied"), text))))
        }
        switch request {
        case .children(let page): describe(number, page, isCount: false, limitMax: Self.describedMax)
        case .count(let page): describe(number, page, isCount: true, limitMax: Self.countedMax)
        case .profile(let isOn):
            watch(.requests, isOn)
            submit(number, .relay(.done))
        case .tail(let isOn):
            watch(.commits, isOn)
            submit(number, .relay(.done))
        case .renew:
            awaitAnswer()
            finish(number, renewal)
        case .rest(let method, let target, let body):
            switch context.services.administrators.question(method, target, body, host: host) {
            case .operation(let operation)?: submit(number, operation)
            case .refused(let answer)?:
                awaitAnswer()
                finish(number, .success(answer))
            case nil: askBeside(number, request, of: administrator, bytes: body.count)
            }
        case .sessions, .kick, .statistics, .recent, .databases, .server, .history, .log, .backup, .backups,
            .checkBackup, .readBackup, .triggers:
            askBeside(number, request, of: administrator)
        }
    }

    /// Passes on a request that other threads answer.
    private func askBeside(_ number: Int64, _ request: AdminRequest, of administrator: String, bytes: Int = 0) {
        let isCounted = bytes >= RequestMemory.bytesMin
        let claim = isCounted ? context.services.requestMemory.claim(bytes, for: origin.client) : nil
        if isCounted, claim == nil { return submit(number, .relay(.failed(.noRoom))) }
        awaitAnswer(bytes: isCounted ? bytes : 0)
        let asking = AskingAdministrator(name: administrator, database: database.index, host: host)
        let (loop, sessions, id) = (context.loop, sessions, id.raw)
        context.services.administrators.answer(request, of: asking) { answer in
            // The memory of the request is in use up to here.
            withExtendedLifetime(claim) { _ = loop.execute { sessions[id]?.finish(number, answer) } }
        }
    }

    private func describe(_ number: Int64, _ page: AdminPage, isCount: Bool, limitMax: Int) {
        var principal: Principal?
        do throws(JSONError) {
            principal = try page.acting.map { (json) throws(JSONError) in try Principal(auth: json) }
        } catch {
            let text = "\"as\" is not an object that rules could see as auth: \(error)"
            return submit(number, .relay(.failed(.refused(status: StaticText("invalid_argument"), text))))
        }
        let part = ChildrenPage(
            after: page.after, limit: min(max(page.limit ?? limitMax, 1), limitMax), isCount: isCount)
        submit(number, .describe(page.path, part), as: principal)
    }

    /// Another access token of the key that this session's was given for.
    private var renewal: AdminAnswer {
        guard let key = authentication.key else {
            return .failure(AdminRefusal(text: "only the access token of a key can be renewed"))
        }
        let services = context.services
        let answer = services.authenticator.verifier.renew(key, now: WallClock.milliseconds / 1000)
        switch answer {
        case .success(let body):
            services.trail.note(
                AuditEvent(
                    .accessTokenGiven, client: origin.client.network?.clientNetwork,
                    [("to", key.name), ("reason", "renewal")]))
            return .success(body.bytes)
        case .failure(let error): return .failure(AdminRefusal(text: error.text))
        }
    }

    func watch(_ watched: Watched, _ isOn: Bool) {
        if isOn == self.watched.contains(watched) { return }
        if isOn { self.watched.insert(watched) } else { self.watched.remove(watched) }
        context.services.databases.watch(database.index, watched, isOn, by: id)
    }

    func endWatching() {
        for watched in watched { watch(watched, false) }
    }

    private func finish(_ number: Int64, _ answer: AdminAnswer) {
        var message: [UInt8] = []
        switch answer {
        case .success(let json): ServerMessageWriter.appendResponse(number: number, data: json, to: &message)
        case .failure(let refusal):
            ServerMessageWriter.appendFailure(
                number: number, status: refusal.status, text: refusal.text, to: &message)
        }
        self.answer(message)
    }
}
