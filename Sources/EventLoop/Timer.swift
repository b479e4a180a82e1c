import HearthSystem

/// A deadline on a loop. Only the loop's thread may touch it; made by `EventLoop.makeTimer`.
///
/// Moving the deadline further away, as every message of a healthy connection does, costs two stores: the heap keeps
/// the old place and corrects it when that comes up.
package final class Timer {
    /// The index of a timer that is not in the heap.
    fileprivate static let nowhere = -1

    private let heap: TimerHeap
    fileprivate var action: (() -> Void)?
    /// When the timer is due; `.max` while it is not armed.
    fileprivate(set) var deadline = Int64.max
    /// The deadline by which the heap sorts it, never later than `deadline`.
    fileprivate var sortedBy = Int64.max
    /// Orders timers of one deadline by when they were put in the heap.
    fileprivate var sequence: UInt64 = 0
    fileprivate var index = Timer.nowhere

    init(in heap: TimerHeap, action: @escaping () -> Void) {
        self.heap = heap
        self.action = action
    }

    package var isArmed: Bool { deadline != .max }

    /// Sets the deadline to `delay` after the current turn's start, whether or not the timer was armed. It fires at
    /// the first turn after that, up to 10 ms late on an idle loop, and never within the current turn.
    package func arm(after delay: Duration) {
        heap.thread.assertIsCurrent()
        guard action != nil else { return }
        heap.arm(self, at: (heap.now + max(delay, .nanoseconds(1))).nanoseconds)
    }

    /// Takes the deadline away; the timer can be armed again.
    package func disarm() {
        heap.thread.assertIsCurrent()
        heap.remove(self)
    }

    /// Ends the timer and releases its action with its captures.
    package func cancel() {
        disarm()
        action = nil
    }

    func fire() { action?() }
}

/// The armed timers of a loop: a binary heap in which every timer knows its place.
final class TimerHeap {
    fileprivate let thread: LoopThread
    /// When the current turn began.
    var now = MonotonicTime.current
    private var heap: [Timer] = []
    private var sequence: UInt64 = 0

    init(of thread: LoopThread) { self.thread = thread }

    /// The earliest moment at which something may be due, in nanoseconds; `.max` if nothing is armed.
    var earliest: Int64 { heap.first?.sortedBy ?? .max }

    fileprivate func arm(_ timer: Timer, at moment: Int64) {
        let deadline = min(moment, .max - 1)
        timer.deadline = deadline
        if timer.index == Timer.nowhere {
            timer.index = heap.count
            heap.append(timer)
        } else if deadline >= timer.sortedBy {
            return
        }
        sort(timer, by: deadline)
        siftUp(timer.index)
    }

    fileprivate func remove(_ timer: Timer) {
        timer.deadline = .max
        let index = timer.index
        guard index != Timer.nowhere else { return }
        timer.index = Timer.nowhere
        let last = heap.removeLast()
        guard last !== timer else { return }
        heap[index] = last
        last.index = index
        siftUp(index)
        siftDown(last.index)
    }

    /// Takes out the next timer that is due at `now`, disarmed, or nil.
    func popDue(at now: Int64) -> Timer? {
        while let first = heap.first, first.sortedBy <= now {
            if first.deadline == first.sortedBy {
                remove(first)
                return first
            }
            sort(first, by: first.deadline)
            siftDown(0)
        }
        return nil
    }

    /// Lets go of all timers.
    func removeAll() { heap = [] }

    private func sort(_ timer: Timer, by deadline: Int64) {
        timer.sortedBy = deadline
        timer.sequence = sequence
        sequence &+= 1
    }

    private func precedes(_ left: Timer, _ right: Timer) -> Bool {
        left.sortedBy != right.sortedBy ? left.sortedBy < right.sortedBy : left.sequence < right.sequence
    }

    private func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard precedes(heap[index], heap[parent]) else { return }
            exchange(index, parent)
            index = parent
        }
    }

    private func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = 2 * index + 1
            guard least < heap.count else { return }
            if least + 1 < heap.count, precedes(heap[least + 1], heap[least]) { least += 1 }
            guard precedes(heap[least], heap[index]) else { return }
            exchange(index, least)
            index = least
        }
    }

    private func exchange(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        heap[left].index = left
        heap[right].index = right
    }
}
