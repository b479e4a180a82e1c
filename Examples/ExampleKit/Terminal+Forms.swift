/// Something to fill in.
public struct Field: Sendable {
    /// By which values and problems name it.
    public var name: String
    /// What stands before it.
    public var label: String
    /// What stands in it at first.
    public var text: String
    /// What is written in it.
    public var kind: Kind

    /// What a field is for.
    public enum Kind: Sendable {
        case text
        /// It stays hidden.
        case secret
        /// A day, such as `2026-03-01`. Page up and Page down pick another one, and the first character that is typed
        /// replaces the whole day.
        case date
    }

    /// A field.
    public init(_ name: String, _ label: String, text: String = "", kind: Kind = .text) {
        (self.name, self.label, self.text, self.kind) = (name, label, text, kind)
    }
}

extension Terminal {
    /// Shows fields to fill in, until what is in them was taken or the user does not want to any more.
    ///
    /// - parameter submit: does what the form is for, with the values by the fields' names. It throws ``FieldProblems``
    ///   for what is wrong with them: each is shown below its field, those of other fields as the message, and the form
    ///   stays. So it does for any other error.
    /// - parameter isWrite: whether that ends with a write to the database, which goes on when nobody waits for it.
    /// - returns: whether it was submitted.
    @discardableResult
    public func form(
        _ title: String, _ fields: [Field], does: String = "save", isWrite: Bool = false,
        submit: @escaping @MainActor ([String: String]) async throws -> Void
    ) async throws -> Bool {
        let form = FormState(fields)
        return try await show { size in
            form.page(title, does, size)
        } press: { key in
            switch form.press(key) {
            case .stay: return nil
            case .leave: return false
            case .submit: break
            }
            let values = form.values
            let error = try await self.attempt("One moment… Esc ends the waiting.", isWrite: isWrite) {
                try await submit(values)
            }
            switch error {
            case nil: return true
            case let problems as FieldProblems:
                if let others = form.show(problems) { self.message = Line(others.description, .wrong) }
            case let error?: self.message = Line(Problem.text(of: error), .wrong)
            }
            return nil
        } ?? false
    }

    /// Asks a question below the page that is shown.
    public func confirm(_ question: String) async throws -> Bool {
        let draw = currentPage
        let asked = { @MainActor in self.message = Line("\(question) ", .bold) + Line("y/n") }
        asked()
        return try await show { size in
            var page = draw(size)
            page?.hints = [("y", "yes"), ("n", "no")]
            return page
        } press: { key in
            switch key {
            case "y", "Y": return true
            case "n", "N", .escape: return false
            default:
                asked()
                return nil
            }
        } ?? false
    }
}

/// What is in the fields of a form.
@MainActor
private final class FormState {
    enum Step {
        case stay, leave, submit
    }

    private let fields: [Field]
    private var texts: [TextField]
    private var problems: [String: String] = [:]
    private var focus = 0
    /// Whether nothing was typed since the focus came to its field.
    private var isUntouched = true

    init(_ fields: [Field]) {
        self.fields = fields
        texts = fields.map { TextField($0.text) }
        // Fields that are filled in already, such as the user's name, come later.
        focus = fields.firstIndex { $0.text.isEmpty || $0.kind == .date } ?? 0
    }

    var values: [String: String] {
        Dictionary(zip(fields.map(\.name), texts.map(\.string))) { $1 }
    }

    /// Shows what is wrong, and goes to the first field of which something is.
    ///
    /// - returns: what is wrong with fields that the form does not have; nil if nothing is.
    func show(_ all: FieldProblems) -> FieldProblems? {
        problems = all.fields
        focus = fields.firstIndex { problems[$0.name] != nil } ?? focus
        let others = problems.filter { problem in !fields.contains { $0.name == problem.key } }
        return others.isEmpty ? nil : FieldProblems(others)
    }

    func press(_ key: Key) -> Step {
        switch key {
        case .escape: return .leave
        case .enter where focus == fields.count - 1: return .submit
        case .enter, .tab, .down: moveFocus(by: 1)
        case .backTab, .up: moveFocus(by: -1)
        case .pageUp where isDate: pickDay(-1)
        case .pageDown where isDate: pickDay(1)
        default: write(key)
        }
        return .stay
    }

    private var isDate: Bool { fields[focus].kind == .date }

    private func moveFocus(by count: Int) {
        focus = (focus + fields.count + count) % fields.count
        isUntouched = true
    }

    private func pickDay(_ count: Int) {
        let day = Moment.date(texts[focus].string).flatMap { Moment.date($0, adding: count) }
        texts[focus] = TextField(day ?? Moment.now.date)
        problems[fields[focus].name] = nil
        isUntouched = true
    }

    private func write(_ key: Key) {
        if isDate, isUntouched, case .character = key { texts[focus] = TextField() }
        guard texts[focus].press(key) else { return }
        problems[fields[focus].name] = nil
        isUntouched = false
    }

    func page(_ title: String, _ does: String, _ size: Size) -> Page {
        let labels = fields.map(\.label.columns).max() ?? 0
        let room = max(size.columns - labels - 6, 4)
        var lines: [Line] = []
        var cursor: (Int, Int)?
        for (index, field) in fields.enumerated() {
            let text = texts[index]
            let shown = field.kind == .secret ? Array(repeating: "•", count: text.text.count) : text.text
            // The end of what is before the cursor is always visible.
            var before = shown[..<text.cursor]
            while String(before).columns >= room { before.removeFirst() }
            let visible = String(before) + String(shown[text.cursor...])
            let label = field.label + String(repeating: " ", count: labels - field.label.columns + 2)
            if index == focus { cursor = (lines.count, labels + 2 + String(before).columns) }
            let day = field.kind == .date ? Moment.weekday(ofDate: text.string) : nil
            lines.append(
                Line(label, index == focus ? .bold : .faint) + Line(visible) + Line(day.map { "  \($0)" } ?? "", .faint)
            )
            if let problem = problems[field.name] {
                let indent = String(repeating: " ", count: labels + 2)
                lines += problem.wrapped(to: room).map { Line(indent) + Line($0, .wrong) }
            }
            lines.append("")
        }
        let enter = focus == fields.count - 1 ? does : "next"
        let picking: [(Key, String)] = isDate ? [(.pageUp, "day before"), (.pageDown, "day after")] : []
        return Page(
            title, lines, hints: [(.enter, enter), (.tab, "next")] + picking + [(.escape, "back")], cursor: cursor)
    }
}
