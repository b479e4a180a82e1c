import HearthSystem
import Testing

@Suite("Histograms")
struct HistogramTests {
    @Test("a value counts at the first bound that it does not exceed, or beyond all of them")
    func bounds() {
        var histogram = Histogram(.init([10, 20]))
        for value in [0, 10, 11, 20, 21, 1000] { histogram.add(Int64(value)) }
        #expect(histogram.counts == [2, 2, 2])
        #expect(histogram.sum == 1062)
        #expect(histogram.count == 6)
    }

    @Test("histograms of several threads add up")
    func merging() {
        var (a, b) = (Histogram(.counts), Histogram(.counts))
        a.add(1)
        b.add(3)
        b.add(5000)
        a.merge(b)
        #expect(a.count == 3)
        #expect(a.sum == 5004)
        #expect(a.counts.last == 1)
    }
}
