/// Something to fill in.
public struct Field: Sendable {
    /// By which values and problems name it.
    public var name: String
    /// What stands before it.
    public var label: String
    /// What stands in it at first.
    public var text: String
    /// Whether what is written stays hidden.
    public var isSecret: Bool

    /// A field.
    public init(_ name: String, _ label: String, text: String = "", isSecret: Bool = false) {
        (self.name, self.label, self.text, self.isSecret) = (name, label, text, isSecret)
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
            let error = try await self.attempt("One moment…", isWrite: isWrite) { try await submit(values) }
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

    init(_ fields: [Field]) {
        self.fields = fields
        texts = fields.map { TextField($0.text) }
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
        case .enter, .tab, .down: focus = (focus + 1) % fields.count
        case .backTab, .up: focus = (focus + fields.count - 1) % fields.count
        default: if texts[focus].press(key) { problems[fields[focus].name] = nil }
        }
        return .stay
    }

    func page(_ title: String, _ does: String, _ size: Size) -> Page {
        let labels = fields.map(\.label.columns).max() ?? 0
        let room = max(size.columns - labels - 6, 4)
        var lines: [Line] = []
        var cursor: (Int, Int)?
        for (index, field) in fields.enumerated() {
            let text = texts[index]
            let shown = field.isSecret ? Array(repeating: "•", count: text.text.count) : text.text
            // The end of what is before the cursor is always visible.
            var before = shown[..<text.cursor]
            while String(before).columns >= room { before.removeFirst() }
            let visible = String(before) + String(shown[text.cursor...])
            let label = field.label + String(repeating: " ", count: labels - field.label.columns + 2)
            if index == focus { cursor = (lines.count, labels + 2 + String(before).columns) }
            lines.append(Line(label, index == focus ? .bold : .faint) + Line(visible))
            if let problem = problems[field.name] {
                let indent = String(repeating: " ", count: labels + 2)
                lines += problem.wrapped(to: room).map { Line(indent) + Line($0, .wrong) }
            }
            lines.append("")
        }
        let enter = focus == fields.count - 1 ? does : "next"
        return Page(title, lines, hints: [(.enter, enter), (.tab, "next"), (.escape, "back")], cursor: cursor)
    }
}
