import CHearthCurl
import CHearthLinux
import HearthSystem
import Synchronization

/// Sends requests to other servers, all on one thread, which begins with the first of them. Any thread.
package final class Fetcher: Sendable {
    package typealias Completion = @Sendable (Result<FetchAnswer, FetchFailure>) -> Void

    fileprivate struct Job: Sendable {
        let request: FetchRequest
        let then: Completion
    }

    private struct Mailbox {
        var jobs: [Job] = []
        var thread: NamedThread?
        /// Those of the thread, from its beginning to its end.
        var transfers: Transfers?
        /// Why no job is taken any more.
        var end: FetchFailure?
    }

    private final class Shared: Sendable {
        let mailbox = Mutex(Mailbox())

        /// Ends the thread, and refuses further jobs.
        func requestEnd() -> NamedThread? {
            mailbox.withLock { mailbox in
                mailbox.end = mailbox.end ?? .stopped
                mailbox.transfers?.wake()
                return mailbox.thread
            }
        }
    }

    private let shared = Shared()

    package init() {}

    deinit { _ = shared.requestEnd() }

    /// Never waits. `then` is called once, on the fetcher's thread or on this one, and must not wait either.
    package func fetch(_ request: FetchRequest, then: @escaping Completion) {
        let refusal = shared.mailbox.withLock { mailbox -> FetchFailure? in
            if let end = mailbox.end { return end }
            if mailbox.thread == nil {
                do throws(SystemError) {
                    mailbox.thread = try NamedThread(name: "fetch") { [shared] in Self.run(shared) }
                } catch {
                    return .other("\(error)")
                }
            }
            mailbox.jobs.append(Job(request: request, then: then))
            mailbox.transfers?.wake()
            return nil
        }
        if let refusal { then(.failure(refusal)) }
    }

    /// Ends all requests that are under way, with `stopped`, and waits until that is done. Not on the fetcher's thread.
    package func stop() { shared.requestEnd()?.join() }

    private static func run(_ shared: Shared) {
        linux_block_broken_pipe_signal()
        do throws(FetchFailure) {
            let transfers = try Transfers()
            shared.mailbox.withLock { $0.transfers = transfers }
            while true {
                let (jobs, isEnding) = shared.mailbox.withLock { mailbox in
                    defer { mailbox.jobs = [] }
                    return (mailbox.jobs, mailbox.end != nil)
                }
                for job in jobs { transfers.begin(job) }
                if isEnding { break }
                transfers.work()
                transfers.wait()
            }
            // From here on no other thread wakes them.
            shared.mailbox.withLock { $0.transfers = nil }
            transfers.end()
        } catch {
            // The next request tries again: the system may only have been short of something.
            while true {
                let jobs = shared.mailbox.withLock { mailbox in
                    defer { mailbox.jobs = [] }
                    if mailbox.jobs.isEmpty { mailbox.thread = nil }
                    return mailbox.jobs
                }
                if jobs.isEmpty { break }
                for job in jobs { job.then(.failure(error)) }
            }
        }
    }
}

/// The transfers that are under way.
private final class Transfers: @unchecked Sendable {
    // Safe because: only the fetcher's thread uses them, except for `wake()`, which libcurl allows on any thread, and
    // which is called under the lock of the mailbox while they are there.
    private let multi: UnsafeMutableRawPointer
    private var open: [UnsafeMutableRawPointer: (transfer: HTTPTransfer, then: Fetcher.Completion)] = [:]

    init() throws(FetchFailure) {
        if let problem = FetchLibrary.problem { throw .other(problem) }
        guard let multi = hearth_curl_multi_init() else { throw .other("no memory for transfers") }
        self.multi = multi
        guard hearth_curl_multi_wake(multi) == CURLM_OK else { throw .other("no descriptors for transfers") }
    }

    deinit { hearth_curl_multi_cleanup(multi) }

    func wake() { _ = hearth_curl_multi_wake(multi) }

    func wait() {
        // Without memory, waiting fails at once.
        if hearth_curl_multi_wait(multi) != CURLM_OK { _ = Semaphore().wait(atMost: .milliseconds(100)) }
    }

    func begin(_ job: Fetcher.Job) {
        do throws(FetchFailure) {
            let transfer = try HTTPTransfer(job.request)
            let pointer = transfer.handle.pointer
            guard hearth_curl_multi_add(multi, pointer) == CURLM_OK else { throw .other("no memory for a transfer") }
            open[pointer] = (transfer, job.then)
        } catch {
            job.then(.failure(error))
        }
    }

    /// Takes all transfers as far as they go without waiting.
    func work() {
        _ = hearth_curl_multi_perform(multi)
        var code = CURLE_OK
        while let pointer = hearth_curl_multi_next_ended(multi, &code) {
            guard let (transfer, then) = open.removeValue(forKey: pointer) else { continue }
            hearth_curl_multi_remove(multi, pointer)
            then(transfer.result(code))
        }
    }

    func end() {
        for (pointer, (_, then)) in open {
            hearth_curl_multi_remove(multi, pointer)
            then(.failure(.stopped))
        }
        open = [:]
    }
}
