/// A line of text that is being written, and where.
struct TextField: Equatable {
    private(set) var text: [Character]
    private(set) var cursor: Int

    init(_ text: String = "") {
        self.text = Array(text)
        cursor = self.text.count
    }

    var string: String { String(text) }

    /// Takes a key; false if the key is not for a line.
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .character(let character):
            // What follows a letter and joins it, such as an accent, makes one character with it.
            let before = String(text[..<cursor] + [character])
            text = Array(before + String(text[cursor...]))
            cursor = before.count
        case .backspace where cursor > 0:
            cursor -= 1
            text.remove(at: cursor)
        case .delete where cursor < text.count: text.remove(at: cursor)
        case .left: cursor = max(cursor - 1, 0)
        case .right: cursor = min(cursor + 1, text.count)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = text.count
        case .control("u"):
            text.removeFirst(cursor)
            cursor = 0
        case .control("k"): text.removeLast(text.count - cursor)
        case .backspace, .delete: break
        default: return false
        }
        return true
    }
}
