/// Something to fill in.
public struct Field: Sendable {
    /// The text of a field.
    public enum Kind: Sendable {
        case text
        /// It stays hidden.
        case secret
        /// One of values that follow each other, such as days. Page up and Page down pick the value so many further,
        /// and the first character that is typed replaces the whole. The note is next to it.
        case picked(next: @Sendable (String, Int) -> String, note: @Sendable (String) -> String?)
    }

    let name: String
    let label: String
    let text: String
    let kind: Kind

    /// A field.
    ///
    /// - parameter name: by which values and problems name it.
    /// - parameter label: the text before it.
    /// - parameter text: the initial text.
    public init(_ name: String, _ label: String, text: String = "", kind: Kind = .text) {
        (self.name, self.label, self.text, self.kind) = (name, label, text, kind)
    }
}

extension Terminal {
    /// Shows fields to fill in, until their contents are accepted or the user cancels.
    ///
    /// - parameter isWrite: whether that ends with a write to the database, which continues when the user no longer
    ///   waits for it.
    /// - parameter submit: performs the form's action, with the values by the fields' names. It throws
    ///   ``FieldProblems`` for mistakes: each is shown below its field, those of other fields as the message, and the
    ///   form stays. It also stays after any other error.
    public func form(
        _ title: String, _ fields: [Field], does: String = "save", isWrite: Bool = false,
        submit: @escaping @MainActor ([String: String]) async throws -> Void
    ) async throws {
        var form = Form(fields)
        let _: Bool? = try await show { size in
            form.page(title, does, size)
        } press: { key in
            if key == .escape { return true }
            guard form.press(key) else { return nil }
            let values = form.values
            let error = try await attempt("One moment… Esc ends the waiting.", isWrite: isWrite) {
                try await submit(values)
            }
            guard let error else { return true }
            let others = (error as? FieldProblems).map { form.show($0) }
            message = others?.fields.isEmpty == true ? nil : Line(Problem.text(of: others ?? error), .wrong)
            return nil
        }
    }

    /// Asks a question below the page that is shown.
    public func confirm(_ question: String) async throws -> Bool {
        let draw = currentPage
        let asked = Line("\(question) ", .bold) + "y/n"
        message = asked
        return try await show { size in
            var page = draw(size)
            page?.hints = [("y", "yes"), ("n", "no")]
            return page
        } press: { key in
            if key == "y" || key == "Y" { return true }
            if key == "n" || key == "N" || key == .escape { return false }
            message = asked
            return nil
        } ?? false
    }
}

/// The contents of a form's fields.
private struct Form {
    private let fields: [Field]
    private var texts: [TextField]
    private var problems: [String: String] = [:]
    private var focus = 0
    /// Whether nothing was typed since the focus came to its field.
    private var isUntouched = true

    init(_ fields: [Field]) {
        (self.fields, texts) = (fields, fields.map { TextField($0.text) })
        // Fields that are filled in already, such as the user's name, come later.
        focus = fields.firstIndex { if case .picked = $0.kind { true } else { $0.text.isEmpty } } ?? 0
    }

    var values: [String: String] { Dictionary(zip(fields.map(\.name), texts.map { String($0.text) })) { $1 } }

    /// Shows mistakes, goes to the first field with one, and answers the mistakes of other fields.
    mutating func show(_ all: FieldProblems) -> FieldProblems {
        problems = all.fields
        focus = fields.firstIndex { problems[$0.name] != nil } ?? focus
        return FieldProblems(problems.filter { problem in !fields.contains { $0.name == problem.key } })
    }

    /// Takes a key; true if the form is to be submitted.
    mutating func press(_ key: Key) -> Bool {
        switch (key, fields[focus].kind) {
        case (.enter, _) where focus == fields.count - 1: return true
        case (.enter, _), (.tab, _), (.down, _): moveFocus(by: 1)
        case (.backTab, _), (.up, _): moveFocus(by: -1)
        case (.pageUp, .picked(let next, _)), (.pageDown, .picked(let next, _)):
            texts[focus] = TextField(next(String(texts[focus].text), key == .pageUp ? -1 : 1))
            problems[fields[focus].name] = nil
            isUntouched = true
        default:
            if case (.character, .picked) = (key, fields[focus].kind), isUntouched { texts[focus] = TextField("") }
            guard texts[focus].press(key) else { break }
            problems[fields[focus].name] = nil
            isUntouched = false
        }
        return false
    }

    private mutating func moveFocus(by count: Int) {
        focus = (focus + fields.count + count) % fields.count
        isUntouched = true
    }

    func page(_ title: String, _ does: String, _ size: Size) -> Page {
        let indent = (fields.map(\.label.columns).max() ?? 0) + 2
        let room = max(size.columns - indent - 4, 4)
        var lines: [Line] = []
        var cursor: (Int, Int)?
        var hints: [(Key, String)] = [(.enter, focus == fields.count - 1 ? does : "next"), (.tab, "next")]
        for (index, field) in fields.enumerated() {
            var (shown, note) = (texts[index].text, nil as String?)
            if case .secret = field.kind { shown = shown.map { _ in "•" } }
            // The end of the text before the cursor is always visible.
            var before = shown[..<texts[index].cursor]
            while String(before).columns >= room { before.removeFirst() }
            if case .picked(_, let text) = field.kind {
                note = text(String(shown))
                if index == focus { hints += [(.pageUp, "before"), (.pageDown, "after")] }
            }
            if index == focus { cursor = (lines.count, indent + String(before).columns) }
            lines.append(
                Line(field.label.padded(to: indent), index == focus ? .bold : .faint)
                    + Line(String(before + shown[texts[index].cursor...])) + Line(note.map { "  \($0)" } ?? "", .faint))
            lines += (problems[field.name]?.wrapped(to: room) ?? []).map { Line("".padded(to: indent) + $0, .wrong) }
            lines.append("")
        }
        return Page(title, lines, hints: hints + [(.escape, "back")], cursor: cursor)
    }
}

/// A line of text that is being written, and where.
struct TextField: Equatable {
    private(set) var text: [Character]
    private(set) var cursor: Int

    init(_ text: String) { (self.text, cursor) = (Array(text), text.count) }

    /// Takes a key; false if the key is not for a line.
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .character(let character):
            // What follows a letter and joins it, such as an accent, makes one character with it.
            let before = String(text[..<cursor] + [character])
            (text, cursor) = (Array(before) + text[cursor...], before.count)
        case .backspace where cursor > 0:
            cursor -= 1
            text.remove(at: cursor)
        case .delete where cursor < text.count: text.remove(at: cursor)
        case .left: cursor = max(cursor - 1, 0)
        case .right: cursor = min(cursor + 1, text.count)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = text.count
        case .control("u"): (text, cursor) = (Array(text[cursor...]), 0)
        case .control("k"): text.removeLast(text.count - cursor)
        case .backspace, .delete: break
        default: return false
        }
        return true
    }
}
