import HearthExampleKit
import HearthExampleTerminal
import Observation

/// The messages of a thread.
@MainActor
@Observable
final class MessageList {
    let thread: ThreadItem
    /// From the oldest to the newest; nil until it is known what there is.
    private(set) var messages: [MessageItem]?
    /// Why they may not be up to date.
    private(set) var problem: String?
    private let session: Session

    init(_ session: Session, of thread: ThreadItem) { (self.session, self.thread) = (session, thread) }

    /// Learns them.
    func load() async throws {
        messages = try await session.ask("/api/messages/\(thread.id)").list("messages")
        problem = nil
    }

    /// The same after a change, which stays made if this fails.
    private func reload() async {
        do { try await load() } catch { problem = "The list may be old: \(Problem.text(of: error))" }
    }

    /// - throws: `FieldProblems` for `message`.
    func add(_ text: String) async throws {
        _ = try await session.ask("/api/message/add", ["thread_id": thread.id, "message": text])
        await reload()
    }

    /// Whether it is the user's own.
    func mayDelete(_ message: MessageItem) -> Bool { message.creator.id == session.member?.creator.id }

    func delete(_ message: MessageItem) async throws {
        _ = try await session.ask("/api/message/delete/\(message.id)")
        await reload()
    }
}
