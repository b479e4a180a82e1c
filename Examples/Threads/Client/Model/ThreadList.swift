import HearthExampleKit
import HearthExampleTerminal
import Observation

/// The threads of all users. The service does not tell of changes, so they are asked for again after each that is made
/// here.
@MainActor
@Observable
final class ThreadList {
    /// From the newest to the oldest; nil until it is known what there is.
    private(set) var threads: [ThreadItem]?
    /// Why they may not be up to date.
    private(set) var problem: String?
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// Learns them.
    func load() async throws {
        threads = try await session.ask("/api/threads").list("threads", of: ThreadItem.self).reversed()
        problem = nil
    }

    /// The same after a change, which stays made if this fails.
    private func reload() async {
        do { try await load() } catch { problem = "The list may be old: \(Problem.text(of: error))" }
    }

    /// - throws: `FieldProblems` for `title`.
    func add(title: String) async throws {
        _ = try await session.ask("/api/thread/add", ["title": title])
        await reload()
    }

    /// Whether it is the user's own.
    func mayDelete(_ thread: ThreadItem) -> Bool { thread.creator.id == session.member?.creator.id }

    func delete(_ thread: ThreadItem) async throws {
        _ = try await session.ask("/api/thread/delete/\(thread.id)")
        await reload()
    }
}
