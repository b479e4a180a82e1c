import HearthTestSupport
import Synchronization

/// What crashes would leave of a disk: at every write and every sync a copy is made and checked, in turn as after the
/// end of the process, after a power cut with nothing unsynced left, and after one with some of it left in disorder.
final class CrashCopies: Sendable {
    private let found = Mutex((count: 0, problems: [String]()))

    /// - parameter problem: the mistake in the folder of a copy; nil if there is none.
    init(of disk: SimulatedDisk, seed: UInt64, problem: @escaping @Sendable (_ folder: String) -> String?) {
        disk.beforeEachChange { [weak disk, weak self] number in
            let probability = [1, 0, 0.5][number % 3]
            guard let copy = disk?.imageAfterPowerCut(keeping: probability, seed: seed ^ UInt64(number)) else { return }
            let problem = problem(copy.path)
            self?.found.withLock { found in
                found.count += 1
                if let problem { found.problems.append("\(problem) after operation \(number), \(probability) left") }
            }
        }
    }

    var count: Int { found.withLock { $0.count } }
    var problems: [String] { found.withLock { $0.problems } }
}
