/// Messages in the order of their times; those of one time in the order in which they were added.
struct MessageQueue<Message> {
    private var heap: [(time: Int64, number: Int, message: Message)] = []
    private var count = 0

    mutating func add(_ message: Message, at time: Int64) {
        count += 1
        heap.append((time, count, message))
        var index = heap.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Nil if there is none before or at this time.
    mutating func next(upTo end: Int64) -> (time: Int64, message: Message)? {
        guard let first = heap.first, first.time <= end else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return (first.time, first.message)
    }

    mutating func removeAll(where isUnwanted: (Message) -> Bool) {
        heap.removeAll { isUnwanted($0.message) }
        for index in heap.indices.reversed() { sink(index) }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && precedes(child, least) {
                least = child
            }
            if least == index { return }
            heap.swapAt(index, least)
            index = least
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
    }
}
