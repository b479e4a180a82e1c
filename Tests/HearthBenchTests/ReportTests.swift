import Testing

import HearthBench

@Suite("Report")
struct ReportTests {
    private static func measurement(rate: Int, cpu: Double, latency: Int64, memory: [Int] = []) -> Measurement {
        var histogram = LatencyHistogram()
        histogram.add(nanoseconds: latency)
        return Measurement(
            operations: rate * 2, seconds: 2, latency: histogram, targetCPUSeconds: cpu, loadCPUSeconds: 0.5,
            foreignShare: 0.03, memoryKiB: memory)
    }

    private static let result = BenchResult(
        benchmark: "write", title: "sets", parameters: [("durability", "full"), ("rounds", "3")],
        runs: [
            .init(
                target: "floor", unit: "writes",
                rounds: [
                    measurement(rate: 100_000, cpu: 1, latency: 100), measurement(rate: 300_000, cpu: 3, latency: 120),
                    measurement(rate: 200_000, cpu: 2, latency: 127),
                ])
        ],
        findings: [Finding(name: "ratio", rounds: [0.5, 0.35, 0.41], goal: .atLeast(0.4))])

    @Test("text gives medians, percentiles and the verdict")
    func text() {
        #expect(
            TextReport.text(Self.result) == """
                write: sets
                  durability full, rounds 3
                  floor: 200,000 writes/s, 5.00 CPU s per million, generator 25 % of a CPU, others 3 % of the target's
                    latency p50 120 ns, p90 127 ns, p99 127 ns, p99.9 127 ns, max 127 ns
                  ratio: 0.41 (0.35 to 0.50), target >= 0.40: reached

                """)
    }

    @Test("a missed target is said loudly")
    func missed() {
        var result = Self.result
        result.runs = []
        result.findings = [Finding(name: "memory", unit: " KiB", rounds: [4.5], goal: .atMost(4))]
        #expect(TextReport.text(result).contains("  memory: 4.50 KiB, target <= 4.00: MISSED\n"))
    }

    @Test("memory over time is thinned out, with its last value and its maximum")
    func memory() {
        var result = Self.result
        let samples = (1...60).map { $0 * 1024 } + [30 * 1024]
        result.runs[0].rounds = [Self.measurement(rate: 1, cpu: 1, latency: 1, memory: samples)]
        #expect(
            TextReport.text(result).contains(
                "    memory 1.0 9.0 17.0 25.0 33.0 41.0 49.0 57.0 30.0 MiB over time, at most 60.0 MiB\n"))
    }

    @Test("JSON is one object on one line")
    func json() {
        var result = Self.result
        result.title = "\"quoted\"\n"
        result.runs[0].rounds = [Self.measurement(rate: 100_000, cpu: 1, latency: 100, memory: [2048])]
        var machine = Machine(BenchSettings())
        machine.facts = [("cpu", "some")]
        #expect(
            JSONReport.line(result, on: machine) == #"{"benchmark":"write","title":"\"quoted\"\n","#
                + #""machine":{"cpu":"some"},"parameters":{"durability":"full","rounds":"3"},"#
                + #""targets":[{"name":"floor","unit":"writes","perSecond":100000.0,"perSecondByRound":[100000.0],"#
                + #""latencyNanoseconds":{"p50":100,"p90":100,"p99":100,"p99.9":100,"max":100},"#
                + #""cpuSecondsPerMillion":5.0,"generatorCPUShare":0.25,"foreignCPUShare":0.03,"residentKiB":[2048]}],"#
                + #""findings":[{"name":"ratio","value":0.41,"unit":"","rounds":[0.5,0.35,0.41],"atLeast":0.4,"isReached":true}]}"#
        )
    }

    @Test("ratios are taken round by round")
    func ratios() {
        let floors = [100, 400, 200].map { Self.measurement(rate: $0, cpu: 1, latency: 1) }
        let servers = [50, 100, 80].map { Self.measurement(rate: $0, cpu: 1, latency: 1) }
        let findings = Finding.rates("writes", servers, over: floors, .atLeast(0.4))
        #expect(findings[0].rounds == [0.5, 0.25, 0.4])
        #expect(findings[0].value == 0.4)
        #expect(findings[0].isReached == true)
        #expect(findings[1].isReached == nil)
    }

    @Test(
        "numbers read well",
        arguments: [
            (Numeral.grouped(0), "0"), (Numeral.grouped(999), "999"), (Numeral.grouped(-1_234_567), "-1,234,567"),
            (Numeral.fixed(0.995, 2), "1.00"), (Numeral.fixed(1234.5, 1), "1,234.5"), (Numeral.fixed(-0.04, 1), "0.0"),
            (Numeral.fixed(2.05, 2), "2.05"), (Numeral.fixed(7.6, 0), "8"), (Numeral.percent(0.256), "26 %"),
            (Numeral.duration(nanoseconds: 999), "999 ns"), (Numeral.duration(nanoseconds: 1_500), "1.50 µs"),
            (Numeral.duration(nanoseconds: 12_345_678), "12.3 ms"),
            (Numeral.duration(nanoseconds: 123_456_789), "123 ms"),
            (Numeral.duration(nanoseconds: 2_000_000_000), "2.00 s"), (Numeral.mebibytes(1536), "1.5 MiB"),
        ])
    func numbers(found: String, expected: String) {
        #expect(found == expected)
    }

    @Test("a median of an even number of rounds lies between the middle two")
    func medians() {
        #expect([Double]().median == 0)
        #expect([3, 1, 2].median == 2)
        #expect([4, 1, 2, 3].median == 2.5)
    }

    @Test(
        "addresses are read from ready lines and URLs",
        arguments: [
            ("hearth: ready on 127.0.0.1:9000", IPv4Address(port: 9000)), ("floor: starting", nil),
            (String(ReadyLine.text(port: 77).dropLast()), IPv4Address(port: 77)), ("ready on 127.0.0.1:70000", nil),
        ])
    func readyLines(line: String, address: IPv4Address?) {
        #expect(ReadyLine.address(in: line) == address)
    }

    @Test(
        "URLs of running servers",
        arguments: [
            ("ws://127.0.0.1:9000", true), ("http://127.0.0.1:9000/", true), ("127.0.0.1:9000", true),
            ("localhost:9000", false), ("127.0.0.1", false), ("", false),
        ])
    func urls(text: String, isValid: Bool) {
        #expect((IPv4Address(text) == IPv4Address(port: 9000)) == isValid)
    }
}
