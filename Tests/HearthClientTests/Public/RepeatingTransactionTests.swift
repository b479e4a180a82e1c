import HearthServerSupport
import HearthClientTransport
import HearthEventLoop
import HearthClient
import Synchronization
import Testing

@Suite("A transaction that is repeated", .timeLimit(.minutes(15)))
struct RepeatingTransactionTests {
    /// A server with one integer at `x`, which loses connections or answers by `answer`.
    ///
    /// - parameter answer: is given the number of the attempt, from 1, and the value; changes it, and returns the status
    ///   to answer with, nil to break the connection.
    private func server(
        _ answer: @escaping @Sendable (_ attempt: Int, _ value: inout Int) -> String?
    ) throws -> (ScriptedServer, @Sendable () -> (attempts: Int, value: Int)) {
        let state = Shared()
        let server = ScriptedServer(
            .init(received: { peer, text in
                if text.contains(#""a":"q""#) {
                    peer.push("d", #"{"p":"x","d":\#(state.content.withLock { $0.value })}"#)
                }
                guard text.contains(#""a":"p""#) else { return peer.answer(to: text) }
                let status = state.content.withLock { content in
                    content.attempts += 1
                    return answer(content.attempts, &content.value)
                }
                if let status { peer.answer(to: text, status: status) } else { peer.stream.abort() }
            }))
        return (server, { state.content.withLock { $0 } })
    }

    private final class Shared: Sendable {
        let content = Mutex((attempts: 0, value: 1))
    }

    @Test("leaves priorities and keys alone that the change does not touch")
    func rest() async throws {
        let server = try TestDatabase()
        let room = try server.client().reference(withPath: "room")
        // Two keys that Swift takes to be the same string.
        try await room.child("\u{e9}").setValue(1, andPriority: 1)
        try await room.child("e\u{301}").setValue(2)
        try await room.child("seats").setValue(3)
        let isMade = try await room.repeatingTransaction { value in
            value["seats"] = 2
            return true
        }
        #expect(isMade)
        let stored = try await room.getData()
        #expect(stored.childrenCount == 3)
        #expect(stored["seats"].int == 2)
        #expect(stored.children.compactMap(\.priority.int) == [1])
    }

    private func place(_ server: ScriptedServer) throws -> DatabaseReference {
        try server.client { $0.reconnectDelayMin = .milliseconds(1) }.reference(withPath: "x")
    }

    private static let increment: @Sendable (inout DatabaseValue) -> Bool = { value in
        value = .int(Int64((value.int ?? 0) + 1))
        return true
    }

    @Test("does not make a change twice whose answer was lost")
    func made() async throws {
        let (server, state) = try server { attempt, value in
            value += 1
            return attempt == 1 ? nil : "ok"
        }
        let isMade = try await place(server).repeatingTransaction(isMade: { $0 == 2 }, Self.increment)
        #expect(isMade)
        #expect(state() == (attempts: 1, value: 2))
    }

    @Test("makes a change again that was lost on its way")
    func lost() async throws {
        let (server, state) = try server { attempt, value in
            guard attempt > 2 else { return nil }
            value += 1
            return "ok"
        }
        let isMade = try await place(server).repeatingTransaction(isMade: { $0 == 2 }, Self.increment)
        #expect(isMade)
        #expect(state() == (attempts: 3, value: 2))
    }

    @Test("takes a value that was like that before for nobody's change")
    func equal() async throws {
        let (server, state) = try server { _, value in
            value += 1
            return "ok"
        }
        #expect(try await place(server).repeatingTransaction(isMade: { $0 == 1 }, Self.increment))
        #expect(state() == (attempts: 1, value: 2))
        #expect(try await place(server).repeatingTransaction(isMade: { _ in true }) { _ in false } == false)
    }

    @Test("does not guess whether a lost change was made if nothing can tell")
    func unknown() async throws {
        let (server, state) = try server { _, _ in nil }
        await #expect {
            try await place(server).repeatingTransaction(Self.increment)
        } throws: { error in
            if case DatabaseError.disconnected = error { true } else { false }
        }
        #expect(state().attempts == 1)
    }

    @Test("gives up after ten lost connections")
    func tenLosses() async throws {
        let (server, state) = try server { _, _ in nil }
        await #expect {
            try await place(server).repeatingTransaction(isMade: { $0 == 2 }, Self.increment)
        } throws: { error in
            if case DatabaseError.disconnected = error { true } else { false }
        }
        #expect(state().attempts == 11)
    }

    @Test("begins again after 25 attempts that others overtook")
    func overtaken() async throws {
        let (server, state) = try server { attempt, value in
            guard attempt > 60 else { return "datastale" }
            value += 1
            return "ok"
        }
        #expect(try await place(server).repeatingTransaction(Self.increment))
        #expect(state() == (attempts: 61, value: 2))
    }

    @Test("throws what is no loss and no contention")
    func refused() async throws {
        let (server, state) = try server { _, _ in "permission_denied" }
        await #expect {
            try await place(server).repeatingTransaction(isMade: { $0 == 2 }, Self.increment)
        } throws: { error in
            if case DatabaseError.permissionDenied = error { true } else { false }
        }
        #expect(state().attempts == 1)
    }
}
