import HearthBytes
import Testing

@testable import HearthSealing

@Suite("Sealed texts")
struct SealingKeyTests {
    @Test("open with their key and at their place, and nowhere else")
    func places() throws {
        let (key, other) = (try SealingKey(), try SealingKey())
        for text in ["", "text", "äöü 🔑\n", String(repeating: "x", count: 100_000)] {
            let sealed = try key.seal(text, for: "a")
            #expect(key.open(sealed, for: "a") == text)
            #expect(key.open(sealed, for: "b") == nil)
            #expect(other.open(sealed, for: "a") == nil)
            #expect(SealingKey(key.secret)?.open(sealed, for: "a") == text)
        }
        #expect(try key.seal("text", for: "") != key.seal("text", for: ""))
        #expect(SealingKey([UInt8](repeating: 0, count: 31)) == nil)
    }

    @Test("do not open once a bit was changed, or a part is missing")
    func changes() throws {
        let key = try SealingKey()
        let sealed = try key.seal("text", for: "a")
        let bytes = try #require(Base64.standard.decode(sealed.utf8))
        #expect(bytes.count == 12 + 4 + 16)
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                let text = String(decoding: Base64.standard.encode(changed), as: UTF8.self)
                #expect(key.open(text, for: "a") == nil, "\(index)")
            }
            let text = String(decoding: Base64.standard.encode(Array(bytes[..<index])), as: UTF8.self)
            #expect(key.open(text, for: "a") == nil, "\(index)")
        }
        for text in ["", "=", "====", "abc", "ab!d", "YQ==", sealed + "=", " " + sealed] {
            #expect(key.open(text, for: "a") == nil, "\(text)")
        }
    }

    @Test("are those of AES-256-GCM")
    func knownAnswer() throws {
        // Test case 14 of the specification of GCM: all zeros, and no additional data.
        let key = try #require(SealingKey([UInt8](repeating: 0, count: 32)))
        let sealed = "AAAAAAAAAAAAAAAAzqdAPU1ga24HTsXTuvOdGNDRyKeZmWvwJluYtdSKuRk="
        #expect(key.open(sealed, for: "") == String(repeating: "\0", count: 16))
    }
}

@Suite("Keys of passwords")
struct PasswordKeysTests {
    @Test("are those of scrypt and HMAC, as Python computes them")
    func knownAnswer() async throws {
        let keys = try await PasswordKeys.derived(from: "correct horse", salt: "my-app/änne")
        #expect(
            String(decoding: Hexadecimal.encode(keys.sealing.secret), as: UTF8.self)
                == "bed60df9451ba5a89ef19b1c71103d25e56b2cbbdbc400b557f127a230a17c8e")
        #expect(
            keys.password(forServer: "https://db.example.com/") == "Ian8cTrKORE2jTiIFSI9jDw7dIMl8CIXTXou2GYB1aY=")
    }

    @Test("differ from salt to salt, and give each server a password of its own, however its URL is written")
    func servers() async throws {
        let keys = try await PasswordKeys.derived(from: "correct horse", salt: "ann")
        let other = try await PasswordKeys.derived(from: "correct horse", salt: "bob")
        #expect(keys.sealing.secret != other.sealing.secret)
        let urls = [
            "http://db.example.com:9000", "https://db.example.com:9001", "https://db.example.com",
            "https://db.example.org",
        ]
        #expect(Set(urls.flatMap { [keys.password(forServer: $0), other.password(forServer: $0)] }).count == 8)
        for (url, authority) in [
            ("http://DB.example.com:9000", "db.example.com:9000"),
            ("ws://db.example.com:9000/?ns=x", "db.example.com:9000"),
            ("https://db.example.com/", "db.example.com:443"), ("https://[::1]", "[::1]:443"),
            ("http://[::1]:9000", "[::1]:9000"),
        ] { #expect(PasswordKeys.authority(of: url) == authority, "\(url)") }
    }
}
