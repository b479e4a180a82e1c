import FoundationEssentials
import HearthClient
import Testing

@Suite("Types of one's own as values")
struct CodingTests {
    private struct Everything: Codable, Equatable {
        enum Shape: Codable, Equatable {
            case circle(radius: Double)
            case none
        }
        var id: UInt8
        var nested: [[Int]]
        var byNumber: [Int: String]
        var maybe: Int??
        var shape: Shape
        var extra: DatabaseValue
    }

    @Test("are encoded and decoded without loss")
    func round() throws {
        let value = Everything(
            id: 255, nested: [[1], [2, 3]], byNumber: [5: "five"], maybe: 3, shape: .circle(radius: 1.5),
            extra: ["a": 1])
        let encoded = try DatabaseValue(encoding: value)
        #expect(
            encoded == [
                "id": 255, "nested": [[1], [2, 3]], "byNumber": ["5": "five"], "maybe": 3,
                "shape": ["circle": ["radius": 1.5]], "extra": ["a": 1],
            ])
        #expect(try encoded.decoded(as: Everything.self) == value)
        #expect(try DatabaseValue(encoding: [1, 2]).decoded(as: [Int].self) == [1, 2])
        #expect(try DatabaseValue(encoding: "x") == "x")
    }

    private struct Dated: Codable, Equatable {
        var at: Date
        var bytes: Data
        var link: URL
        var others: [Date]
    }

    @Test("with dates, data and URLs in forms that other programs can read")
    func foundation() throws {
        let value = Dated(
            at: Date(timeIntervalSince1970: 1_700_000_000.25), bytes: Data([1, 2, 255]),
            link: try #require(URL(string: "https://example.com/a?b")), others: [Date(timeIntervalSince1970: 0)])
        let encoded = try DatabaseValue(encoding: value)
        #expect(
            encoded == [
                "at": 1_700_000_000_250, "bytes": "AQL/", "link": "https://example.com/a?b", "others": [0],
            ])
        #expect(try encoded.decoded(as: Dated.self) == value)

        let seconds = DatabaseEncoder(
            DatabaseCodingOptions(dateStrategy: .secondsSince1970, dataStrategy: .deferredToData))
        let other = try seconds.encode(value)
        #expect(other["at"] == 1_700_000_000.25)
        #expect(other["bytes"] == [1, 2, 255])
        let decoder = DatabaseDecoder(
            DatabaseCodingOptions(dateStrategy: .secondsSince1970, dataStrategy: .deferredToData))
        #expect(try decoder.decode(Dated.self, from: other) == value)
        let own = try DatabaseEncoder(DatabaseCodingOptions(dateStrategy: .deferredToDate)).encode(value)
        #expect(own["at"].double == value.at.timeIntervalSinceReferenceDate)
        #expect(throws: DatabaseError.typeMismatch("Base64 text was expected at bytes")) {
            try (["at": 0, "bytes": "?", "link": "", "others": []] as DatabaseValue).decoded(as: Dated.self)
        }
    }

    @Test("what is missing is nil or empty, and unknown members are ignored")
    func missing() throws {
        struct Note: Codable, Equatable {
            var text: String?
            var tags: [String]
            var owners: [String: Bool]
        }
        let nothing = try (["unknown": 1] as DatabaseValue).decoded(as: Note.self)
        #expect(nothing == Note(text: nil, tags: [], owners: [:]))
        let value: DatabaseValue = ["unknown": 1, "tags": ["0": "a", "2": "c"], "owners": ["x": true]]
        #expect(throws: DatabaseError.typeMismatch("String was expected at tags/1")) {
            try value.decoded(as: Note.self)
        }
        struct Sparse: Codable { var tags: [String?] }
        #expect(try value.decoded(as: Sparse.self).tags == ["a", nil, "c"])
        #expect(try DatabaseValue(encoding: Note(text: nil, tags: [], owners: [:])) == ["tags": [], "owners": [:]])
    }

    @Test("errors name the place")
    func errors() throws {
        struct Inner: Codable { var n: Int }
        struct Outer: Codable { var list: [Inner] }
        struct Large: Codable { var list: [[UInt64]] }
        let value: DatabaseValue = ["list": [["n": 1], ["n": "two"]]]
        #expect(throws: DatabaseError.typeMismatch("Int was expected at list/1/n")) {
            try value.decoded(as: Outer.self)
        }
        #expect(throws: DatabaseError.typeMismatch("Int was expected at list/0/n")) {
            try (["list": [["m": 1]]] as DatabaseValue).decoded(as: Outer.self)
        }
        #expect(throws: DatabaseError.invalidValue("18446744073709551615 does not fit 64 bits at list/0/1")) {
            try DatabaseValue(encoding: Large(list: [[0, .max]]))
        }
        #expect(throws: DatabaseError.typeMismatch("a server value has no value yet")) {
            try ServerValue.timestamp().decoded(as: Int.self)
        }
    }

    @Test("see the caller's information")
    func userInfo() throws {
        struct Scaled: Codable, Equatable {
            static let factor = CodingUserInfoKey(rawValue: "factor")
            var n: Int
            init(n: Int) { self.n = n }
            init(from decoder: any Decoder) throws {
                let factor = Self.factor.flatMap { decoder.userInfo[$0] as? Int } ?? 1
                n = try decoder.singleValueContainer().decode(Int.self) * factor
            }
            func encode(to encoder: any Encoder) throws {
                let factor = Self.factor.flatMap { encoder.userInfo[$0] as? Int } ?? 1
                var container = encoder.singleValueContainer()
                try container.encode(n * factor)
            }
        }
        let key = try #require(Scaled.factor)
        #expect(try DatabaseEncoder(DatabaseCodingOptions(userInfo: [key: 10])).encode(Scaled(n: 2)) == 20)
        #expect(
            try DatabaseDecoder(DatabaseCodingOptions(userInfo: [key: 10])).decode(Scaled.self, from: 2)
                == Scaled(n: 20))
    }
}
