import CHearthLibedit
import Glibc

/// Reads lines from a terminal with libedit: editing, history, completion.
///
/// Used by one thread. ^C gives up the line, ^D at the beginning of one is the end.
final class LineEditor {
    /// The completions of a line that was typed up to the cursor.
    struct Completion {
        /// Characters before the cursor that are replaced.
        var replaced: Int
        /// Whole replacements, each with its label in a list.
        var candidates: [(text: String, label: String)]
        /// The common prefix of all possibilities, including those that are not among the candidates; nil if the
        /// candidates are complete.
        var common: String?
        /// More is possible than the candidates.
        var isCut = false

        static let none = Completion(replaced: 0, candidates: [])
    }

    private let editor: OpaquePointer
    private let list: OpaquePointer
    private let historyFile: String?
    private let complete: (String) -> Completion
    fileprivate var prompt = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    fileprivate var wasInterrupted = false

    private static let historySize: Int32 = 1000
    /// Begins and ends the parts of a prompt that take no columns.
    private static let escape = CChar(1)

    /// Nil if there is no terminal that can be used.
    init?(historyFile: String?, complete: @escaping (String) -> Completion) {
        setlocale(LC_CTYPE, "")
        guard let editor = hearth_el_init(), let list = history_init() else { return nil }
        self.editor = editor
        self.list = list
        self.historyFile = historyFile
        self.complete = complete
        prompt.pointee = 0
        hearth_history_set_size(list, Self.historySize)
        if let historyFile { _ = hearth_history_load(list, historyFile) }
        hearth_el_set_client_data(editor, Unmanaged.passUnretained(self).toOpaque())
        hearth_el_use_emacs_keys(editor)
        hearth_el_use_history(editor, list)
        hearth_el_set_prompt(editor, { LineEditor.of($0).prompt }, Self.escape)
        hearth_el_take_interrupts(editor)
        hearth_el_add_function(editor, "hearth-complete") { editor, _ in LineEditor.of(editor).completeNow() }
        hearth_el_add_function(editor, "hearth-interrupt") { editor, _ in LineEditor.of(editor).interrupt() }
        hearth_el_add_function(editor, "hearth-suspend") { editor, _ in LineEditor.of(editor).suspend() }
        hearth_el_bind(editor, "^I", "hearth-complete")
        hearth_el_bind(editor, "^C", "hearth-interrupt")
        hearth_el_bind(editor, "^Z", "hearth-suspend")
        hearth_el_bind(editor, "^R", "em-inc-search-prev")
        hearth_el_bind(editor, "\u{1B}[3~", "ed-delete-next-char")
        // The user's own key bindings win.
        el_source(editor, nil)
    }

    deinit {
        el_end(editor)
        history_end(list)
        free(prompt)
    }

    private static func of(_ editor: OpaquePointer?) -> LineEditor {
        // Safe because: the editor calls back only while `read` runs, and it was given this object.
        Unmanaged<LineEditor>.fromOpaque(hearth_el_client_data(editor)).takeUnretainedValue()
    }

    enum Line {
        case text(String)
        /// It was given up.
        case interrupted
        case end
    }

    /// - parameter prompt: its styled parts, which a terminal shows in front of the line.
    func read(prompt parts: [(text: String, style: Style?)], isColoured: Bool) -> Line {
        let mark = String(Unicode.Scalar(UInt8(Self.escape)))
        // Text without columns must directly precede text with columns.
        let text = parts.map { part in
            isColoured ? "\(mark)\u{1B}[0;\(part.style?.rawValue ?? "")m\(mark)\(part.text)" : part.text
        }
        free(prompt)
        prompt = strdup(text.joined())
        wasInterrupted = false
        // Before the prompt asks for a line.
        hearth_el_prepare(editor)
        var count: Int32 = 0
        guard let line = el_gets(editor, &count), count > 0 else { return .end }
        if wasInterrupted { return .interrupted }
        var text8 = String(cString: line)
        if text8.hasSuffix("\n") { text8.removeLast() }
        return .text(text8)
    }

    /// Keeps a line for later.
    func remember(_ line: String) {
        hearth_history_enter(list, line)
        guard let historyFile else { return }
        // Lines may hold private data.
        let before = umask(0o077)
        _ = hearth_history_save(list, historyFile)
        umask(before)
    }

    // MARK: Called by the editor

    private func interrupt() -> UInt8 {
        wasInterrupted = true
        StandardOutput.control("^C\n")
        return UInt8(CC_NEWLINE)
    }

    /// The parent shell continues, until it resumes this program.
    private func suspend() -> UInt8 {
        hearth_el_release(editor)
        raise(SIGTSTP)
        hearth_el_prepare(editor)
        return UInt8(CC_REDISPLAY)
    }

    private func completeNow() -> UInt8 {
        guard let info = el_line(editor)?.pointee else { return UInt8(CC_ERROR) }
        let before = String(
            decoding: UnsafeRawBufferPointer(start: info.buffer, count: info.cursor - info.buffer), as: UTF8.self)
        let completion = complete(before)
        guard let first = completion.candidates.first else { return UInt8(CC_REFRESH_BEEP) }
        let common =
            completion.common ?? PathCompletion.commonBeginning(completion.candidates.map(\.text)) ?? first.text
        let typed = String(before.suffix(completion.replaced))
        if common.count > typed.count || completion.candidates.count == 1 && !completion.isCut {
            if completion.replaced > 0 { el_deletestr(editor, Int32(typed.unicodeScalars.count)) }
            return el_insertstr(editor, common) == 0 ? UInt8(CC_REFRESH) : UInt8(CC_ERROR)
        }
        show(completion.candidates.map(\.label), isCut: completion.isCut)
        return UInt8(CC_REDISPLAY)
    }

    private func show(_ labels: [String], isCut: Bool) {
        let columns = Terminal.size?.columns ?? 80
        let width = (labels.map(\.count).max() ?? 0) + 2
        let perLine = max(1, columns / width)
        var text = "\n"
        for (index, label) in labels.prefix(200).enumerated() {
            let isLast = index % perLine == perLine - 1 || index == min(labels.count, 200) - 1
            text += isLast ? label + "\n" : label + String(repeating: " ", count: width - label.count)
        }
        if isCut || labels.count > 200 { text += "… and more\n" }
        StandardOutput.control(Terminal.harmless(text))
    }
}
