// Its mutex is part of what is inlined.
public import Synchronization

/// One thread with a mailbox: all work posted while it was busy is passed to it as one batch. This is how a thread that
/// owns something (a database, a log) is reached from the event loops and from other workers.
///
/// Inlinable, so that it is compiled for the items of each module: each batch would look up their type otherwise.
@usableFromInline package final class Worker<Item: Sendable>: Sendable {
    /// Handles one batch, in the order of posting. It may take the array; remaining elements are dropped.
    @usableFromInline package typealias Body = (_ batch: inout [Item]) -> Void

    @usableFromInline
    struct Mailbox {
        @usableFromInline var items: [Item] = []
        /// The thread waits, or is about to wait, for the semaphore. The thread that clears this posts it, exactly
        /// once.
        @usableFromInline var isAsleep = false
        @usableFromInline var isStopping = false

        @inlinable
        init() {}
    }

    @usableFromInline
    final class Shared: Sendable {
        @usableFromInline let mailbox = Mutex(Mailbox())
        @usableFromInline let wakeUp = Semaphore()

        @inlinable
        init() {}
    }

    @usableFromInline let shared = Shared()
    @usableFromInline let thread: NamedThread
    @usableFromInline let capacity: Int

    /// Starts the thread.
    ///
    /// - parameter capacity: how many items may wait; a post that finds this many or more is refused.
    /// - parameter makeBody: runs first on the new thread and returns the handler of batches, so the state that the
    ///   handler captures belongs to that thread and need not be `Sendable`.
    @inlinable
    package init(
        name: String, priority: NamedThread.Priority = .normal, capacity: Int = .max,
        makeBody: @escaping @Sendable () -> Body
    ) throws(SystemError) {
        self.capacity = capacity
        let shared = shared
        thread = try NamedThread(name: name, priority: priority) { Worker.run(shared, makeBody()) }
    }

    /// Hands items to the thread; posts of one thread keep their order. Never waits.
    ///
    /// - returns: false if nothing was taken, because the mailbox is full or the worker was told to stop. A batch is
    ///   taken whole or not at all, and may exceed the capacity by its size.
    @inlinable
    @discardableResult
    package func post(_ items: [Item]) -> Bool {
        items.isEmpty || put(capacity: capacity) { if $0.isEmpty { $0 = items } else { $0.append(contentsOf: items) } }
    }

    /// Hands one item to the thread, as `post(_:)` with several.
    @inlinable
    @discardableResult
    package func post(_ item: Item) -> Bool { put(capacity: capacity) { $0.append(item) } }

    /// Hands over one item however many wait: for news that is not told again.
    ///
    /// - returns: false if the worker was told to stop.
    @inlinable
    @discardableResult
    package func postBeyondCapacity(_ item: Item) -> Bool { put(capacity: .max) { $0.append(item) } }

    /// How many items wait; those of the batch under way are not among them.
    package var waitingCount: Int { shared.mailbox.withLock { $0.items.count } }

    /// The thread has done all that was posted, and waits.
    package var isAtRest: Bool { shared.mailbox.withLock { $0.isAsleep } }

    /// Refuses further posts, lets the thread finish posted work, and waits for its end. Not from its own thread.
    package func stop() {
        requestStop()
        thread.join()
    }

    // The thread itself keeps `shared` alive; without an owner no more posts are possible, so it is released.
    deinit { requestStop() }

    private func requestStop() {
        let wasAsleep = shared.mailbox.withLock { mailbox in
            mailbox.isStopping = true
            defer { mailbox.isAsleep = false }
            return mailbox.isAsleep
        }
        if wasAsleep { shared.wakeUp.signal() }
    }

    @inlinable
    func put(capacity: Int, _ append: (inout [Item]) -> Void) -> Bool {
        let (taken, wasAsleep) = shared.mailbox.withLock { mailbox in
            if mailbox.isStopping || mailbox.items.count >= capacity { return (false, false) }
            append(&mailbox.items)
            defer { mailbox.isAsleep = false }
            return (true, mailbox.isAsleep)
        }
        if wasAsleep { shared.wakeUp.signal() }
        return taken
    }

    @inlinable
    static func run(_ shared: Shared, _ body: Body) {
        var batch: [Item] = []
        while true {
            let isStopping = shared.mailbox.withLock { mailbox in
                // The emptied array goes back as the next mailbox, so a busy worker allocates nothing.
                swap(&mailbox.items, &batch)
                mailbox.isAsleep = batch.isEmpty && !mailbox.isStopping
                return mailbox.isStopping
            }
            if !batch.isEmpty {
                body(&batch)
                batch.removeAll(keepingCapacity: batch.capacity <= 4096)
            } else if isStopping {
                return
            } else {
                shared.wakeUp.wait()
            }
        }
    }
}
