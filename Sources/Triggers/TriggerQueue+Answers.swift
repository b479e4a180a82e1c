import HearthEventLoop
import HearthFetching

extension TriggerQueue.Outcome {
    /// The outcome of an attempt to post an event to a host. The status decides; the rest of the answer is not read.
    init(_ result: Result<FetchAnswer, FetchFailure>, of host: String) {
        switch result {
        case .success(let answer): self.init(answer)
        case .failure(.forbidden(let addresses)):
            let list = addresses.map(\.host).joined(separator: ", ")
            self = .failed("\(host) (\(list)) is not allowed (--trigger-networks)")
        case .failure(let failure): self = .failed(failure.description)
        }
    }

    private init(_ answer: FetchAnswer) {
        switch answer.status {
        case 200..<300: self = .delivered
        // Gone; or too large, which it stays.
        case 410, 413: self = .refused("HTTP status \(answer.status)")
        case let code:
            // A date is not read: the pause before the next attempt is long enough.
            let wait = answer.values(of: "retry-after").first.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
            self = .failed(
                "HTTP status \(code)\((300..<400).contains(code) ? ": redirections are not followed" : "")",
                retryAfter: wait.map { max(0, min($0, 86_400)) * 1000 })
        }
    }
}
