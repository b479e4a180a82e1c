import HearthDatabaseScheduler
import HearthTestSupport
import Testing

struct QueueTests {
    @Test("does what an array does", arguments: 0..<50 as Range<UInt64>)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = Queue<Int>()
        var model: [Int] = []
        for step in 0..<300 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                queue.append(step)
                model.append(step)
            case 4..<5:
                queue.prepend(step)
                model.insert(step, at: 0)
            case 5:
                let unwanted = Int.random(in: 2...5, using: &random)
                queue.removeAll { $0.isMultiple(of: unwanted) }
                model.removeAll { $0.isMultiple(of: unwanted) }
            case 6:
                let element = model.randomElement(using: &random) ?? -1
                let wasThere = queue.remove(element)
                #expect(wasThere == model.contains(element), "seed \(seed)")
                if let index = model.firstIndex(of: element) { model.remove(at: index) }
            case 7:
                queue.update { $0 += 1 }
                model = model.map { $0 + 1 }
            default:
                let first = queue.takeFirst()
                #expect(first == model.first, "seed \(seed)")
                model = Array(model.dropFirst())
            }
            #expect(queue.first == model.first && queue.count == model.count && queue.isEmpty == model.isEmpty)
        }
    }
}
