import HearthExampleKit
import HearthExampleTerminal
import HearthTestSupport
import Testing

@testable import HearthStudyPlaces

@Suite("The map")
struct PlaceMapTests {
    private typealias Mark = PlaceMap.Mark

    private func mark(_ latitude: Double, _ longitude: Double, _ symbol: Character, _ label: String = "") -> Mark {
        Mark(latitude: latitude, longitude: longitude, symbol: symbol, label: label, styles: [])
    }

    private func drawn(_ marks: [Mark], _ columns: Int, _ rows: Int) -> [String] {
        PlaceMap(marks, size: (columns, rows)).lines.map(\.text)
    }

    @Test("has north above and east on the right")
    func directions() {
        let marks = [mark(1, 0, "N"), mark(-1, 0, "S"), mark(0, 1, "E"), mark(0, -1, "W")]
        #expect(drawn(marks, 9, 5) == ["    N    ", "         ", "W       E", "         ", "    S    "])
    }

    @Test("has the same scale in both directions, whatever its shape, and shrinks with the meridians")
    func scale() {
        let square = [mark(0, 0, "a"), mark(0, 1, "b"), mark(1, 0, "c")]
        #expect(drawn(square, 9, 3) == ["  c      ", "         ", "  a   b  "])
        #expect(drawn(square, 3, 5) == ["   ", "c  ", "a b", "   ", "   "])
        let north = [mark(60, 0, "a"), mark(60, 1, "b"), mark(61, 0, "c")]
        let rows = drawn(north, 21, 9)
        let bottom = Array(rows[8])
        let right = (bottom.firstIndex(of: "b") ?? 0) - (bottom.firstIndex(of: "a") ?? 0)
        #expect(rows[0].contains("c"), "one degree there is half as far to the east as to the north")
        #expect(right == 8, "one degree there is half as far to the east as to the north")
    }

    @Test("writes labels where they fit")
    func labels() {
        #expect(drawn([mark(0, 0, "*", "here"), mark(0, 1, "o", "there")], 20, 1) == ["* here       there o"])
        let long = mark(0, 2, "o", "much too long to be written")
        #expect(drawn([mark(0, 0, "*", "a"), long], 12, 1) == ["* a        o"])
        #expect(drawn([mark(0, 0, "*", "中 x")], 7, 1) == ["   *   "])
        #expect(drawn([mark(0, 0, "*", "中 x")], 11, 1) == ["     * ? x "])
    }

    @Test("shows everything, however close together")
    func crowd() {
        let marks = "abcdef".map { mark(48, 11, $0) }
        let text = drawn(marks, 5, 3).joined()
        for mark in marks { #expect(text.contains(mark.symbol)) }
        #expect(drawn(marks, 2, 1).joined().filter { $0 != " " }.count == 2)
    }

    @Test("fits every terminal, whatever the coordinates are")
    func sizes() {
        var random = SeededRandom(seed: 7)
        for round in 0..<100 {
            let size = (columns: Int.random(in: 0...90, using: &random), rows: Int.random(in: 0...30, using: &random))
            let marks = (0..<Int.random(in: 0...12, using: &random)).map { number in
                mark(
                    .random(in: -90...90, using: &random), .random(in: -180...180, using: &random),
                    Character("\(number % 10)"), String(repeating: "x", count: .random(in: 0...30, using: &random)))
            }
            let lines = PlaceMap(marks + (round % 50 == 0 ? [mark(.nan, .infinity, "!")] : []), size: size).lines
            #expect(lines.count == size.rows, "seed 7, round \(round)")
            #expect(lines.allSatisfy { $0.width == size.columns }, "seed 7, round \(round)")
        }
    }
}
