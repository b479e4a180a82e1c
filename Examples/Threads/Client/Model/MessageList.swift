import ExampleKit
import Observation

/// The messages of a thread.
@MainActor
@Observable
final class MessageList {
    let thread: ThreadItem
    /// From the oldest to the newest; nil until it is known what there is.
    private(set) var messages: [MessageItem]?
    private let session: Session

    init(_ session: Session, of thread: ThreadItem) { (self.session, self.thread) = (session, thread) }

    func load() async throws {
        messages = try await session.ask("/api/messages/\(thread.id)").needList("messages", MessageItem.init)
    }

    /// - throws: `FieldProblems` for `message`.
    func add(_ text: String) async throws {
        _ = try await session.ask("/api/message/add", ["thread_id": thread.id, "message": text])
        try await load()
    }

    /// Whether it is the user's own.
    func mayDelete(_ message: MessageItem) -> Bool { message.creator.id == session.member?.creator.id }

    func delete(_ message: MessageItem) async throws {
        _ = try await session.ask("/api/message/delete/\(message.id)")
        try await load()
    }
}
