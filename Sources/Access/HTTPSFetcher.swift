package import HearthEventLoop
package import HearthFetching
package import HearthJSONWebTokens
import Synchronization

/// Gets documents over HTTPS, one connection each, with certificates verified. Any thread.
///
/// No redirections, no compression, no cookies. The fetched documents are keys and answers about users: small, and
/// cached by the caller.
package final class HTTPSFetcher: DocumentFetcher {
    package struct Limits: Sendable {
        /// From the call to the last byte.
        package var timeout = Duration.seconds(10)
        package var bodyBytesMax = KeySet.byteCountMax
        /// Under way at a time; further ones fail at once.
        package var openMax = 256

        package init() {}
    }

    private let fetcher: Fetcher
    private let authorities: TLSContext.Authorities
    private let limits: Limits
    /// Connects to addresses of the public internet alone, and never without TLS.
    private let staysPublic: Bool
    private let openCount = Atomic(0)

    package init(
        _ fetcher: Fetcher, trusting authorities: TLSContext.Authorities = .system, limits: Limits = Limits(),
        staysPublic: Bool = false
    ) {
        self.staysPublic = staysPublic
        self.fetcher = fetcher
        self.authorities = authorities
        self.limits = limits
    }

    package func fetch(
        _ request: DocumentRequest, then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void
    ) {
        guard let address = FetchAddress(request.url), address.isSecure || !staysPublic else {
            return then(.failure(FetchError("not an https address")))
        }
        // A count alone: nothing else is ordered by it.
        let count = openCount.wrappingAdd(1, ordering: .relaxed).newValue
        let end: @Sendable (Result<FetchedDocument, FetchError>) -> Void = { result in
            self.openCount.wrappingSubtract(1, ordering: .relaxed)
            then(result)
        }
        guard count <= limits.openMax else { return end(.failure(FetchError("too many requests to other servers"))) }
        var request = FetchRequest(.get, address, timeout: limits.timeout)
        request.headers = [("Accept", Array("application/json".utf8))]
        request.bodyBytesMax = limits.bodyBytesMax
        request.authorities = authorities
        // A mapped address (::ffff:127.0.0.1) is the IPv4 address in it.
        if staysPublic { request.admits = { NetworkList.isPublic($0.unmapped) } }
        fetcher.fetch(request) { result in
            end(result.map(Self.document).mapError { Self.error($0, address.host) })
        }
    }

    private static func document(_ answer: FetchAnswer) -> FetchedDocument {
        let field = answer.values(of: "cache-control").joined(separator: Array(", ".utf8))
        return FetchedDocument(status: answer.status, body: answer.body, maxAge: CacheControl.maxAge(Array(field)))
    }

    private static func error(_ failure: FetchFailure, _ host: String) -> FetchError {
        FetchError(failure == .stopped ? failure.description : "\(host): \(failure)")
    }
}

/// How long an answer may be kept (RFC 9111, section 5.2.2).
enum CacheControl {
    /// The seconds of `max-age`; 0 if caching is forbidden, nil if not given.
    static func maxAge(_ field: [UInt8]) -> Int64? {
        var age: Int64?
        for directive in String(decoding: field, as: UTF8.self).lowercased().split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
            switch parts.first {
            case "no-store", "no-cache": return 0
            case "max-age" where parts.count == 2: age = Int64(parts[1]).map { max($0, 0) } ?? age
            default: break
            }
        }
        return age
    }
}
