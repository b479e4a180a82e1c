import HearthJSONTree
import HearthTreeText
import HearthTestSupport
import Testing

@Suite("Keys") struct KeyTests {
    /// Reference order of Protocol.md 7.5, without `.priority`, which is not a key, and `1.5`, which may not be one.
    static let reference = [
        "-2147483648", "-10", "-1", "0", "-0", "00", "1", "01", "2", "10", "2147483647", " ", "+1", "-",
        "-2147483649", "-Kx", "123456789012", "2147483648", "A", "_", "a", "z", "~", "é", "😀", "\u{FFFD}",
    ]

    @Test("the reference order holds for keys and for their encodings")
    func referenceOrder() throws {
        let keys = try KeyTests.reference.map { try Key(validating: $0) }
        let paths = keys.map { Path.root.appending($0) }
        for (i, j) in zip(keys.indices, keys.indices.dropFirst()) {
            #expect(keys[i] < keys[j])
            #expect(!(keys[j] < keys[i]))
            #expect(paths[i] < paths[j])
        }
        #expect(keys.shuffled().sorted() == keys)
    }

    @Test(
        "integer keys are 32-bit decimals with any number of leading zeros",
        arguments: [
            ("0", 0), ("-0", 0), ("00", 0), ("007", 7), ("-1", -1), ("-0010", -10), ("2147483647", .max),
            ("-2147483648", .min), ("02147483647", .max), ("2147483648", nil), ("-2147483649", nil),
            ("99999999999", nil), ("+1", nil), ("-", nil), ("1a", nil), ("a1", nil), ("1 ", nil), ("--1", nil),
            ("٣", nil),
        ] as [(String, Int32?)])
    func integers(text: String, value: Int32?) throws {
        #expect(try Key(validating: text).integer == value)
    }

    @Test("an integer key keeps its text whatever its zeros", arguments: [1, 2, 3, 9, 10, 11, 100, 766])
    func zeros(count: Int) throws {
        let zeros = String(repeating: "0", count: count)
        let texts = [zeros, "-" + zeros, zeros + "7", "-" + zeros + "7"]
        let keys = try texts.map { try Key(validating: $0) }
        for key in keys {
            #expect(key.integer != nil)
            #expect(Path.root.appending(key).lastKey == key)
        }
        #expect(Set(keys.map { Path.root.appending($0).encoded }).count == keys.count)
        #expect(keys[0] < keys[1])
    }

    @Test("bytes that are no key are refused with the reason")
    func refused() {
        func error(_ bytes: [UInt8]) -> KeyError? {
            do throws(KeyError) { _ = try Key(validating: bytes) } catch { return error }
            return nil
        }
        #expect(error([]) == .empty)
        #expect(error(Array(repeating: 0x61, count: 768)) == nil)
        #expect(error(Array(repeating: 0x61, count: 769)) == .tooLong(byteCount: 769))
        let forbidden = Array(0...0x1F) + [0x7F] + Array(".$#[]/".utf8)
        for byte in forbidden { #expect(error([0x61, byte]) == .forbidden(byte: byte)) }
        for byte in UInt8(0x20)..<0x7F where !forbidden.contains(byte) { #expect(error([byte]) == nil) }
        let broken: [[UInt8]] = [
            [0x80], [0xC1, 0x80], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xED, 0xA0], [0x61, 0xE2, 0x28, 0xA1],
            [0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80],  // A pair must be one character.
        ]
        for bytes in broken { #expect(error(bytes) == .invalidUTF8) }
        #expect(error([0xED, 0xA0, 0x80]) == nil)
        #expect(error([0xED, 0xB0, 0x80, 0xED, 0xA0, 0x80]) == nil)
    }

    @Test("keys are compared as bytes, not by canonical equivalence")
    func bytes() throws {
        let composed = try Key(validating: "\u{E9}")
        let decomposed = try Key(validating: "e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test("every unpaired surrogate has its own encoding and comes back")
    func surrogates() throws {
        var seen: Set<[UInt8]> = []
        for unit in 0xD800...0xDFFF as ClosedRange<Int> {
            let key = try Key(validating: [0xED, UInt8(0x80 | unit >> 6 & 0x3F), UInt8(0x80 | unit & 0x3F)])
            let path = Path.root.appending(key)
            #expect(path.lastKey == key)
            #expect(Path(validatingEncoded: path.encoded) == path)
            seen.insert(path.encoded)
        }
        #expect(seen.count == 2048)
    }

    @Test("the order of random keys is the naive one", arguments: [1, 2, 3, 4] as [UInt64])
    func randomOrder(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for _ in 0..<1500 {
            let (a, b) = (random.key(), random.key())
            let (keyA, keyB) = (try key(a), try key(b))
            let expected = TreeModel.keyPrecedes(a, b)
            #expect((keyA < keyB) == expected, "seed \(seed): \(keyA) \(keyB)")
            #expect((Path([keyA]) < Path([keyB])) == expected, "seed \(seed): \(keyA) \(keyB)")
            #expect((keyA == keyB) == (a == b), "seed \(seed)")
        }
    }
}

/// The key with the code units of a model's key.
func key(_ text: TreeModel.Text) throws -> Key { try Key(validating: String(decoding: text, as: UTF16.self)) }

/// The path of a model's keys.
func path(_ keys: [TreeModel.Text]) throws -> Path { Path(try keys.map { try key($0) }) }
