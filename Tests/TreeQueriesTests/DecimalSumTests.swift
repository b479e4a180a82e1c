import HearthJSONTree
import HearthTestSupport
import HearthTreeQueries
import Testing

@Suite("Sums of decimal numbers")
struct DecimalSumTests {
    private func sum(_ numbers: [Double]) -> Double? {
        var sum = DecimalSum()
        for number in numbers { sum.add(JSONNumber(number)) }
        return sum.number?.double
    }

    @Test("are exact, and independent of the order")
    func exact() {
        #expect(sum([0.1, 0.2]) == 0.3)
        #expect(sum([0.1, 0.2, -0.3]) == 0)
        #expect(sum([1e15, 0.25, -1e15]) == 0.25)
        #expect(sum([1e-7, 1e22]) == 1e22)
        #expect(sum([1.5e300, -1.5e300]) == 0)
        #expect(sum([1e308, 1e308]) == nil)
        var whole = DecimalSum(.integer(.max))
        whole.subtract(.integer(1))
        #expect(whole.number == .integer(.max - 1))
        whole.add(.integer(.max))
        #expect(whole.number == .double(1.8446744073709552e19))
    }

    private static let wide: [Double] = [1e300, 1e308, 1e308, -.leastNonzeroMagnitude, 123456789.125]

    @Test("forget what was added and subtracted again, however large or small it was")
    func forgetting() {
        var sum = DecimalSum(.integer(3))
        for number in Self.wide { sum.add(JSONNumber(number)) }
        #expect(sum.number == nil)
        for number in Self.wide { sum.subtract(JSONNumber(number)) }
        #expect(sum.number == .integer(3))
        #expect(sum == DecimalSum(.integer(3)))
        sum.subtract(.integer(3))
        #expect(sum.isZero)
        #expect(sum == DecimalSum())
        #expect(sum.number == .integer(0))
        #expect(self.sum([1e296, -1e288 * 99_999_999, 3]) == 1e288)
        #expect(self.sum([-1e296, 1e288, 3]) == -9.9999999e295)
        #expect(self.sum([-0.1, 1e20]) == 1e20)
        #expect(self.sum([.init(Int64.min), 0]) == -9_223_372_036_854_775_808)
    }

    @Test("are the same after they were stored")
    func stored() throws {
        var sum = DecimalSum()
        #expect(DecimalSum(stored: sum.stored) == sum)
        for number in [-0.001, 1e16, 3 * .leastNonzeroMagnitude, -1e300, 2e300, -5e299, 1e308, 1e308] {
            sum.add(JSONNumber(number))
            let read = try #require(DecimalSum(stored: sum.stored))
            #expect(read == sum && read.stored == sum.stored && read.isNegative == sum.isNegative)
            var other = DecimalSum()
            other.subtract(JSONNumber(1))
            other.add(sum)
            other.add(JSONNumber(1))
            #expect(other.stored == sum.stored)
        }
        for bytes in [[0], [0, 128], [2, 128, 0, 0, 0, 1], [0, 128, 255, 0, 0, 0], [0, 128, 0, 0, 1]] as [[UInt8]] {
            #expect(DecimalSum(stored: bytes).map(\.isZero) ?? true)
        }
    }

    @Test("agree with whole numbers of hundredths", arguments: 0..<20)
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var sum = DecimalSum()
        var hundredths: Int64 = 0
        for _ in 0..<1000 {
            let value = Int64.random(in: -1_000_000_000...1_000_000_000, using: &random)
            let number = JSONNumber(Double(value) / 100)
            if Bool.random(using: &random) {
                sum.add(number)
                hundredths += value
            } else {
                // As a total that is stored between two writes.
                var stored = DecimalSum(sum.number ?? .integer(0))
                stored.subtract(number)
                sum = stored
                hundredths -= value
            }
        }
        #expect(sum.number?.double == Double(hundredths) / 100, "seed \(seed)")
    }
}
