/// A request to another server: GET, over HTTPS.
package struct DocumentRequest: Hashable, Sendable {
    package let url: String

    package init(url: String) { self.url = url }
}

extension DocumentRequest: Secret {
    /// The address without its query.
    package var description: String { "GET \(url.prefix { $0 != "?" })" }
}

package struct FetchedDocument: Sendable {
    package let status: Int
    package let body: [UInt8]
    /// How long it may be kept (`Cache-Control: max-age`), in seconds.
    package let maxAge: Int64?

    package init(status: Int, body: [UInt8], maxAge: Int64? = nil) {
        self.status = status
        self.body = body
        self.maxAge = maxAge
    }
}

/// Why a document could not be fetched. May name the host, never the whole address, which may hold secrets.
package struct FetchError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Gets documents from other servers: bounded in size and time, without following redirections.
package protocol DocumentFetcher: Sendable {
    /// Never waits. `then` is called once, on any thread, and must not wait either.
    func fetch(
        _ request: DocumentRequest, then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void)
}
