import HearthJSONWebTokens
import Synchronization

/// Other servers, as a table. Answers at once, or when it is told to.
final class FakeFetcher: DocumentFetcher {
    private struct State {
        var documents: [String: FetchedDocument] = [:]
        var requests: [String] = []
        var isHolding = false
        var held: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// The documents of the servers. Others are unreachable.
    subscript(url: String) -> FetchedDocument? {
        get { state.withLock { $0.documents[url] } }
        set { state.withLock { $0.documents[url] = newValue } }
    }

    /// The addresses asked for so far.
    var requests: [String] { state.withLock { $0.requests } }

    func hold() { state.withLock { $0.isHolding = true } }

    /// Answers the held-back requests.
    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for answer in held { answer() }
    }

    func fetch(
        _ request: DocumentRequest, then: @escaping @Sendable (Result<FetchedDocument, FetchError>) -> Void
    ) {
        let answer: @Sendable () -> Void = {
            let document = self[request.url]
            then(document.map { .success($0) } ?? .failure(FetchError("not there")))
        }
        let isHeld = state.withLock { state in
            state.requests.append(request.url)
            if state.isHolding { state.held.append(answer) }
            return state.isHolding
        }
        if !isHeld { answer() }
    }
}

/// What a callback was called with.
final class Answers<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    func put(_ value: Value) { values.withLock { $0.append(value) } }

    var all: [Value] { values.withLock { $0 } }
}
