import HearthClient
import Observation

/// Thrown through all screens when the user wants to leave the program, or the terminal is gone.
public struct Quit: Error {
    /// The wish to leave.
    public init() {}
}

/// The terminal of a program with a live screen.
///
/// A closure draws a page from view models. The `@Observable` members that it reads are watched: when one changes, the
/// page is drawn again. So view models need no callbacks.
///
/// Screens are functions that show pages, one after the other, until they return; a screen that leads to another calls
/// it. Models and screens run on the main actor.
@MainActor
public final class Terminal {
    enum Event: Sendable {
        case key(Key)
        case resized
        /// What the page was drawn from, the time of this number, has changed.
        case changed(Int)
        /// What `perform` waits for is done.
        case finished
        /// The terminal is gone.
        case end
    }

    /// Shown above the hints until the next key.
    public var message: Line? { didSet { post(.changed(drawn)) } }
    /// Shown at the right end of the title, for states of the whole program.
    public var badge: (@MainActor () -> Line?)?
    /// A question before the user quits or signs out by a key of a list; nil to ask nothing. Ctrl-C quits without.
    public var leaving: (@MainActor () -> String?)?

    private(set) var size: Size
    /// Gives it an event, from any thread.
    let post: @Sendable (Event) -> Void
    private let events: AsyncStream<Event>
    private let measure: () -> Size
    private let output: (String) -> Void
    private let pause: () -> Void
    private(set) var currentPage: @MainActor (Size) -> Page? = { _ in nil }
    /// Keys that came while something was done.
    private var waitingKeys: [Key] = []
    private var shown = ""
    private var drawn = 0

    /// A terminal that is given events, and writes with `output`.
    ///
    /// - parameter pause: lets the shell have the terminal, until it lets the program go on.
    init(size: @escaping () -> Size, pause: @escaping () -> Void = {}, output: @escaping (String) -> Void) {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        (self.events, post) = (events, { continuation.yield($0) })
        (self.size, measure, self.pause, self.output) = (size(), size, pause, output)
    }

    // MARK: Showing

    /// Shows a page, draws it again whenever its data has changed, and passes on keys until one gives a result.
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
            let event = try await waitingKeys.isEmpty ? nextEvent() : .key(waitingKeys.removeFirst())
            guard case .key(let key) = event else { continue }
            message = nil
            if let result = try await press(key) { return result }
        }
    }

    /// The next event after which something may have to be drawn.
    private func nextEvent() async throws -> Event {
        var iterator = events.makeAsyncIterator()
        while let event = await iterator.next(isolation: MainActor.shared) {
            switch event {
            case .end, .key(.control("c")): throw Quit()
            case .changed(let number) where number != drawn: continue
            case .key(.control("z")): pause()
            case .resized: size = measure()
            default: return event
            }
            shown = ""
            return .resized
        }
        throw Quit()
    }

    /// Draws the page; false if it no longer exists.
    @discardableResult
    private func render() -> Bool {
        drawn += 1
        // Called before the change; the event is read after it.
        let (page, mark) = withObservationTracking {
            (currentPage(size), badge?())
        } onChange: { [post, drawn] in
            post(.changed(drawn))
        }
        guard let text = page?.sequence(in: size, badge: mark, message: message) else { return false }
        if text != shown { output(text) }
        shown = text
        return true
    }

    // MARK: Doing

    /// Does something that takes its time, while the page stays alive. Esc ends the waiting. What went wrong is shown
    /// as the message.
    ///
    /// - parameter what: shown meanwhile, such as `Saving…`.
    /// - parameter isWrite: whether it ends with a write to the database, which continues when the user no longer waits
    ///   for it.
    /// - returns: whether it was done.
    /// - throws: ``Quit`` for Ctrl-C.
    @discardableResult
    public func perform(
        _ what: String, isWrite: Bool = false, _ work: @escaping @MainActor () async throws -> Void
    ) async throws -> Bool {
        guard let error = try await attempt(what, isWrite: isWrite, work) else { return true }
        message = Line(Problem.text(of: error), .wrong)
        return false
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
            case .finished:
                message = nil
                do { try await task.value } catch DatabaseError.cancelled where isWrite {
                    message = "The server has not answered yet; it is told as soon as there is a connection."
                } catch { return error }
                return nil
            default: break
            }
        }
    }
}
