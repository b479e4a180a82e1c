import HearthTestSupport
import Testing

import HearthBench

@Suite("Latency histogram")
struct LatencyHistogramTests {
    @Test("is empty at first")
    func empty() {
        let histogram = LatencyHistogram()
        #expect(histogram.count == 0)
        #expect(histogram.max == 0)
        #expect(histogram.percentile(0.99) == 0)
    }

    @Test("knows small latencies exactly, by nearest rank")
    func smallValues() {
        var histogram = LatencyHistogram()
        for value in 1...100 { histogram.add(nanoseconds: Int64(value)) }
        #expect(histogram.percentile(0) == 1)
        #expect(histogram.percentile(0.5) == 50)
        #expect(histogram.percentile(0.9) == 90)
        #expect(histogram.percentile(0.999) == 100)
        #expect(histogram.percentile(1) == 100)
    }

    @Test("never says less than the latency and at most 1/64 more", arguments: [1, 2, 3, 0xC0FFEE] as [UInt64])
    func agreesWithSorting(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var histogram = LatencyHistogram()
        var values: [Int64] = []
        for _ in 0..<2_000 {
            let value = Int64.random(in: 0..<(1 << Int64.random(in: 1...40, using: &random)), using: &random)
            values.append(value)
            histogram.add(nanoseconds: value)
        }
        values.sort()
        for share in [0.01, 0.5, 0.9, 0.99, 0.999, 1] {
            let exact = values[max(0, Int((share * 2_000).rounded(.up)) - 1)]
            let found = histogram.percentile(share)
            #expect(found >= exact, "seed \(seed), share \(share)")
            #expect(found <= exact + exact / 64 + 1, "seed \(seed), share \(share)")
        }
        #expect(histogram.max == values.last, "seed \(seed)")
    }

    @Test("keeps what does not fit in the last bucket, with its exact maximum")
    func beyondTheLastBucket() {
        var histogram = LatencyHistogram()
        histogram.add(nanoseconds: .max)
        histogram.add(nanoseconds: -5)
        #expect(histogram.count == 2)
        #expect(histogram.max == .max)
        #expect(histogram.percentile(0.5) == 0)
    }

    @Test("adds up with another as if all had been added to one")
    func addingUp() {
        var one = LatencyHistogram()
        var other = LatencyHistogram()
        var both = LatencyHistogram()
        for value in stride(from: 7 as Int64, to: 3_000_000, by: 997) {
            if value.isMultiple(of: 2) { one.add(nanoseconds: value) } else { other.add(nanoseconds: value) }
            both.add(nanoseconds: value)
        }
        one.add(other)
        #expect(one == both)
    }
}
