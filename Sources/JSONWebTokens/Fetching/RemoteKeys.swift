import HearthJSONValues
import Synchronization

/// The keys of an issuer, fetched from where it publishes them, kept for as long as it says, and fetched again when a
/// token names an unknown one. Any thread.
package final class RemoteKeys: Sendable {
    package enum Location: Hashable, Sendable {
        /// A document that ``KeySet`` reads.
        case document(url: String)
        /// `ISSUER/.well-known/openid-configuration`, whose `jwks_uri` is the document (OpenID Connect Discovery 1.0,
        /// section 4).
        case discovery(issuer: String)
    }

    package typealias Answer = @Sendable (Result<[VerificationKey], TokenError>) -> Void

    /// An unknown key name makes the document be fetched again at most this often, so that forged tokens make no
    /// traffic.
    package static let refetchSeconds: Int64 = 60
    /// Bounds of the time that the document is cached, regardless of its issuer.
    package static let keptSeconds: ClosedRange<Int64> = 60...86_400
    package static let keptSecondsDefault: Int64 = 3600
    /// While the document cannot be fetched, known keys hold for this long after they should have been fetched again.
    package static let staleSecondsMax: Int64 = 86_400
    /// Tokens that may wait for one fetch; further ones are refused at once.
    package static let waitingMax = 10_000

    private struct Waiting {
        var keyID: [UInt8]?
        var answer: Answer
    }

    private struct State {
        var keys: KeySet?
        var keptUntil: Int64 = .min
        var triedAt: Int64?
        var isFetching = false
        var waiting: [Waiting] = []

        /// The cached keys, at a time when they are still valid.
        func known(_ keyID: [UInt8]?, until: Int64, now: Int64) -> [VerificationKey] {
            now < until ? keys?.verificationKeys(keyID) ?? [] : []
        }

        var staleUntil: Int64 { keptUntil.addingReportingOverflow(RemoteKeys.staleSecondsMax).partialValue }
    }

    private enum Step {
        case answer(Result<[VerificationKey], TokenError>)
        case wait
        case fetch
    }

    private let location: Location
    private let fetcher: any DocumentFetcher
    private let state = Mutex(State())

    package init(_ location: Location, fetcher: any DocumentFetcher) {
        self.location = location
        self.fetcher = fetcher
    }

    /// Finds the keys that may have signed a token. Never waits: calls `answer` at once if they are known, else when
    /// they are fetched, on a thread of the fetcher. Fails with `unknownKey` or `keysUnavailable`.
    ///
    /// - parameter now: seconds since 1970.
    package func find(_ keyID: [UInt8]?, now: Int64, answer: @escaping Answer) {
        let step = state.withLock { state -> Step in
            let fresh = state.known(keyID, until: state.keptUntil, now: now)
            if !fresh.isEmpty { return .answer(.success(fresh)) }
            // A clock that was set back does not keep it from asking.
            if !state.isFetching, let triedAt = state.triedAt, 0..<Self.refetchSeconds ~= now - triedAt {
                return .answer(Self.result(state, keyID, now: now))
            }
            guard state.waiting.count < Self.waitingMax else { return .answer(.failure(.keysUnavailable)) }
            state.waiting.append(Waiting(keyID: keyID, answer: answer))
            if state.isFetching { return .wait }
            state.isFetching = true
            state.triedAt = now
            return .fetch
        }
        switch step {
        case .answer(let result): answer(result)
        case .wait: break
        case .fetch: fetch(now: now)
        }
    }

    private static func result(
        _ state: State, _ keyID: [UInt8]?, now: Int64
    ) -> Result<[VerificationKey], TokenError> {
        let keys = state.known(keyID, until: state.staleUntil, now: now)
        if !keys.isEmpty { return .success(keys) }
        return .failure(now < state.keptUntil ? .unknownKey : .keysUnavailable)
    }

    private func fetch(now: Int64) {
        switch location {
        case .document(let url): fetchKeys(url, now: now)
        case .discovery(let issuer):
            let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
            fetcher.fetch(DocumentRequest(url: base + "/.well-known/openid-configuration")) { result in
                guard case .success(let document) = result, document.status == 200,
                    document.body.count <= KeySet.byteCountMax,
                    let configuration = (try? JSONValue(parsing: document.body))?.object,
                    configuration["issuer"]?.isText(issuer) == true, let url = configuration["jwks_uri"]?.text,
                    // An issuer elsewhere does not lead to this machine.
                    url.hasPrefix("https:") || base.hasPrefix("http:")
                else { return self.finish(nil, now: now) }
                self.fetchKeys(url, now: now)
            }
        }
    }

    private func fetchKeys(_ url: String, now: Int64) {
        fetcher.fetch(DocumentRequest(url: url)) { result in
            guard case .success(let document) = result, document.status == 200, let keys = KeySet(document.body) else {
                return self.finish(nil, now: now)
            }
            let kept = min(
                max(document.maxAge ?? Self.keptSecondsDefault, Self.keptSeconds.lowerBound),
                Self.keptSeconds.upperBound)
            self.finish((keys, keptUntil: now + kept), now: now)
        }
    }

    private func finish(_ fetched: (keys: KeySet, keptUntil: Int64)?, now: Int64) {
        let (waiting, state) = state.withLock { state in
            if let fetched {
                state.keys = fetched.keys
                state.keptUntil = fetched.keptUntil
            }
            state.isFetching = false
            defer { state.waiting = [] }
            return (state.waiting, state)
        }
        for token in waiting { token.answer(Self.result(state, token.keyID, now: now)) }
    }
}
