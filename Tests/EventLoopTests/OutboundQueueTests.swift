import HearthEventLoop
import HearthTestSupport
import Testing

@Suite("An outbound queue")
struct OutboundQueueTests {
    private let pool = BufferPool()
    private let scratch = [UInt8](repeating: 0, count: 4096)

    private func head(_ queue: OutboundQueue, gatherMax: Int = 4096) -> [UInt8] {
        var scratch = scratch
        return scratch.withUnsafeMutableBytes { room in queue.withHead(gatheringIn: room, gatherMax) { [UInt8]($0) } }
    }

    @Test("joins consecutive ranges of one array")
    func consecutiveRanges() {
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        let array = SharedBytes(bytes, in: nil)
        var queue = OutboundQueue()
        queue.append(shared: array, 0..<3000, pool: pool)
        queue.append(shared: array, 3000..<3001, pool: pool)
        queue.append(shared: array, 3001..<5000, pool: pool)
        // One piece is offered where it lies, however large it is; several would be cut at the limit.
        #expect(head(queue, gatherMax: 10) == bytes)
    }

    @Test("does not take a range of another array for the next one")
    func otherArray() {
        let first = [UInt8](repeating: 1, count: 100)
        let second = [UInt8](repeating: 2, count: 200)
        var queue = OutboundQueue()
        queue.append(shared: SharedBytes(first, in: nil), 0..<100, pool: pool)
        queue.append(shared: SharedBytes(second, in: nil), 100..<200, pool: pool)
        #expect(head(queue) == first + second[100...])
    }

    @Test("leaves shared arrays as they are when bytes are added after them")
    func sharedArraysStay() {
        let shared = SharedBytes([UInt8](repeating: 7, count: 10), in: nil)
        var queue = OutboundQueue()
        var other = OutboundQueue()
        for _ in 0..<2 { queue.append(shared: shared, 0..<10, pool: pool) }
        other.append(shared: shared, 0..<10, pool: pool)
        [1, 2, 3].withUnsafeBufferPointer { queue.append(copying: $0, pool: pool) }
        #expect(head(other) == [UInt8](repeating: 7, count: 10))
        #expect(head(queue) == [UInt8](repeating: 7, count: 20) + [1, 2, 3])
    }

    @Test("holds little more memory than the bytes that wait, once the receiver takes nothing")
    func detaching() {
        // A small part of a new array each time, as of the deliveries of many turns.
        func array(_ step: Int) -> [UInt8] { [UInt8](repeating: UInt8(step), count: 1 << 20) }
        let range = 5000..<15_000
        var queue = OutboundQueue()
        var expected: [UInt8] = []
        for step in 0..<40 {
            if step == 20 { queue.detach(pool: pool) }
            queue.append(shared: SharedBytes(array(step), in: nil), range, isBlocked: step >= 20, pool: pool)
            expected += array(step)[range]
        }
        #expect(queue.heldBytes < 8 * queue.byteCount)
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: expected.count, alignment: 1)
        defer { scratch.deallocate() }
        #expect(queue.withHead(gatheringIn: scratch, expected.count) { $0.elementsEqual(expected) })
        queue.consume(expected.count, pool: pool)

        // A large part stays where it is until little of it is left.
        let large = SharedBytes(array(1), in: nil)
        queue.append(shared: large, 0..<large.count, isBlocked: true, pool: pool)
        queue.detach(pool: pool)
        #expect(queue.heldBytes >= large.count)
        queue.consume(large.count - 1000, pool: pool)
        queue.detach(pool: pool)
        #expect(queue.heldBytes < 8192)
        #expect(head(queue) == [UInt8](repeating: 1, count: 1000))
    }

    @Test("gives back the bytes in order, however they were added and taken", arguments: 1...8 as ClosedRange<UInt64>)
    func agreesWithModel(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let memory = OutboundMemory()
        let arrays = (0..<3).map { _ in
            SharedBytes((0..<12_000).map { _ in UInt8.random(in: 0...255, using: &random) }, in: memory)
        }
        var queue = OutboundQueue()
        var model: [UInt8] = []
        var cursor = 0
        for step in 0..<1500 {
            let size = [3, 300, 2049, 7000].randomElement(using: &random)!
            let count = Int.random(in: 0...size, using: &random)
            let array = arrays.randomElement(using: &random)!
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1:
                if cursor + count > array.count { cursor = 0 }
                let isBlocked = Bool.random(using: &random)
                queue.append(shared: array, cursor..<cursor + count, isBlocked: isBlocked, pool: pool)
                if Int.random(in: 0..<4, using: &random) == 0 { queue.detach(pool: pool) }
                model += array.bytes[cursor..<cursor + count]
                cursor += count
            case 2, 3:
                array.bytes[..<count].withUnsafeBufferPointer { queue.append(copying: $0, pool: pool) }
                model += array.bytes[..<count]
            case 4, 5, 6:
                let offered = head(queue, gatherMax: Int.random(in: 1...4096, using: &random))
                let isRight = offered.isEmpty == model.isEmpty && model.starts(with: offered)
                try #require(isRight, "seed \(seed) step \(step)")
                let isTakenWhole = Bool.random(using: &random)
                let taken = isTakenWhole ? offered.count : Int.random(in: 0...offered.count, using: &random)
                queue.consume(taken, pool: pool)
                model.removeFirst(taken)
            default:
                guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
                queue.removeAll(pool: pool)
                model = []
            }
            try #require(queue.byteCount == model.count, "seed \(seed) step \(step)")
            if model.isEmpty { try #require(queue.ownBytes == 0, "seed \(seed) step \(step)") }
        }
    }

    @Test("counts shared bytes once, from the moment when somebody cannot send them until everybody has let go")
    func waiting() {
        let memory = OutboundMemory(bytesMax: 100_000)
        var shared: SharedBytes? = SharedBytes([UInt8](repeating: 1, count: 200_000), in: memory)
        var queues = (0..<1000).map { _ in OutboundQueue() }
        for index in queues.indices { queues[index].append(shared: shared!, 0..<200_000, pool: pool) }
        #expect(memory.bytesUsed == 0)
        for index in queues.indices { queues[index].detach(pool: pool) }
        #expect((200_000..<400_000).contains(memory.bytesUsed))
        #expect(memory.isExceeded)
        shared = nil
        for index in queues.indices.dropFirst() { queues[index].consume(200_000, pool: pool) }
        #expect(memory.isExceeded)
        // Its last part is copied, so the rest is free.
        queues[0].consume(199_000, pool: pool)
        queues[0].detach(pool: pool)
        #expect(memory.bytesUsed == 0)
        #expect(queues[0].ownBytes == 1000)

        // What comes while it is blocked counts at once.
        queues[1].append(
            shared: SharedBytes([UInt8](repeating: 2, count: 50_000), in: memory), 0..<50_000, isBlocked: true,
            pool: pool)
        #expect(memory.bytesUsed >= 50_000)
        queues[1].removeAll(pool: pool)
        #expect(memory.bytesUsed == 0)
        let claim = OutboundClaim(in: memory)
        claim.resize(to: 70_000)
        claim.resize(to: 30_000)
        #expect(memory.bytesUsed == 30_000)
    }
}
