import EventLoop
import Identity
import JSONTree
import RealtimeDatabase
import Synchronization

/// Whom a credential has turned out to be.
struct Authentication: Sendable {
    var principal: Principal
    /// When the credential ends, in seconds since 1970; nil if it does not.
    var expiresAt: Int64?

    static let nobody = Authentication(principal: .nobody)
}

/// Why a credential is not taken.
struct CredentialError: Error, Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case invalid
        case expired
        /// No access token of an administrator.
        case notAdministrator
    }

    var kind: Kind
    /// For people; says nothing of what the credential holds.
    var text: String

    /// The word that SDKs know it by (wire-protocol 7).
    var status: StaticString { kind == .expired ? "expired_token" : "invalid_token" }
}

/// Finds out whose a credential is.
struct Authenticator: Sendable {
    typealias Outcome = Result<Authentication, CredentialError>

    let verifier: TokenVerifier
    /// Whoever shows a bearer is an administrator, as with an emulator (rest 2).
    let isDevelopment: Bool

    /// Answers at once, or, where keys have to be fetched, nil, and calls `body` later, on another thread.
    func authenticate(_ credential: Credential, later body: @escaping @Sendable (Outcome) -> Void) -> Outcome? {
        if isDevelopment, case .administrator = credential.token {
            return Self.outcome(.success(.administrator(expiresAt: nil)), credential)
        }
        // The verifier may answer before it returns, or later, perhaps at this very moment.
        let box = Box()
        verifier.verify(credential.token.text, now: WallClock.milliseconds / 1000) { result in
            let outcome = Self.outcome(result, credential)
            let isLate = box.meeting.withLock { meeting in
                if case .left = meeting { return true }
                meeting = .arrived(outcome)
                return false
            }
            if isLate { body(outcome) }
        }
        return box.meeting.withLock { meeting in
            if case .arrived(let outcome) = meeting { return outcome }
            meeting = .left
            return nil
        }
    }

    private enum Meeting {
        case expected
        case arrived(Outcome)
        /// Whoever asked does not wait any more.
        case left
    }

    private final class Box: Sendable {
        let meeting = Mutex<Meeting>(.expected)
    }

    private static func outcome(_ result: Result<Caller, TokenError>, _ credential: Credential) -> Outcome {
        Result { () throws(CredentialError) in
            let caller: Caller
            switch result {
            case .success(let verified): caller = verified
            case .failure(.expired): throw CredentialError(kind: .expired, text: "Auth token is expired.")
            case .failure(let error): throw CredentialError(kind: .invalid, text: error.description)
            }
            return try authentication(of: caller, credential)
        }
    }

    private static func authentication(
        of caller: Caller, _ credential: Credential
    ) throws(CredentialError) -> Authentication {
        switch caller {
        case .administrator(let end):
            // Only an administrator may act as somebody; to others the wish is nothing (rest 2.1).
            guard let acting = credential.acting else {
                return Authentication(principal: .administrator, expiresAt: end)
            }
            guard let acting = caller.acting(as: acting) else {
                throw CredentialError(kind: .invalid, text: "whom to act as must be a JSON object, or null")
            }
            return try authentication(of: acting, Credential(token: credential.token))
        case .simulated(let auth, let end):
            return Authentication(principal: try principal(auth ?? Array("null".utf8)), expiresAt: end)
        case .user(let user):
            if case .administrator = credential.token {
                throw CredentialError(kind: .notAdministrator, text: "an access token is needed here")
            }
            return Authentication(principal: try principal(user.auth), expiresAt: user.expiresAt)
        }
    }

    private static func principal(_ auth: [UInt8]) throws(CredentialError) -> Principal {
        do throws(JSONError) {
            return try Principal(auth: auth)
        } catch {
            throw CredentialError(kind: .invalid, text: "the claims are too deep")
        }
    }
}

extension TokenUser {
    /// The JSON text of what rules see (rules 15).
    fileprivate var auth: [UInt8] {
        var out = Array(#"{"uid":"#.utf8)
        JSONText.appendQuoted(uid, to: &out)
        if let provider {
            out += #","provider":"#.utf8
            JSONText.appendQuoted(provider, to: &out)
        }
        return out + Array(#","token":"#.utf8) + claims + Array("}".utf8)
    }
}
