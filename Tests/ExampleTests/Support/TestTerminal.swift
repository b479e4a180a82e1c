import HearthTestSupport

@testable import HearthExampleTerminal

/// A terminal in memory, with somebody in front of it.
@MainActor
final class TestTerminal {
    private(set) var screen: TerminalScreen
    private var size: Size
    private var waiting: [(condition: (TerminalScreen) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    private(set) lazy var terminal = Terminal(size: { [unowned self] in size }) { [unowned self] in shown($0) }

    init(columns: Int = 60, rows: Int = 12) {
        size = (columns, rows)
        screen = TerminalScreen(columns: columns, rows: rows)
    }

    private func shown(_ text: String) {
        screen.write(text.utf8)
        waiting.removeAll { waiter in
            guard waiter.condition(screen) else { return false }
            waiter.continuation.resume()
            return true
        }
    }

    /// The rows without the frame: those between title and message.
    var lines: [String] { screen.lines[2..<size.rows - 2].map { String($0.dropFirst()) } }

    func press(_ keys: Key...) { for key in keys { terminal.post(.key(key)) } }

    func type(_ text: String) { for character in text { terminal.post(.key(.character(character))) } }

    func resize(columns: Int, rows: Int) {
        size = (columns, rows)
        screen = TerminalScreen(columns: columns, rows: rows)
        terminal.post(.resized)
    }

    func wait(until condition: @escaping (TerminalScreen) -> Bool) async {
        if condition(screen) { return }
        await withCheckedContinuation { waiting.append((condition, $0)) }
    }

    func wait(for text: String) async { await wait { $0.text.contains(text) } }
}
