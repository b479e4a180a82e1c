import HearthServerSupport
import HearthEventLoop
import HearthJSONTree
import HearthTestSupport
import HearthWireProtocol
@testable import HearthClientSession
@testable import HearthConnection

/// One connection that writes as fast as it is answered, until the server is gone, and knows what must be there
/// afterwards.
final class CrashWriter: @unchecked Sendable {
    // Safe because: during a round its loop alone uses it, between rounds the test alone.

    let number: Int
    private var random: SeededRandom
    /// The known data before `writes`.
    private var state = CrashState()
    /// The writes since then, in the order in which they were sent.
    private var writes: [CrashWrite] = []
    /// So many of them were acknowledged.
    private var acknowledged = 0
    private var unanswered = 0
    /// All that were ever made.
    private var made = 0
    /// The mistakes in the answers.
    private(set) var problems: [String] = []
    private var core: ConnectionCore?
    private var onAnswer: () -> Void = {}
    private var onEnd: () -> Void = {}

    init(_ number: Int, seed: UInt64) {
        self.number = number
        random = SeededRandom(seed: seed)
    }

    // MARK: A round

    /// To be called on the loop. `onAnswer` is called for the hello and for every acknowledgement, `onEnd` once, when
    /// the connection has ended.
    func run(
        on loop: EventLoop, _ url: DatabaseURL, onAnswer: @escaping () -> Void, onEnd: @escaping () -> Void
    ) {
        self.onAnswer = onAnswer
        self.onEnd = onEnd
        let core = ConnectionCore(loop: loop, options: .persistent) { [self] hello in
            guard case .success = hello else { return end() }
            for _ in 0..<Int.random(in: 1...64, using: &random) { write() }
            self.onAnswer()
        }
        self.core = core
        core.connect(to: url)
    }

    private func write() {
        guard let core else { return }
        // A large read: the server writes its rows to the tree file, as it else does when time has passed.
        if Int.random(in: 0..<300, using: &random) == 0 { core.send(.get(.root, query: nil)) { _ in } }
        made += 1
        let write = CrashWrite.random(writer: number, number: made, using: &random)
        let index = writes.count
        writes.append(write)
        unanswered += 1
        core.send(write.request) { [self] in answered(index, $0) }
    }

    private func answered(_ index: Int, _ result: Result<ServerResponse, ConnectionError>) {
        unanswered -= 1
        switch result {
        case .success(let response) where response.isOK && index == acknowledged:
            acknowledged += 1
            onAnswer()
            write()
        case .success(let response):
            problems.append("write \(index) was answered with \(response) after \(acknowledged) others")
        case .failure(.disconnected): core = nil
        case .failure(let error): problems.append("\(error)")
        }
        if core == nil, unanswered == 0 { end() }
    }

    private func end() {
        core = nil
        let onEnd = onEnd
        (onAnswer, self.onEnd) = ({}, {})
        onEnd()
    }

    // MARK: After the restart

    /// What the server has of this writer.
    func read(_ connection: Connection) async throws -> CrashState {
        var found = CrashState()
        for place in ["a/\(number)", "z/\(number)"] { found.add(try await connection.get(path(place)), at: place) }
        return found
    }

    struct Lost: Error {
        var message: String
    }

    /// Counts the writes since the last time: those that were acknowledged, and those that survived, which are the
    /// first ones, at least all that were acknowledged. Throws if that is not so. `when` is for people.
    func settle(_ found: CrashState, _ when: String) throws -> (acknowledged: Int, survived: Int) {
        for write in writes[..<acknowledged] { state.apply(write) }
        let atLeast = state
        var survived = acknowledged
        while state != found {
            guard survived < writes.count else {
                throw Lost(
                    message: "\(when): of \(writes.count) writes of \(number), \(acknowledged) of them acknowledged, "
                        + "no first ones make what is there: \(found.difference(from: atLeast))")
            }
            state.apply(writes[survived])
            survived += 1
        }
        defer { (writes, acknowledged) = ([], 0) }
        return (acknowledged, survived)
    }
}
