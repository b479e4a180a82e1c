import Glibc
import HearthClient
import Observation
import Synchronization

/// Thrown through all screens when the user wants to leave the program, or the terminal is gone.
public struct Quit: Error {
    /// The wish to leave.
    public init() {}
}

/// The terminal of a program with a live screen.
///
/// A page is drawn by a closure from what view models hold. Whatever it reads of `@Observable` objects is watched: when
/// it changes, the page is drawn again. So a view model tells nobody anything; it changes.
///
/// Screens are functions that show pages, one after the other, until they return; a screen that leads to another calls
/// it. Models and screens run on the main actor.
@MainActor
public final class Terminal {
    enum Event: Sendable {
        case key(Key)
        case resized
        /// What a page was drawn from has changed.
        case changed
        /// What `perform` waits for is done.
        case finished
    }

    /// Columns and rows.
    public private(set) var size: Size
    /// Shown above the hints until the next key.
    public var message: Line? { didSet { redraw.want(post) } }
    /// Shown at the right end of the title, for whatever is true of the whole program.
    public var badge: (@MainActor () -> Line?)?
    /// A question before the user quits or signs out by a key of a list; nil to ask nothing. Ctrl-C quits without.
    public var leaving: (@MainActor () -> String?)?

    private let events: AsyncStream<Event>
    private let post: @Sendable (Event) -> Void
    private let measure: () -> Size
    private let output: (String) -> Void
    /// What draws the page that is shown.
    private(set) var currentPage: @MainActor (Size) -> Page? = { _ in nil }
    /// Keys that came while something was done.
    private var waitingKeys: [Key] = []
    private var shown = ""

    /// Whether a redraw is on its way already.
    private final class Redraw: Sendable {
        let isPosted = Atomic(false)

        func want(_ post: (Event) -> Void) {
            if !isPosted.exchange(true, ordering: .relaxed) { post(.changed) }
        }
    }
    private let redraw = Redraw()

    /// A terminal that is given events, and writes with `output`.
    init(size: @escaping () -> Size, output: @escaping (String) -> Void) {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        post = { continuation.yield($0) }
        self.size = size()
        measure = size
        self.output = output
        end = { continuation.finish() }
    }

    private let end: @Sendable () -> Void

    /// The terminal of this program, or nil if input and output are not a terminal. Asked for once.
    static func open() -> Terminal? {
        let terminal = Terminal(size: { TerminalMode.size }, output: TerminalMode.write)
        let (post, end) = (terminal.post, terminal.end)
        guard let bell = TerminalMode.enter() else { return nil }
        Thread.start {
            var decoder = KeyDecoder()
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                var ready = [STDIN_FILENO, bell].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
                poll(&ready, 2, -1)
                if ready[1].revents != 0, read(bell, &buffer, buffer.count) > 0 { post(.resized) }
                guard ready[0].revents != 0 else { continue }
                let count = read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { break }
                for key in decoder.keys(in: buffer[..<count]) { post(.key(key)) }
            }
            end()
        }
        return terminal
    }

    func close() { TerminalMode.leave() }

    // MARK: Showing

    /// Shows a page, draws it again whenever what it shows has changed, and hands over keys until one gives a result.
    ///
    /// - parameter draw: makes the page; nil when there is nothing to show any more, which ends the page.
    /// - parameter press: what a key does; a result ends the page.
    /// - returns: the result, or nil if there is nothing to show any more.
    /// - throws: ``Quit`` for Ctrl-C, and what `press` throws.
    public func show<Result>(
        _ draw: @escaping @MainActor (Size) -> Page?, press: (Key) async throws -> Result?
    ) async throws -> Result? {
        while true {
            // A key may have shown another page meanwhile.
            currentPage = draw
            guard render() else { return nil }
            if let key = try await nextKey() {
                message = nil
                if let result = try await press(key) { return result }
            }
        }
    }

    /// The next key, or nil for another reason to draw again.
    private func nextKey() async throws -> Key? {
        if !waitingKeys.isEmpty { return waitingKeys.removeFirst() }
        guard case .key(let key) = try await nextEvent() else { return nil }
        return key
    }

    private func nextEvent() async throws -> Event {
        var iterator = events.makeAsyncIterator()
        guard let event = await iterator.next(isolation: MainActor.shared) else { throw Quit() }
        switch event {
        case .key(.control("c")): throw Quit()
        case .resized: size = measure()
        case .changed: redraw.isPosted.store(false, ordering: .relaxed)
        case .key, .finished: break
        }
        return event
    }

    /// Draws the page; false if there is none any more.
    @discardableResult
    private func render() -> Bool {
        let drawn = withObservationTracking {
            (currentPage(size), badge?())
        } onChange: { [redraw, post] in
            // Called before the change; the event is read after it.
            redraw.want(post)
        }
        guard let page = drawn.0 else { return false }
        // Shown at once, by terminals that know the mode 2026.
        var text = "\u{1B}[?2026h\u{1B}[?25l"
        for (index, line) in page.laidOut(in: size, badge: drawn.1, message: message).enumerated() {
            text += "\u{1B}[\(index + 1);1H"
            for piece in line.pieces { text += piece.style.sequence + piece.text }
        }
        text += "\u{1B}[0m"
        if let (row, column) = page.cursor, row < Page.rows(in: size), column + 1 < size.columns {
            text += "\u{1B}[\(row + 3);\(column + 2)H\u{1B}[?25h"
        }
        text += "\u{1B}[?2026l"
        if text != shown { output(text) }
        shown = text
        return true
    }

    // MARK: Doing

    /// Does something that takes its time, while the page stays alive. Esc ends the waiting. What went wrong is shown
    /// as the message.
    ///
    /// - parameter what: shown meanwhile, such as `Saving…`.
    /// - parameter isWrite: whether it ends with a write to the database, which goes on when nobody waits for it.
    /// - returns: whether it was done.
    /// - throws: ``Quit`` for Ctrl-C.
    @discardableResult
    public func perform(
        _ what: String, isWrite: Bool = false, _ work: @escaping @MainActor () async throws -> Void
    ) async throws -> Bool {
        switch try await attempt(what, isWrite: isWrite, work) {
        case nil: return true
        case let error?:
            message = Line(Problem.text(of: error), .wrong)
            return false
        }
    }

    /// The same; the error is for the caller to show.
    func attempt(
        _ what: String, isWrite: Bool, _ work: @escaping @MainActor () async throws -> Void
    ) async throws -> (any Error)? {
        let task = Task { @MainActor [post] in
            defer { post(.finished) }
            try await work()
        }
        defer { task.cancel() }
        message = Line(what, .faint)
        while true {
            render()
            switch try await nextEvent() {
            case .key(.escape): task.cancel()
            case .key(let key): waitingKeys.append(key)
            case .resized, .changed: break
            case .finished:
                message = nil
                switch await task.result {
                case .success: return nil
                case .failure(DatabaseError.cancelled) where isWrite:
                    message = "The server has not answered yet; it is told as soon as there is a connection."
                    return nil
                case .failure(let error): return error
                }
            }
        }
    }
}

extension Terminal {
    /// Gives it an event as if a thread had: for tests.
    func receive(_ event: Event) { post(event) }

    /// Ends its input: for tests.
    func hangUp() { end() }
}
