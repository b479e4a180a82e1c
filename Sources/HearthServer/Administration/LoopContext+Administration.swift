import HearthEventLoop
import Synchronization

/// Questions that all loops answer.
extension LoopContext {
    /// Asks every loop, and goes on with the answers on the thread of the last one.
    func askAllLoops<Answer: Sendable>(
        _ question: @escaping @Sendable (LoopContext) -> Answer, then: @escaping @Sendable ([Answer]) -> Void
    ) {
        let all = allLoops
        let box = Gathering<Answer>(expected: all.count)
        for other in all {
            other.loop.execute {
                if let answers = box.add(question(other)) { then(answers) }
            }
        }
    }
}

/// Answers that come from several threads.
private final class Gathering<Answer: Sendable>: Sendable {
    private let answers = Mutex<[Answer]>([])
    private let expected: Int

    init(expected: Int) { self.expected = expected }

    /// All of them, once the last one is there.
    func add(_ answer: Answer) -> [Answer]? {
        answers.withLock { answers in
            answers.append(answer)
            return answers.count == expected ? answers : nil
        }
    }
}
