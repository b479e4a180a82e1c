import HearthEventLoop
import HearthEventLoopTransport
import HearthHTTPCodec
import HearthJSONValues
import Synchronization
import HearthClientSession
import HearthConnection

/// The requests of an administrator to one server. A key's token is requested once and used until it is about to
/// expire.
package final class AdminRequests: Sendable {
    /// The token that a server in development mode accepts from administrators.
    private static let developmentToken = Array("owner".utf8)

    let requests: HTTPRequests
    /// Nil in development mode.
    let credential: Credential?

    private struct State {
        var token: [UInt8] = []
        var freshUntil = ContinuousClock.now
        /// The request for the next token. All callers that need it wait for the same one.
        var renewal: Task<Result<[UInt8], AdminError>, Never>?
    }

    private let state = Mutex(State())

    init(_ requests: HTTPRequests, credential: Credential?) {
        (self.requests, self.credential) = (requests, credential)
    }

    // MARK: Tokens

    /// The token to send.
    ///
    /// - parameter isNewWanted: whether the last token was refused.
    func token(isNewWanted: Bool = false) async throws(AdminError) -> [UInt8] {
        switch credential {
        case nil: return Self.developmentToken
        case .token(let text)?: return text
        case .key(let key)?:
            let step = state.withLock { state -> Result<[UInt8], Renewal> in
                if !isNewWanted, .now < state.freshUntil { return .success(state.token) }
                if let renewal = state.renewal { return .failure(Renewal(task: renewal)) }
                let renewal = Task { await self.renew(key) }
                state.renewal = renewal
                return .failure(Renewal(task: renewal))
            }
            switch step {
            case .success(let token): return token
            case .failure(let renewal): return try await renewal.task.value.get()
            }
        }
    }

    private struct Renewal: Error { let task: Task<Result<[UInt8], AdminError>, Never> }

    private func renew(_ key: ServiceAccountKey) async -> Result<[UInt8], AdminError> {
        let asked = ContinuousClock.now
        let result: Result<ServiceAccountKey.AccessToken, AdminError>
        do throws(ConnectionError) {
            result = .success(try await key.accessToken(on: requests.loop, options: requests.options))
        } catch {
            result = .failure(AdminError(error, requests.url))
        }
        state.withLock { state in
            state.renewal = nil
            guard case .success(let token) = result else { return }
            state.token = token.text
            // Five minutes before its expiry, or after half of its lifetime if that is shorter.
            state.freshUntil = asked + .seconds(max(0, token.seconds - min(300, token.seconds / 2)))
        }
        return result.map(\.text)
    }

    // MARK: Requests

    /// Sends a request, and repeats it with a new token if the first one is refused.
    func answer(_ method: HTTPMethod, _ target: String, _ body: [UInt8] = []) async throws(AdminError) -> HTTPAnswer {
        let answer = try await requests.answer(method, target, body, bearer: try await token())
        guard answer.status == .unauthorized, case .key? = credential else { return try checked(answer) }
        let token = try await token(isNewWanted: true)
        return try checked(try await requests.answer(method, target, body, bearer: token))
    }

    private func checked(_ answer: HTTPAnswer) throws(AdminError) -> HTTPAnswer {
        switch answer.status {
        case .unauthorized where credential == nil:
            throw AdminError(.unauthenticated, "\(requests.url) wants a credential")
        case .unauthorized:
            throw AdminError(
                .unauthenticated, "\(requests.url) does not accept the credential: \(answer.message)")
        case .notFound:
            // The public listener does not have the administrators' endpoints.
            throw AdminError(
                .notForAdministrators,
                "HTTP 404: \(answer.message): does \(requests.url) answer administrators? They have a listener of "
                    + "their own")
        default: return answer
        }
    }

    func object(_ method: HTTPMethod, _ target: String, _ body: JSONObject?) async throws(AdminError) -> JSONObject {
        try await answer(method, target, body?.bytes ?? []).object()
    }
}
